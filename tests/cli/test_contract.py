"""What every command keeps, whatever it is given: an answer, or one line and exit code 2.

Command lines and study files are put together from legal and illegal pieces, the same ones in
every run. No outcome is a traceback or a bug (exit code 1), and no input is ever changed.
"""

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from steinquad.cli.main import main

EXAMPLES = [pytest.param(25, id="short"), pytest.param(250, id="long", marks=pytest.mark.slow)]
ANSWERS, WRONG = (0, 3), 2
STUDY = """\
name = "s"
outputs = ["y", "z"]
method = "mc"
[integrand]
function = "f.py:f"
[inputs.a]
distribution = "uniform"
low = 1.0
high = 2.0
[budget]
runs = 8
[run]
where = "here"
"""
FUNCTION = "def f(a, **_):\n    return [a + 1, a]\n"


def of(*pieces):
    return st.sampled_from(pieces)


def examples(number):
    return settings(
        max_examples=number,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),  # a failure is shown as it is: to shrink it takes minutes
        suppress_health_check=list(HealthCheck),
    )


@contextlib.contextmanager
def folder():
    """A current directory with good and bad files; they are the same at the end."""
    before, path = Path.cwd(), list(sys.path)
    x = np.random.default_rng(0).normal(size=(24, 2))
    rows = "".join(f"{a!r},{b!r},{-a!r},{-b!r},{a + 5!r},0.1,{i % 2}\n" for i, (a, b) in
                   enumerate(x.tolist()))  # fmt: skip
    head = "x,y,sx,sy,f,noise,chain\n"
    texts = {
        "good.csv": head + rows,
        "bom.csv": "\ufeff" + head + rows,
        "twice.csv": head.replace("y,", "x,", 1) + rows,
        "lines.csv": head.replace("x", '"x\ny"', 1) + rows,
        "holes.csv": head + rows + ",,,,,,\n",
        "words.csv": head + rows + "a,b,c,d,e,f,g\n",
        "huge.csv": head + rows + "1e300,1e308,1,1,-1e308,1,1\n",
        "head.csv": head,
        "empty.csv": "",
        "wide.csv": ",".join(f"c{i}" for i in range(2000)) + "\n" + ",".join("1" * 2000) + "\n",
        "s.toml": STUDY,
        "broken.toml": "a = \n",
        "f.py": FUNCTION,
    }
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            for name, text in texts.items():
                Path(name).write_text(text, encoding="utf-8")
            Path("latin.csv").write_bytes(head.replace("y", "ö").encode("latin-1"))
            Path("directory.csv").mkdir()
            os.mkfifo("pipe.csv")
            os.symlink("s.toml", "link.json")
            os.link("f.py", "hard.csv")
            kept = {file: file.read_bytes() for file in Path(place).iterdir() if file.is_file()}
            yield
            assert kept == {file: file.read_bytes() for file in kept}, "an input was changed"
            if Path("s.sqlite").is_file():
                assert Path("s.sqlite").read_bytes().startswith(b"SQLite format 3\x00")
            assert not list(Path(place).glob(".*part*")), "an unfinished file was left"
        finally:
            os.chdir(before)
            sys.path[:] = path


def keeps_the_contract(*arguments):
    """Run a command in this process, and check how it ends; its exit code."""
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as stop,
    ):
        patch.setattr(sys, "argv", ["steinquad", *arguments])
        main()
    code, said = stop.value.code, err.getvalue()
    story = f"{arguments} ended with {code}: {said}"
    assert code in (*ANSWERS, WRONG), story
    assert "Traceback" not in said and len(said) < 1200, story
    assert said.count("\n") <= 1 and (not said or said.startswith("steinquad: ")), story
    if code == WRONG:
        assert said.endswith(".\n"), story
    else:
        assert out.getvalue(), story
    return code


# Names of files, those that can be read and those that cannot.
TABLES = of(
    *["good.csv"] * 8, "bom.csv", "twice.csv", "lines.csv", "holes.csv", "words.csv", "huge.csv",
    "head.csv", "empty.csv", "wide.csv", "latin.csv", "directory.csv", "pipe.csv", "no.csv", "",
    "f.py", "x" * 300, "é\udcff.csv",
)  # fmt: skip
STUDIES = of(*["s.toml"] * 8, "broken.toml", "no.toml", "good.csv", "latin.csv", "directory.csv",
             "pipe.csv", "", "x" * 300)  # fmt: skip
TARGETS = of("out.csv", "out.json", "out.html", "out.md", "out.png", "out", "out.docx", "s.sqlite",
             "s.toml", "f.py", "link.json", "hard.csv", "directory.csv", "pipe.csv", "no/out.csv",
             "no/out.html", "/proc/out.csv", "/dev/null", "", ".", "..", "good.csv",
             "x" * 300 + ".csv", "\udcff.csv", "-", "--")  # fmt: skip
