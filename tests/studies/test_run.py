"""Runs: every place gives the same, a larger budget goes on, a target ends it."""

import subprocess
import sys
from concurrent.futures import (
    ThreadPoolExecutor,
)

import pytest
from small_study import HERE, same, study

import steinquad as sq


@pytest.mark.parametrize(
    ("settings", "executor"),
    [
        ({"where": "here"}, None),
        ({"where": "pool"}, None),
        ({"where": "here"}, ThreadPoolExecutor),
        ({"where": "here", "name": "batch", "style": "batch", "batch": 7}, None),
        ({"where": "pool", "name": "batch", "style": "batch", "batch": 64}, None),
        ({"where": "here", "name": "mapping", "style": "dict"}, None),
        ({"where": "here", "name": lambda a, b: a * a + b}, None),
    ],
)
def test_every_place_gives_the_same(tmp_path, plain, settings, executor):
    assert same(study(tmp_path, **settings).run(executor=executor), plain)


def test_a_function_without_a_name_cannot_go_to_workers(tmp_path):
    with pytest.raises(sq.InputError, match="no name that a worker process could import"):
        study(tmp_path, lambda a, b: a, where="pool").run()
    with pytest.raises(sq.InputError, match="cannot be loaded"):
        study(tmp_path, "missing").run()
    with pytest.raises(sq.InputError, match="executor is a int"):
        study(tmp_path).run(executor=3)
    for limit in ({"memory": "1 GiB"}, {"time_limit": 9.0}):
        limited = study(tmp_path, where="pool", **limit)
        with pytest.raises(sq.InputError, match="but an executor is given, where a function"):
            limited.run(executor=ThreadPoolExecutor)


def test_the_function_of_a_script_runs_in_the_pool(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "def f(a, b):\n"
        "    return a * a + b\n"
        "if __name__ == '__main__':\n"
        f"    sys.path.insert(0, {str(HERE.parent)!r})\n"
        "    from pathlib import Path\n"
        "    from small_study import study\n"
        "    print(study(Path(sys.argv[1]), f, where='pool', directory='.').run().mean)\n"
    )
    line = [sys.executable, str(script), str(tmp_path)]
    run = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) == study(tmp_path).estimate().mean


def test_a_larger_budget_goes_on_and_equals_a_study_of_that_size(tmp_path, plain, monkeypatch):
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    for runs in (10, 25, 40, 40):
        answer = study(tmp_path, "counting", runs=runs).run()
    assert same(answer, plain)
    assert len((tmp_path / "calls").read_text().splitlines()) == 40  # nothing was done twice


def test_a_target_stops_the_study(tmp_path):
    found = study(tmp_path, runs=5000, until={"std": 0.1}, every=50)
    answer = found.run()
    looks = found.evaluations.estimates()
    assert answer.std <= 0.1 and answer.n == found.status().done == looks[-1][0] < 5000
    assert [n for n, _, _ in looks] == list(range(50, answer.n + 1, 50))
    assert all(record["std"] > 0.1 for _, _, record in looks[:-1])


def rare(a, b):
    return float(a > 2.8)


def test_an_event_that_was_not_seen_yet_does_not_end_a_study(tmp_path):
    found = study(tmp_path, rare, runs=5000, until={"std": 0.01})
    answer = found.run()
    looks = [(n, record["status"]) for n, _, record in found.evaluations.estimates()]
    assert looks[0] == (128, "constant") and looks[-1][1] != "constant"
    assert 128 < answer.n < 5000 and 0 < answer.std <= 0.01
    budget = study(tmp_path, "x", runs=None, until={"std": 1.0}).budget
    record = {"mean": 1.0, "std": 0.0, "status": "constant"}
    assert not budget.ends(128, record) and budget.ends(1024, record)
    assert budget.ends(128, {"mean": 1.0, "std": 0.5, "status": "converged"})


def test_an_event_beside_a_mean_does_not_end_it_either(tmp_path):
    """Nothing was seen of the event by the first look, where both stds are below the target."""
    found = study(tmp_path, both, runs=300, until={"std": 0.5}, outputs=["mean", "event"])
    answer = found.run()
    assert answer.n == 300 and answer.status.code == "converged"
    assert "output 1 of f is 0 at all 300 points" in answer.status.message


def both(a, b):
    return {"mean": a + b, "event": float(a > 9)}


def test_a_target_that_is_not_reached_is_told(tmp_path):
    answer = study(tmp_path, runs=250, until={"std": 1e-9}).run()
    assert answer.status.code == "max_n" and "after 250 points" in answer.status.message


def test_looks_are_not_repeated(tmp_path, monkeypatch):
    found = study(tmp_path, runs=5000, points="iid", until={"relative_std": 0.05})
    answer = found.run()
    assert len(found.evaluations.estimates()) > 2
    fits, fit = [], sq.MonteCarlo.estimate

    def counted(self, data, *args, **kwargs):
        fits.append(data.n)
        return fit(self, data, *args, **kwargs)

    monkeypatch.setattr(sq.MonteCarlo, "estimate", counted)
    again = study(tmp_path, runs=5000, points="iid", until={"relative_std": 0.05}).run()
    assert (again.mean, again.std, again.n) == (answer.mean, answer.std, answer.n)
    assert fits == [answer.n]  # once, to have the model


def fails_early(a, b):
    if a > 1.9:
        raise ValueError("too large")
    return a


def smooth_of_a(a, b):
    return a


@pytest.mark.parametrize("settings", [{"every": 20}, {"until": {"std": 1e-9}}])
def test_failures_at_the_beginning_do_not_end_a_study(tmp_path, settings):
    found = study(tmp_path, integrand=fails_early, runs=400, retries=0, seed=1, **settings)
    with pytest.raises(sq.InputError, match="of 400 evaluations failed"):
        found.run()
    repaired = study(tmp_path, integrand=smooth_of_a, runs=400, seed=1, **settings)
    assert repaired.run(retry_failed=True).n == 400


def test_a_method_that_needs_more_points_than_the_first_look_has(tmp_path):
    found = study(tmp_path, runs=40, every=2, method=sq.Polynomial())
    assert found.run().n == 40
    assert found.kept_estimates()[0][0] > 2


def test_without_a_number_of_runs_failures_end_it(tmp_path):
    """Else it would go on for ever: there is no last look."""
    settings = {"until": {"std": 1e-9}, "points": "iid", "retries": 0}
    found = study(tmp_path, integrand=fails_early, runs=None, **settings)
    with pytest.raises(sq.InputError, match="evaluations failed"):
        found.run()
    assert found.status().done > 900


def test_status_tells_the_latest_estimate(tmp_path):
    settings = {"runs": 64, "retries": 0, "on_failure": "ignore"}
    study(tmp_path, integrand=fails_early, **settings).run()
    repaired = study(tmp_path, integrand=smooth_of_a, **settings)
    answer = repaired.run(retry_failed=True)
    ((n, record),) = repaired.kept_estimates()
    assert (n, record["mean"], record["n"]) == (64, answer.mean, 64)
    other = study(tmp_path, integrand=smooth_of_a, **settings | {"method": sq.Polynomial()})
    assert other.kept_estimates() == []
