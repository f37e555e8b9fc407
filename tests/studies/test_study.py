"""Studies: resumed, extended and interrupted ones end like those that were not."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from pathlib import Path

import numpy as np
import numpyro.distributions as dist
import pytest
from small_study import HERE, PROCESSES, inputs, study

import steinquad as sq
from steinquad.studies.executors import Here


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What every way of running must give: mean and std."""
    answer = study(tmp_path_factory.mktemp("plain")).run()
    return answer.mean, answer.std


def same(answer, plain):
    return (answer.mean, answer.std) == plain


# -- places ------------------------------------------------------------------------------------


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


class Fragile(Executor):
    """Breaks, as a process pool does, at the fifth call, and takes no more."""

    def __init__(self):
        self.calls = 0

    def submit(self, fn, /, *args, **kwargs):
        self.calls += 1
        if self.calls > 5:
            raise BrokenExecutor("a worker died")
        future = Future()
        if self.calls == 5:
            future.set_exception(BrokenExecutor("a worker died"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_an_executor_that_breaks_is_made_again(tmp_path, plain):
    with pytest.raises(sq.InputError, match="executor broke .*what was finished is stored"):
        study(tmp_path, retries=40).run(executor=Fragile())
    assert 0 < study(tmp_path).status().done < 40
    assert same(study(tmp_path, retries=40).run(executor=Fragile), plain)


@pytest.mark.parametrize(("seconds", "most"), [(0.0, 64), (0.04, 2), (0.2, 1)])
def test_quick_calls_are_sent_together_and_slow_ones_alone(tmp_path, seconds, most):
    def call(a, b):
        time.sleep(seconds)
        return a

    sizes = []

    class Counting(ThreadPoolExecutor):
        def submit(self, fn, /, call, tasks, function):
            sizes.append(len(tasks))
            return super().submit(fn, call, tasks, function)

    with Counting(2) as executor:
        study(tmp_path, call, runs=300 if seconds == 0 else 12).run(executor=executor)
    assert sizes[0] == 1 and 1 <= max(sizes) <= most and (max(sizes) > 1) == (most > 1)


@pytest.mark.slow
def test_a_process_pool_that_breaks_is_made_again(tmp_path):
    found = study(tmp_path, "exits_hard", retries=6, on_failure="ignore", runs=8)
    answer = found.run(executor=lambda: ProcessPoolExecutor(2, mp_context=PROCESSES))
    assert answer.stats["failed"] >= bad_points(found, 8) > 0


@pytest.mark.slow
def test_dask(tmp_path, plain):
    pytest.importorskip("distributed")
    assert same(study(tmp_path, where="dask").run(), plain)


def test_a_scheduler_that_does_not_answer(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(sq.InputError, match="address is 'nonsense:"):
        study(tmp_path, where="dask", address="nonsense://1").run()


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


# -- going on ----------------------------------------------------------------------------------


def test_a_larger_budget_goes_on_and_equals_a_study_of_that_size(tmp_path, plain, monkeypatch):
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    for runs in (10, 25, 40, 40):
        answer = study(tmp_path, "counting", runs=runs).run()
    assert same(answer, plain)
    assert len((tmp_path / "calls").read_text().splitlines()) == 40  # nothing was done twice


def test_gaps_are_filled(tmp_path, plain):
    first = study(tmp_path)
    first.run()
    with first.evaluations.writing():
        first.evaluations._require_writer().execute(
            "DELETE FROM evaluation WHERE number IN (0, 17, 39)"
        )
    assert study(tmp_path).status().done == 37
    assert same(study(tmp_path).run(), plain)


def test_only_a_beginning_without_gaps_is_a_sample(tmp_path):
    first = study(tmp_path)
    first.run()
    with first.evaluations.writing():
        first.evaluations._require_writer().execute("DELETE FROM evaluation WHERE number = 17")
    assert first.estimate().n == 17
    assert first.estimate(n=10).n == 10


def test_sobol_points_are_replicates(tmp_path):
    found = study(tmp_path, points="sobol", runs=256, method=sq.QuasiMonteCarlo())
    answer = found.run()
    assert answer.stats["replicates"] == 16
    plain = study(tmp_path / "iid", points="iid", runs=256).run()
    assert answer.std < plain.std / 2 and abs(answer.mean - 1.5) < 4 * answer.std


def test_by_default_sobol_points_where_there_are_any(tmp_path):
    assert study(tmp_path).points == "sobol"
    halves = dist.MixtureSameFamily(
        dist.Categorical(probs=np.ones(2) / 2),
        dist.MultivariateNormal(np.array([[0.0, 0.0], [2.0, 1.0]]), np.eye(2)),
    )
    mixed = sq.Study(lambda x0, x1: x0, halves, tmp_path / "m.sqlite", 20, where="here")
    assert mixed.points == "iid"  # no inverse distribution functions


def test_another_study_may_not_use_the_store(tmp_path):
    study(tmp_path, runs=4).run()
    for change, word in (
        ({"seed": 1}, "seed"),
        ({"outputs": ["g"]}, "outputs"),
        ({"points": "iid"}, "points"),
    ):
        with pytest.raises(sq.InputError, match=f"another study: its {word}"):
            study(tmp_path, runs=4, **change).run()
    other = sq.Study(
        "integrands.py:smooth", sq.Product({**inputs().blocks}), tmp_path / "s.sqlite", 4,
        directory=HERE, where="here", method=sq.MonteCarlo(),
    )  # fmt: skip
    other.run()  # an equal distribution is the same study
    own = inputs().blocks
    shifted = sq.Product({"a": sq.Truncated(own["a"], -2, 9), "b": own["b"]})
    with pytest.raises(sq.InputError, match="its first point is"):
        sq.Study("integrands.py:smooth", shifted, tmp_path / "s.sqlite", 4, directory=HERE).run()


def test_two_versions_of_the_integrand_make_it_suspect(tmp_path):
    study(tmp_path, runs=10, version="1").run()
    answer = study(tmp_path, runs=20, version="2").run()
    assert answer.status.code == "suspect" and "2 versions of the integrand" in str(answer)
    assert list(study(tmp_path).to_dataframe()["version"]) == ["1"] * 10 + ["2"] * 10


def test_the_default_version_follows_the_file(tmp_path):
    file = tmp_path / "f.py"
    file.write_text("def f(a, b):\n    return a\n")
    first = sq.Study(
        "f.py:f", inputs(), tmp_path / "s.sqlite", 4, directory=tmp_path
    ).integrand_version
    file.write_text("def f(a, b):\n    return b\n")
    second = sq.Study(
        "f.py:f", inputs(), tmp_path / "s.sqlite", 4, directory=tmp_path
    ).integrand_version
    assert first and second and first != second


def test_files_of_one_name_in_two_places_are_two_integrands(tmp_path):
    answers = []
    for value in (1, 2):
        place = tmp_path / str(value)
        place.mkdir()
        (place / "f.py").write_text(f"def f(a, b):\n    return a + {value}\n")
        answers.append(study(place, "x", integrand="f.py:f", directory=place, runs=4).run().mean)
    np.testing.assert_allclose(np.diff(answers), 1.0, rtol=1e-12)


# -- when to stop ------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("kind", "settings", "looks"),
    [
        ("iid", {"runs": 300}, [300]),
        ("iid", {"runs": 300, "until": {"std": 1e-9}}, [100, 150, 225, 300]),
        ("sobol", {"runs": 600, "until": {"std": 1e-9}}, [128, 256, 512, 600]),
        ("adaptive", {"runs": 500, "until": {"std": 1e-9}}, [200, 300, 450, 500]),
        ("iid", {"runs": 100, "every": 40}, [40, 80, 100]),
        ("iid", {"runs": 80, "every": 40}, [40, 80]),
    ],
)
def test_where_it_looks(tmp_path, kind, settings, looks):
    assert list(study(tmp_path, points=kind, **settings).budget.looks(kind)) == looks


def test_targets_hold_for_every_output(tmp_path):
    budget = study(tmp_path, runs=None, until={"std": 1.0, "relative_std": 0.1}).budget
    assert budget.reached({"mean": [9.0, -9.0], "std": [0.5, 0.8]})
    assert not budget.reached({"mean": [9.0, -2.0], "std": [0.5, 0.8]})
    assert not budget.reached({"mean": [90.0, 90.0], "std": [0.5, 1.8]})


# -- failures ----------------------------------------------------------------------------------


def bad_points(found, n):
    return sum(found.numbered[i][0] > 1.0 for i in range(n))


def test_failures_are_recorded_and_refused(tmp_path):
    found = study(tmp_path, "raises", retries=2)
    bad = bad_points(found, 40)
    with pytest.raises(sq.InputError, match=f"{bad} of 40 evaluations failed"):
        found.run()
    assert found.status().failed == bad > 1 and found.evaluations.failures() == {"exception": bad}
    rows = [row for row in found.evaluations.rows() if row.status == "failed"]
    assert {row.attempt for row in rows} == {3} and "diverged" in str(rows[0].error)
    with pytest.raises(sq.InputError, match="evaluations failed"):
        found.estimate()


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


def test_failed_points_are_tried_again_on_request_only(tmp_path, plain, monkeypatch):
    monkeypatch.setenv("MARKS", str(tmp_path))
    with pytest.raises(sq.InputError, match="40 of 40 evaluations failed"):
        study(tmp_path, "fails_at_first", retries=0).run()
    with pytest.raises(sq.InputError, match="40 of 40 evaluations failed"):
        study(tmp_path, "fails_at_first", retries=0).run()
    assert same(study(tmp_path, "fails_at_first", retries=0).run(retry_failed=True), plain)
    again = study(tmp_path / "second", "fails_at_first", retries=1)
    monkeypatch.setenv("MARKS", str(tmp_path / "marks"))
    (tmp_path / "marks").mkdir()
    assert same(again.run(), plain)
    assert {row.attempt for row in again.evaluations.rows()} == {2}


def test_more_retries_are_used_on_resume(tmp_path, plain, monkeypatch):
    monkeypatch.setenv("MARKS", str(tmp_path))
    with pytest.raises(sq.InputError):
        study(tmp_path, "fails_at_first", retries=0).run()
    assert same(study(tmp_path, "fails_at_first", retries=1).run(), plain)


def test_a_batch_that_fails_is_taken_apart(tmp_path):
    found = study(
        tmp_path, "batch_with_a_bad_point", style="batch", batch=8, on_failure="ignore", retries=0
    )
    answer = found.run()
    bad = sum(found.numbered[i][0] > 1.5 for i in range(40))
    assert 0 < bad == answer.stats["failed"]


# -- interruption ------------------------------------------------------------------------------


@pytest.fixture
def interruptible():
    """Also where the tests were started with interrupts ignored, as in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_keeps_what_has_finished(tmp_path, plain):
    found = study(tmp_path, "slow", where="pool")
    stop = []

    def watch(now):
        if now.done >= 10 and not stop:
            stop.append(now.done)
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        found.run(watch=watch)
    assert signal.getsignal(signal.SIGINT) is before
    assert found.status().done >= stop[0]
    assert same(study(tmp_path, "slow", where="pool").run(), plain)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_reaches_a_call_in_this_process(tmp_path):
    def forever(a, b):
        if threading.current_thread() is threading.main_thread():
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        study(tmp_path, forever).run()
    assert time.monotonic() - begin < 30


def test_a_study_runs_in_a_thread(tmp_path, plain):
    with ThreadPoolExecutor(1) as executor:
        assert same(executor.submit(study(tmp_path, where="pool").run).result(), plain)


def test_no_executor_is_given_more_than_it_asks_for(tmp_path, monkeypatch):
    waiting = []
    submit = Here.submit
    monkeypatch.setattr(
        Here, "submit", lambda self, task: waiting.append(self.room()) or submit(self, task)
    )
    study(tmp_path).run()
    assert set(waiting) == {1}


# -- what comes out, what is refused -----------------------------------------------------------


def test_a_data_frame_has_everything(tmp_path):
    found = study(tmp_path, "two", outputs=["y", "z"], runs=5)
    found.run()
    frame = found.to_dataframe()
    assert list(frame.columns[:6]) == ["number", "status", "a", "b", "y", "z"]
    np.testing.assert_array_equal(frame["z"], frame["a"] - frame["b"])


def test_without_pandas_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sq.InputError, match="needs pandas"):
        study(tmp_path, runs=2).to_dataframe()


def test_columns_with_the_same_name_are_told_apart(tmp_path):
    found = study(tmp_path, "two", outputs=["y", "a", "status"], runs=5)
    assert len(set(found.columns)) == len(found.columns)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"runs": None}, "runs is None and so is until"),
        ({"runs": 1}, "runs is 1"),
        ({"runs": True}, "runs is True"),
        ({"every": 0}, "every is 0"),
        ({"until": {"var": 1.0}}, "until is"),
        ({"until": {"std": -1.0}}, "until is"),
        ({"until": {}}, "until is"),
        ({"outputs": []}, "outputs is"),
        ({"outputs": "f"}, "outputs is 'f'"),
        ({"outputs": ["f", "f"]}, "different names"),
        ({"points": "grid"}, "points is 'grid'"),
        ({"seed": -1}, "seed is -1"),
        ({"where": "moon"}, "where is 'moon'; choose one of pool, here, dask"),
        ({"workers": 0}, "workers is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"on_failure": "cry"}, "on_failure is 'cry'"),
        ({"style": "telepathy"}, "style is 'telepathy'"),
        ({"batch": 0}, "batch is 0"),
        ({"time_limit": 0.0, "where": "pool"}, "time_limit is 0.0"),
        ({"memory": "1 GiB"}, "memory is '1 GiB' but where is 'here'"),
        ({"memory": "1 GiB", "where": "dask"}, "where a function cannot be limited"),
        ({"memory": "2 Gib"}, "memory is '2 Gib'; give a text such as '2 GiB'"),
        ({"memory": 2**30}, "memory is 1073741824; give a text"),
        ({"memory": "0 MB"}, "memory is '0 MB'; give a text"),
        ({"memory": "-1 MB"}, "memory is '-1 MB'; give a text"),
        ({"time_limit": 1.0}, "where a function cannot be limited"),
        ({"name": 3}, "integrand is a int"),
    ],
)
def test_wrong_settings_are_refused(tmp_path, settings, words):
    with pytest.raises(sq.InputError, match=words):
        study(tmp_path, **settings)
    assert not Path(tmp_path, "s.sqlite").exists()


@pytest.mark.parametrize("integrand", ["no_colon", ":f", "m:", "m:f g", "m:1"])
def test_wrong_references_are_refused(tmp_path, integrand):
    with pytest.raises(sq.InputError, match="give module:function or file"):
        sq.Study(integrand, inputs(), tmp_path / "s", 4)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (sq.Command([]), "command is \\[\\]"),
        (sq.Command("rm -rf"), "command is 'rm -rf'; give a list"),  # pyright: ignore
        (sq.Command(["x", "{c}"]), "placeholder {c}; known are a, b, input"),
        (sq.Command(["x", "{a.__class__}"]), "placeholder {a.__class__}"),
        (sq.Command(["x"], input="xml"), "input is 'xml'"),
        (sq.Command(["x"], output="none"), "output is 'none'"),
        (sq.Command(["x", "{input}"]), "input is 'none'; say json or csv"),
    ],
)
def test_wrong_commands_are_refused(tmp_path, command, words):
    with pytest.raises(sq.InputError, match=words):
        sq.Study(command, inputs(), tmp_path / "s", 4)


@pytest.mark.parametrize(
    ("command", "style", "words"),
    [
        (sq.Command(["x"], input="json"), "dict", "style is 'dict', which is for functions"),
        (sq.Command(["x"]), "batch", "command of a batch has input 'none'"),
        (sq.Command(["x", "{a}"], input="csv"), "batch", "{a}; known are input, output"),
        (sq.Command(["x", "{number}"], input="csv"), "batch", "placeholder {number}"),
    ],
)
def test_wrong_styles_of_commands_are_refused(tmp_path, command, style, words):
    with pytest.raises(sq.InputError, match=words):
        sq.Study(command, inputs(), tmp_path / "s", 4, style=style)


def test_reserved_names_are_refused_in_commands(tmp_path):
    reserved = sq.Product({"input": inputs().blocks["a"]})
    with pytest.raises(sq.InputError, match="inputs has 'input'"):
        sq.Study(sq.Command(["x"]), reserved, tmp_path / "s", 4)


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


def test_a_command_in_the_pool(tmp_path):
    code = "import sys; print(float(sys.argv[1]) ** 2 + float(sys.argv[2]))"
    command = sq.Command([sys.executable, "-S", "-c", code, "{a}", "{b}"])
    found = study(tmp_path, command, runs=6, where="pool", time_limit=60.0)
    assert found.run().mean == study(tmp_path / "again", runs=6).run().mean


def test_a_command_with_several_points_a_call(tmp_path):
    code = (
        "import json, sys, pathlib\n"
        "points = json.load(sys.stdin)\n"
        "pathlib.Path(sys.argv[1]).open('a').write(f'{{len(points)}}\\n')\n"
        "print(json.dumps([p['a'] ** 2 + p['b'] for p in points]))\n"
    )
    calls = tmp_path / "calls"
    command = sq.Command([sys.executable, "-S", "-c", code, str(calls)], input="json")
    found = study(tmp_path, command, runs=10, where="pool", style="batch", batch=4, workers=1)
    assert found.run().mean == study(tmp_path / "again", runs=10).run().mean
    assert calls.read_text().split() == ["4", "4", "2"]


@pytest.mark.parametrize("as_command", [False, True])
def test_memory_that_is_exhausted_costs_its_own_points(tmp_path, as_command):
    code = "import sys, integrands as i; print(i.exhausts(*map(float, sys.argv[1:])))"
    command = sq.Command([sys.executable, "-c", code, "{a}", "{b}"])
    found = study(
        tmp_path,
        command if as_command else "exhausts",
        runs=12,
        where="pool",
        retries=0,
        memory="200 MiB",
        on_failure="ignore",
    )
    answer = found.run()
    bad = [i for i in range(12) if found.numbered[i][0] > 1.0]
    assert 0 < len(bad) < 12 and found.status().failed == len(bad)
    assert answer.status.code == "suspect" and answer.n == 12 - len(bad)
    for row in found.evaluations.rows():
        assert (row.status == "failed") == (row.number in bad)
        if row.number in bad:
            assert "MemoryError" in row.error and "limited to 200 MiB" in row.error
            assert row.failure == ("exception" if as_command else "memory")


# -- more than the mean ------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({}, "outputs is {}; give a list"),
        ({"f": {"quantile": [0.5]}}, "outputs has 'quantile' for 'f'; known are quantiles, above"),
        ({"f": {"quantiles": [2]}}, "outputs of 'f': quantiles has 2; give numbers between 0"),
        ({"f": [0.5]}, "outputs has .* for 'f'; give a mapping"),
    ],
)
def test_wrong_wishes_are_refused(tmp_path, outputs, message):
    with pytest.raises(sq.InputError, match=message):
        study(tmp_path, outputs=outputs)