COLUMNS = of("x", "x,y", "f", "sx,sy", "x,f", "y", "noise", "chain", "", ",", "x,,y", " x , y ",
             "X", "x,x", "é", "\n", "=x", "c1", "z" * 5000)  # fmt: skip
BOUNDS = of("0=0:45", "0=-99:99", "x=-99:", "x=-99:,y=:99", "1=:", "²=0:1", "0=٣:", "0=1_0:", "",
            "=", ":", "0=nan:", "0=:inf", "0=5:1", "7=0:1", "0=0:1,0=0:2", "-1=:",
            "9" * 5000 + "=:", "0=" + "9" * 400 + ":", "x=\x00:")  # fmt: skip
NUMBERS = of("0", "1", "7", "-1", "1.5", "1e3", "", "abc", "٣", "1_0", "9" * 30, "9" * 5000, "nan")
METHODS = of(*["mc"] * 8, "polynomial", "cf", "bq", "qmc", "auto", "bsn-paper ", "MC", "", "é")
JUNK = of("--nope", "-x", "--", "-", "--json=1", "--seed", "é", "\udcff", "", "--help",
          "--version", "x" * 5000, "a\nb", "\x1b[2J")  # fmt: skip


def option(name, values):
    """An option with a value, or nothing."""
    return st.one_of(st.just(()), values.map(lambda value: (name, value)))


def line(*parts):
    """The parts one after the other, with something that does not belong there now and then."""
    whole = st.tuples(*parts).map(lambda parts: [word for part in parts for word in part])
    stray = st.one_of(*[st.just(())] * 6, st.tuples(JUNK))
    return st.tuples(whole, stray).map(lambda both: [*both[0], *both[1]])


def word(values):
    return values.map(lambda value: (value,))


JSON = of((), (), ("--json",))
# Columns that go together come more often than any others.
FITTING = of(("--x", "x,y", "--value", "f"), ("--x", "x", "--value", "f", "--score", "sx"))
ANY = st.tuples(
    option("--x", COLUMNS), option("--value", COLUMNS), option("--score", COLUMNS)
).map(lambda parts: tuple(word for part in parts for word in part))
FIGURES = st.one_of(st.just(()), st.just(()), option("--figure", TARGETS))
MODELS = of("f.py:f", "f.py", ":", "é:f", "no:f", "f.py:f.g")
OTHERS = of(
    ("demo", "--n", "1"),
    ("demo", "--n", "é"),
    ("draw",),
    ("truth",),
    ("reproduce",),
    ("reproduce", "--list"),
    ("reproduce", "é"),
    ("draw", "wind-farm"),
    ("truth", "wind-farm", "--points", "7"),
    ("nonsense",),
    (),
)
INTEGRATE = line(
    st.just(("integrate",)),
    word(TABLES),
    st.one_of(FITTING, FITTING, ANY),
    option("--method", METHODS),
    option("--support", BOUNDS),
    option("--seed", NUMBERS),
    of((), (), ("--weights", "noise"), ("--noise", "noise"), ("--groups", "chain")),
    of((), (), ("--weights", "x"), ("--noise", "x,y"), ("--groups", "é")),
    FIGURES,
    JSON,
)
LINES = st.one_of(
    INTEGRATE,
    line(
        st.just(("posterior",)),
        word(TABLES),
        option("--model", MODELS),
        option("--path", TARGETS),
        option("--var-names", COLUMNS),
        JSON,
    ),
    line(
        st.just(("run",)),
        word(STUDIES),
        of((), ("--retry-failed",)),
        option("--report", TARGETS),
        JSON,
    ),
    line(of(("status",), ("estimate",)), word(STUDIES), JSON),
    line(st.just(("report",)), word(STUDIES), st.lists(TARGETS, max_size=2).map(tuple)),
    line(st.just(("export",)), word(STUDIES), word(TARGETS), of((), ("--failed",))),
    line(
        st.just(("init",)),
        word(st.one_of(TARGETS, of("new", "new.toml", "new/s.TOML"))),
        option("--example", of("beam", "wind-farm", "", "é", "../beam")),
    ),
    line(OTHERS, option("--figure", TARGETS)),
)


@pytest.mark.parametrize("number", EXAMPLES)
def test_any_command_line_is_answered_or_refused_in_one_line(number):
    ended = []

    @examples(number)
    @given(LINES, st.booleans())
    def check(words, after_a_run):
        with folder():
            if after_a_run:
                keeps_the_contract("run", "s.toml")
            # The operating system has no null characters in arguments.
            ended.append(keeps_the_contract(*(word.replace("\x00", "") for word in words)))

    check()
    assert set(ended) >= {0, WRONG}


