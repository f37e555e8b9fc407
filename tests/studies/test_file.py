"""The study file: every key, and every mistake answered with file, line and key."""

from importlib.resources import files

import pytest
from small_study import GOOD, changed, with_distribution

import steinquad as sq


def test_defaults(load, tmp_path):
    study = load(GOOD)
    assert study.name == "beam" and study.measure.names == ("a",) and study.runs == 20
    assert study.units == {"a": "m"}
    assert study.store == tmp_path / "s.sqlite" and study.where == "pool"
    assert isinstance(study.method, sq.Stack)


def test_units_of_outputs(load):
    assert load(GOOD + '[units]\ny = "Pa"\n').units == {"a": "m", "y": "Pa"}
    both = changed('["y"]', '["a"]') + '[units]\na = "m"\n'
    assert load(both).units == {"a": "m"}


def test_the_example_loads_as_it_is_and_with_its_comments_read(tmp_path):
    text = (files("steinquad.studies") / "examples" / "beam" / "study.toml").read_text()
    (tmp_path / "study.toml").write_text(text)
    study = sq.Study.load(tmp_path / "study.toml")
    assert study.measure.names == ("load", "length", "modulus", "height")
    settings = "store|seed|points|method|on_failure|style|time_limit|memory|retries"
    settings += "|version|until|every|w"
    more = [
        line[2:] if line.startswith("# ") and line[2:].split(" = ")[0] in settings.split("|")
        else line
        for line in text.splitlines()
    ]  # fmt: skip
    assert sum(old != new for old, new in zip(text.splitlines(), more, strict=True)) == 12
    (tmp_path / "study.toml").write_text("\n".join(more))
    again = sq.Study.load(tmp_path / "study.toml")
    assert again.until == {"relative_std": 1e-4} and again.time_limit == 60
    assert again.every == 50 and again.memory == "2 GiB"


def test_outputs_may_be_tables_with_requests(load):
    tables = '[outputs.y]\nabove = [1, 2.5]\n[outputs."z z"]\nquantiles = []\nbelow = [-1]\n'
    study = load(changed('outputs = ["y"]\n', "") + tables)
    assert list(study.outputs) == ["y", "z z"]
    first, second = study.requested
    assert (first.quantiles, first.above, first.below) == ((0.05, 0.5, 0.95), [1, 2.5], ())
    assert (second.quantiles, second.above, second.below) == ([], (), [-1])


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ("[outputs.y]\nquantiles = [5]", r"line 15: outputs.y.quantiles has 5; give numbers bet"),
        ("[outputs.y]\n\nabove = 1.0", r"line 16: outputs.y.above is 1.0; give a list of numb"),
        ("[outputs.y]\nbelow = [true]", r"line 15: outputs.y.below has True; give finite numb"),
        ("[outputs.y]\nbelow = [inf]", r"line 15: outputs.y.below has inf; give finite numbers"),
        ("[outputs.y]\nabov = [1]", r"line 15: outputs.y.abov is not a key; known are quantil"),
        ("[outputs]\ny = 3", r"line 15: outputs.y is 3; give a table"),
        ("[outputs]", r"line 14: outputs has no names; give a list of names"),
    ],
)
def test_wrong_requests_name_their_line(load, tables, message):
    text = changed('outputs = ["y"]\n', "").rstrip() + "\n"
    with pytest.raises(sq.InputError, match=message):
        load(text + tables + "\n")


def test_strange_names_are_only_names(load):
    name = '<script>alert(\\"1\\")</script>; rm -rf $(HOME)'
    study = load(changed("[inputs.a]", f'[inputs."{name}"]').replace('["y"]', '["<b>&"]'))
    assert study.measure.names == ('<script>alert("1")</script>; rm -rf $(HOME)',)
    assert study.outputs == ["<b>&"]


# -- mistakes ----------------------------------------------------------------------------------

CORRELATED = '\n[[correlated]]\ninputs = ["a", "b"]\ncorrelation = 0.5\n'
TWO = changed("[budget]", '[inputs.b]\ndistribution = "normal"\nmean = 0\nstd = 1\n\n[budget]')
COMMAND = changed('function = "m:f"', 'command = ["x", "{a}"]')

