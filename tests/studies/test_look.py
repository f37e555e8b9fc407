"""Looks: what an answer is made of, and what it says of failures and versions."""

import numpy as np
import pytest
from small_study import bad_points, study

import steinquad as sq
from steinquad.studies.store import Store


def test_sobol_points_are_replicates(tmp_path):
    found = study(tmp_path, points="sobol", runs=256, method=sq.QuasiMonteCarlo())
    answer = found.run()
    assert answer.stats["replicates"] == 16
    plain = study(tmp_path / "iid", points="iid", runs=256).run()
    assert answer.std < plain.std / 2 and abs(answer.mean - 1.5) < 4 * answer.std


def test_two_versions_of_the_integrand_make_it_suspect(tmp_path):
    study(tmp_path, runs=10, version="1").run()
    answer = study(tmp_path, runs=20, version="2").run()
    assert answer.status.code == "suspect" and "2 versions of the integrand" in str(answer)
    assert list(study(tmp_path).to_dataframe()["version"]) == ["1"] * 10 + ["2"] * 10


def test_failures_are_recorded_and_refused(tmp_path):
    found = study(tmp_path, "raises", retries=2)
    bad = bad_points(found, 40)
    with pytest.raises(sq.InputError, match=f"{bad} of 40 evaluations failed"):
        found.run()
    assert found.status().failed == bad > 1 and found.evaluations.failures() == {"exception": bad}
    rows = [row for row in found.evaluations.rows() if row.status == "failed"]
    assert {row.attempt for row in rows} == {3} and "diverged" in str(rows[0].error)
    first = rows[0].input
    with pytest.raises(sq.InputError, match="evaluations failed") as error:
        found.estimate()
    assert f"by exception at a = {first[0]:.6g}, b = {first[1]:.6g})" in str(error.value)


def test_failures_may_be_ignored_but_not_hidden(tmp_path):
    found = study(tmp_path, "raises", on_failure="ignore")
    answer = found.run()
    bad = bad_points(found, 40)
    assert answer.n == 40 - bad and answer.stats["failed"] == bad
    assert answer.status.code == "suspect"
    assert f"{bad} of 40 evaluations failed and are left out" in answer.status.message


def test_few_failures_are_told(tmp_path):
    found = study(tmp_path, lambda a, b: float("nan") if a > 2.55 else a + b, runs=400)
    answer = found.run()
    bad = sum(found.numbered[i][0] > 2.55 for i in range(400))
    assert 0 < bad <= 4 and answer.stats["failed"] == bad
    assert f"{bad} of 400 evaluations failed" in answer.status.message
    a, b = next(found.numbered[i] for i in range(400) if found.numbered[i][0] > 2.55)
    assert f", the first by answer at a = {a:.6g}, b = {b:.6g}" in answer.status.message


@pytest.mark.parametrize("points", ["iid", "sobol"])
def test_distributions_of_a_study(tmp_path, points):
    outputs = {"y": {"quantiles": [0.5], "above": [1.0]}, "z": {"below": [0.0]}}
    settings = {"outputs": outputs, "points": points, "runs": 64, "method": sq.Polynomial()}
    found = study(tmp_path, "two", **settings)
    est = found.run()
    rows = found.distribution(est)
    assert rows == found.distribution() and list(rows) == ["y", "z"]
    assert [row.label("y") for row in rows["y"]] == ["std of y", "50 % quantile of y", "P[y > 1]"]
    assert len(rows["z"]) == 5 and any(row.uses_model for row in rows["z"])
    # y = a a + b and z = a - b with a standard normal and b uniform.
    assert rows["y"][0].low < np.sqrt(2 + 1 / 12) < rows["y"][0].high
    assert rows["z"][0].low < np.sqrt(1 + 1 / 12) < rows["z"][0].high


def test_the_store_is_read_once_for_a_look(tmp_path, monkeypatch):
    """For a whole report, too: estimate, distributions and averages are from one state."""
    found = study(tmp_path, "two", outputs={"y": {"above": [1.0]}, "z": {}})
    found.run()
    reads, rows = [], Store.rows

    def counted(self, stop=None):
        reads.append(stop)
        return rows(self, stop)

    monkeypatch.setattr(Store, "rows", counted)
    for question in (found.look, found.estimate, found.distribution):
        question()
        assert len(reads) == 1
        reads.clear()
    sq.report.write(found, tmp_path / "r.html", tmp_path / "r.json")
    assert len(reads) == 1
    reads.clear()
    study(tmp_path, "two", runs=80, outputs=["y", "z"], every=40).run()
    assert len(reads) == 1 + 2  # whose study it is, and two looks