# Values of any key: right for some, wrong for others.
VALUES = of('"y"', "0", "1", "2", "-1", "1.5", "1e308", "-1e308", "nan", "inf", "true", '""', "[]",
            "{}", "1979-05-27", "9" * 30, '"\\u0000"', '"é"', "['y', 'y']", '"mc"', "1_0", "0x10",
            '"' + "x" * 3000 + '"', "[[[[1]]]]", '"=1+1"', '"a\\nb"', "", "'")  # fmt: skip


STRAY = of(
    "[units]", "[[correlated]]", "é = 1", "\x00", "[inputs]", "a" + ".a" * 200 + " = 1", "[" * 300,
    "x = '''", "\ufeff", "key = 1", "[integrand]", "\udcff",
)  # fmt: skip
TOP = {
    "name": of('"s"', '"<b> $(id)"'),
    "seed": of("0", "7"),
    "points": of('"sobol"', '"iid"', '"auto"'),
    "on_failure": of('"ignore"', '"refuse"'),
    "store": of('"other.sqlite"', '"new/s"'),
}
DISTRIBUTIONS = of(
    "normal mean=0.0 std=1.0",
    "normal mean=-3 std=2e-3 low=-4",
    "uniform low=-1.5 high=2e5",
    "lognormal log_mean=0.0 log_std=0.5",
    "beta a=2 b=0.5",
    "gamma shape=2 scale=1.5",
    "triangular low=0 mode=1 high=2",
    "empirical file='good.csv' column='x'",
    "empirical file='bom.csv' column='y'",
    "empirical file='latin.csv' column='y'",
    "empirical file='pipe.csv' column='y'",
    "truncated_normal mean=0 std=1 low=-1 high=1",
)
FUNCTIONS = of(
    *["function = 'f.py:f'"] * 6, "function = 'f.py:g'", "function = 'no.py:f'",
    "function = 's.toml:f'", "command = ['echo', '[1, {a}]']", "command = ['false']",
    "command = ['no-such-program']", "command = ['echo', '{c}']",
)  # fmt: skip
INTEGRAND = {
    "style": of("'keywords'", "'dict'", "'batch'"),
    "retries": of("0", "1"),
    "time_limit": of("1", "2.5"),
    "version": of("'1'"),
    "memory": of("'2 GiB'", "'1 B'"),
}
BUDGETS = of("runs = 2", "runs = 8", "runs = 9\nuntil = { std = 1.0 }")


@st.composite
def study_files(draw):
    """A study that is right in every key, and then up to two mistakes."""

    def some(keys):
        return [f"{key} = {draw(keys[key])}" for key in draw(st.sets(of(*keys), max_size=2))]

    outputs = draw(of("['y', 'z']", "['é', '=z']", "['y\\n', '<b>']"))
    lines = [
        f"outputs = {outputs}",
        f"method = '{draw(of('mc', 'mc', 'mc', 'qmc', 'polynomial'))}'",
    ]
    lines += some(TOP)
    for name in draw(of("a", "ab")):
        kind, *keys = draw(DISTRIBUTIONS).split()
        kind = kind.replace("_", " ")
        lines += [f"[inputs.{name}]", f"distribution = '{kind}'"]
        lines += [key.replace("=", " = ") for key in keys]
    lines += ["[integrand]", draw(FUNCTIONS), *(some(INTEGRAND) if draw(st.booleans()) else [])]
    lines += ["[budget]", *draw(BUDGETS).split("\n"), "[run]", "where = 'here'"]
    for _ in range(draw(of(0, 1, 2))):
        at = draw(st.integers(0, len(lines) - 1))
        mistake = draw(of("value", "value", "value", "twice", "gone", "stray"))
        wrong = f"{lines[at].partition('=')[0]}= {draw(VALUES)}"
        # Without a place it would be a pool, which takes minutes; without runs there is no end.
        stays = lines[at].startswith(("runs", "where"))
        lines[at : at + 1] = {
            "value": [wrong],
            "twice": [lines[at]] * 2,
            "gone": [lines[at]] if stays else [],
            "stray": [draw(STRAY), lines[at]],
        }[mistake]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("number", EXAMPLES)
def test_any_study_file_is_run_or_refused_in_one_line(number):
    ended = []

    @examples(number)
    @given(study_files())
    def check(text):
        with folder():
            Path("any.toml").write_bytes(text.encode(errors="surrogateescape"))
            code = keeps_the_contract("run", "any.toml")
            again = keeps_the_contract("estimate", "any.toml")
            assert (code in ANSWERS) == (again in ANSWERS), "an answer is there or it is not"
            keeps_the_contract("status", "any.toml")
            keeps_the_contract("export", "any.toml", "out.csv")
        ended.append(code)

    check()
    assert set(ended) & set(ANSWERS) and WRONG in ended