MISTAKES = {
    # not TOML
    "no closing quote": (changed('"beam"', '"beam'), 1, "not TOML"),
    "no value": (changed("mean = 1.0", "mean ="), 9, "not TOML"),
    "key twice": (changed("std = 2.0", "mean = 2.0"), 10, "not TOML"),
    "table twice": (GOOD + "[budget]\n", 15, "not TOML"),
    "open bracket": (changed('["y"]', '["y"'), 4, "not TOML"),
    "open array at the end": (GOOD + "points = [1", 15, "not TOML"),
    "no text": (b"\xff\xfe\x00", 0, "not UTF-8"),
    "python": ("import steinquad as sq\n", 1, "not TOML"),
    "deeply nested": ("x = " + "[" * 5000 + "]" * 5000, 1, "not TOML"),
    "digits": (changed("runs = 20", "runs = " + "9" * 5000), 1, "not TOML"),
    "digits in hexadecimal": (
        changed("runs = 20", "runs = 0x" + "f" * 5000),
        14,
        "budget.runs is a number too long",
    ),
    # numbers
    "beyond floats": (changed("mean = 1.0", "mean = 1" + "0" * 400), 9, "inputs.a.mean is 1000"),
    "a mean for a mean of logarithms": (
        changed('"normal"\nmean = 1.0\nstd = 2.0', '"lognormal"\nlog_mean = 1000\nlog_std = 1'),
        9,
        "inputs.a.log_mean puts the median at e^1000",
    ),
    "a std that swamps its mean": (
        changed('"normal"\nmean = 1.0\nstd = 2.0', '"lognormal"\nmean = 1e-300\nstd = 1e300'),
        9,
        "inputs.a.mean puts the median at e^-",
    ),
    "a limit beyond floats": (
        changed('outputs = ["y"]\n', "") + "[outputs.y]\nabove = [1" + "0" * 400 + "]\n",
        15,
        "outputs.y.above has a number too large",
    ),
    # keys
    "a typo in the name of a table": (
        GOOD + '[input.b]\ndistribution = "normal"\n',
        15,
        "input is not a key",
    ),
    "a key with escapes": (GOOD + '[inputs."\\u0062c"]\nmean = 1\n', 15, "inputs.bc has no key"),
    "nothing": ("", 1, "has no key 'outputs'"),
    "unknown key": ("seeed = 3\n" + GOOD, 1, "seeed is not a key; known are name, outputs"),
    "unknown table": (GOOD + "[extra]\nx = 1\n", 15, "extra is not a key"),
    "unknown key in a table": (changed("runs = 20", "runs = 20\nruns_ = 3"), 15, "budget.runs_"),
    "unknown key of a distribution": (
        changed('unit = "m"', "sigma = 1"),
        11,
        "inputs.a.sigma is not a key",
    ),
    "unknown key inline": (
        changed("runs = 20", "until = { sdt = 0.1 }"),
        14,
        "budget.until.sdt is not a key",
    ),
    "unknown key behind a text of several lines": (
        'name = """\n[inputs.a]\nmeen = 1\n"""\n' + changed('name = "beam"\n', "meen = 2\n"),
        5,
        "meen is not a key",
    ),
    "missing key": (changed("std = 2.0\n", ""), 7, "inputs.a has no key 'std'"),
    "no inputs": (GOOD.split("[inputs.a]")[0] + "[budget]\nruns = 20\n", 1, "no key 'inputs'"),
    "empty inputs": (changed("[inputs.a]", "[inputs]\n[x]"), 7, "inputs needs a table"),
    "no integrand": (changed("[integrand]", "[integral]"), 1, "no key 'integrand'"),
    "no budget": (changed("runs = 20", ""), 13, "budget needs 'runs', 'until' or both"),
    # values
    "wrong type": (
        changed("mean = 1.0", 'mean = "1.0"'),
        9,
        "inputs.a.mean is '1.0'; give a number",
    ),
    "boolean": (changed("mean = 1.0", "mean = true"), 9, "inputs.a.mean is True"),
    "infinite": (changed("mean = 1.0", "mean = inf"), 9, "inputs.a.mean is inf"),
    "not a number": (changed("mean = 1.0", "mean = nan"), 9, "inputs.a.mean is nan"),
    "date": (changed("mean = 1.0", "mean = 1979-05-27"), 9, "inputs.a.mean is datetime"),
    "negative std": (
        changed("std = 2.0", "std = -2.0"),
        10,
        "inputs.a.std is -2.0; give a number above 0",
    ),
    "unknown distribution": (
        changed('"normal"', '"gaussian"'),
        8,
        "choose one of normal, truncated",
    ),
    "distribution is no table": (
        changed("[inputs.a]", "[inputs]\na = 3\n[inputs.c]"),
        8,
        "inputs.a is 3",
    ),
    "no runs": (changed("runs = 20", "runs = 1"), 14, "budget.runs is 1"),
    "half a run": (changed("runs = 20", "runs = 20.5"), 14, "budget.runs is 20.5"),
    "very many runs": (changed("runs = 20", f"runs = {10**30}"), 14, "budget.runs is 1000"),
    "target of zero": (changed("runs = 20", "until = { std = 0 }"), 14, "budget.until.std is 0"),
    "empty target": (changed("runs = 20", "until = {}"), 14, "budget.until is empty"),
    "target is a number": (changed("runs = 20", "until = 0.1"), 14, "budget.until is 0.1"),
    "no outputs": (changed('["y"]', "[]"), 2, "outputs is []"),
    "outputs twice": (changed('["y"]', '["y", "y"]'), 2, "give different names"),
    "output is a number": (changed('["y"]', "[1]"), 2, "outputs is [1]"),
    "negative seed": ("seed = -1\n" + GOOD, 1, "seed is -1"),
    "unknown points": (
        'points = "grid"\n' + GOOD,
        1,
        "points is 'grid'; choose one of auto, iid, sobol",
    ),
    "unknown method": ('method = "magic"\n' + GOOD, 1, "method is 'magic'"),
    "empty store": ('store = " "\n' + GOOD, 1, "store is ' '"),
    "unknown place": (GOOD + '[run]\nwhere = "moon"\n', 16, "run.where is 'moon'"),
    # the integrand
    "function and command": (
        changed('"m:f"', '"m:f"\ncommand = ["x"]'),
        4,
        "one of 'function' and",
    ),
    "neither": (changed('function = "m:f"', "retries = 1"), 4, "one of 'function' and"),
    "no colon": (changed('"m:f"', '"m.f"'), 5, "integrand.function is 'm.f'"),
    "batch without style": (
        changed('"m:f"', '"m:f"\nbatch = 9'),
        6,
        "integrand.batch is of no use",
    ),
    "style of a command": (
        COMMAND.replace("[inputs.a]", 'style = "dict"\n[inputs.a]'),
        7,
        "integrand.style is 'dict', which is for functions",
    ),
    "unit of memory": (
        changed('"m:f"', '"m:f"\nmemory = "2 gigs"'),
        6,
        "integrand.memory is '2 gigs'; give a text such as '2 GiB', in one of kB, MB",
    ),
    "memory as a number": (changed('"m:f"', '"m:f"\nmemory = 2'), 6, "integrand.memory is 2;"),
    "memory here": (
        changed('"m:f"', '"m:f"\nmemory = "1 GB"') + '[run]\nwhere = "here"\n',
        6,
        "integrand.memory is '1 GB' but where is 'here'",
    ),
    "command as a line": (
        COMMAND.replace('["x", "{a}"]', '"x {a}"'),
        5,
        "integrand.command is 'x {a}'",
    ),
    "unknown placeholder": (COMMAND.replace("{a}", "{c}"), 5, "placeholder {c}"),
    "time limit": (changed('"m:f"', '"m:f"\ntime_limit = 0'), 6, "integrand.time_limit is 0"),
    "time limit here": (
        changed('"m:f"', '"m:f"\ntime_limit = 9') + '[run]\nwhere = "here"\n',
        6,
        "cannot be limited",
    ),
    # distributions
    "empty interval": (
        with_distribution("uniform", "low = 3\nhigh = 3"),
        10,
        "high is 3 but low is 3",
    ),
    "mode outside": (
        with_distribution("triangular", "low = 0\nmode = 9\nhigh = 3"),
        10,
        "mode is 9",
    ),
    "cut without sides": (
        with_distribution("truncated normal", "mean = 0\nstd = 1"),
        7,
        "neither 'low' nor",
    ),
    "cut to nothing": (
        with_distribution("normal", "mean = 0\nstd = 1\nlow = 90"),
        7,
        "too little to compute",
    ),
    "cut the wrong way": (
        with_distribution("gamma", "shape = 1\nscale = 1\nlow = 3\nhigh = 2"),
        7,
        "leaves nothing",
    ),
    "mixture of one": (
        with_distribution("mixture", "components = [{ weight = 1, mean = 0, std = 1 }]"),
        9,
        "fewer than two",
    ),
    "mixture with a jump": (
        with_distribution(
            "mixture",
            "components = [{ weight = 1, mean = 0, std = 1 },\n{ weight = 1, distribution = "
            "'uniform', low = 0, high = 1 }]",
        ),
        7,
        "inputs.a is no distribution: components[1] ends at 0, inside the mixture's support",
    ),
    "unknown key of a component": (
        with_distribution(
            "mixture",
            "components = [{ weight = 1, mean = 0, std = 1, unit = 'm' }, { weight = 1 }]",
        ),
        9,
        "components[0].unit is not a key; known are distribution, weight, mean",
    ),
    "unknown distribution of a component": (
        with_distribution(
            "mixture", "components = [{ weight = 1, distribution = 'x' }, { weight = 1 }]"
        ),
        9,
        "inputs.a.components[0].distribution is 'x'; choose one of normal",
    ),
    "mixture with a mistake": (
        with_distribution(
            "mixture", "components = [{ weight = 1, mean = 0, std = 1 }, { mean = 1 }]"
        ),
        9,
        "inputs.a.components[1] has no key 'weight'",
    ),
    "no such file": (
        with_distribution("empirical", 'file = "no.csv"\ncolumn = "x"'),
        9,
        "cannot be read",
    ),
    "file of text": (
        with_distribution("empirical", 'file = "s.toml"\ncolumn = "x"'),
        10,
        "column is 'x'",
    ),
    # correlations
    "correlated with nobody": (GOOD + CORRELATED, 17, "correlated[0].inputs has 'b'"),
    "too correlated": (TWO + CORRELATED.replace("0.5", "1.0"), 23, "not positive definite"),
    "correlation of a wrong shape": (
        TWO + CORRELATED.replace("0.5", "[[1, 0]]"),
        23,
        "is [[1, 0]]",
    ),
    "correlation in texts": (
        TWO + CORRELATED.replace("0.5", '[["1", "0.5"], ["0.5", "1"]]'),
        23,
        "is [['1', '0.5']",
    ),
    "correlation of truths": (
        TWO + CORRELATED.replace("0.5", "[[true, false], [false, true]]"),
        23,
        "is [[True, False]",
    ),
    "correlation beyond floats": (
        TWO + CORRELATED.replace("0.5", "1" + "0" * 400),
        23,
        "give a number between -1 and 1",
    ),
    "correlation not symmetric": (
        TWO + CORRELATED.replace("0.5", "[[1, 0.5], [0.4, 1]]"),
        23,
        "not symmetric",
    ),
    "correlated twice": (TWO + CORRELATED + CORRELATED, 26, "correlated[1].inputs has 'a'"),
    "unit of no output": (GOOD + '[units]\nz = "m"\n', 16, "units.z is not a key; known are y"),
    "unit is no text": (GOOD + "[units]\ny = 3\n", 16, "units.y is 3"),
    "two units of one name": (
        changed('["y"]', '["a"]') + '[units]\na = "s"\n',
        16,
        "units.a is 's', but the input of that name has another unit",
    ),
    "correlated table is no table": ("correlated = 3\n" + GOOD, 1, "correlated is 3"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_answered_with_file_line_and_key(load, tmp_path, mistake):
    text, line, words = MISTAKES[mistake]
    with pytest.raises(sq.InputError) as caught:
        load(text)
    message = str(caught.value)
    place = f"{tmp_path / 's.toml'}, line {line}: " if line else str(tmp_path / "s.toml")
    assert message.startswith(place), message
    assert words in message and message.endswith(".") and "\n" not in message


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(sq.InputError, match=r"no\.toml cannot be read"):
        sq.Study.load(tmp_path / "no.toml")
    with pytest.raises(sq.InputError, match="cannot be read"):
        sq.Study.load(tmp_path)
