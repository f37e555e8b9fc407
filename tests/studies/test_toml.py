"""TOML with places: the line of every key is found, in whatever way it is written."""

import os
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steinquad.errors import InputError
from steinquad.studies._toml import PlacedError, _lines, read

SEEDED = settings(derandomize=True, deadline=None, max_examples=60)
BARE = st.text("abcXYZ019_-", min_size=1, max_size=6)
QUOTED = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=6)
STRINGS = st.one_of(
    QUOTED.map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'),
    st.text("ab[]{}#=\"\\'\n ", max_size=12).map(
        lambda text: '"""\n' + text.replace("\\", "\\\\").replace('"', '\\"') + '\n"""'
    ),
    st.text('ab[]{}#="\\ ', max_size=8).map(lambda text: f"'{text}'"),
)
SCALARS = st.one_of(
    st.integers(-(2**40), 2**40).map(str), st.booleans().map(lambda b: str(b).lower()), STRINGS
)
VALUES = st.recursive(
    SCALARS,
    lambda each: st.one_of(
        st.lists(each, max_size=3).map(lambda some: "[ # ]\n" + ", # [\n".join(some) + "\n]"),
        st.lists(SCALARS.filter(lambda s: "\n" not in s), max_size=2).map(
            lambda some: "{" + ", ".join(f"k{i} = {v}" for i, v in enumerate(some)) + "}"
        ),
    ),
    max_leaves=5,
)


def quoted(key):
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


@st.composite
def documents(draw):
    """A text, and the line of every key that begins one."""
    lines, places = [], {}

    def entries(table):
        names = draw(st.lists(st.one_of(BARE, QUOTED), max_size=4, unique=True))
        for name in names:
            places[*table, name] = len(lines) + 1
            written = name if name and set(name) <= set("abcXYZ019_-") else quoted(name)
            lines.extend(f"{written} = {draw(VALUES)}".split("\n"))
            lines.extend(draw(st.sampled_from([[], [""], ["# [no.table]"], ['# a = "']])))

    entries(())
    for i, name in enumerate(draw(st.lists(BARE, max_size=3, unique=True))):
        for j in range(draw(st.integers(1, 2))):
            array = draw(st.booleans()) if j == 0 else array  # noqa: F821
            if j and not array:
                continue
            table = (f"t{i}-{name}", j) if array else (f"t{i}-{name}",)
            places.setdefault(table[:1], len(lines) + 1)
            places[table] = len(lines) + 1
            lines.append(f"[[{table[0]}]]" if array else f" [ {quoted(table[0])} ]  # [x]")
            entries(table)
    return "\n".join(lines) + "\n", places


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (".".join(["a"] * 20_000) + " = 1", "line 1: a key has more than 100 parts"),
        ("x = 1\n[" + ".".join(["a"] * 3_000) + "]", "line 2: a key has more than 100 parts"),
        ("a = " + "[" * 3_000 + "]" * 3_000, "nested too deep"),
        ("a = " + "{a = " * 3_000 + "1" + "}" * 3_000, "nested too deep"),
        ("a = " + "[" * 102 + "]" * 102, "nested too deep"),
        ("# " + "x" * 1_000_000, "has 1000002 characters; a study has 1000000 at most"),
    ],
)
def test_what_would_take_long_to_parse_is_refused(tmp_path, text, words):
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(InputError, match=words):
        read(tmp_path / "s.toml")


@SEEDED
@given(documents())
def test_every_key_is_found_in_its_line(document):
    text, places = document
    tomllib.loads(text)
    found = _lines(text)
    assert {key: found.get(key) for key in places} == places


@SEEDED
@given(st.one_of(st.text(max_size=60), documents().map(lambda each: each[0][:-3])))
def test_any_text_is_read_or_refused_with_its_line(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(text.encode(errors="surrogatepass"))
    try:
        table = read(path)
    except InputError as error:
        assert str(error).startswith(str(path)) and "\n" not in str(error)
        return
    for key in table.values:
        error = table.error(key, "is there")
        assert str(error).startswith(f"{path}, line ") and str(error).endswith("is there.")


def test_a_complaint_knows_that_it_has_a_place(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text("a = 1\n[b]\nc = 2\n")
    table = read(path).table("b", "a table")
    with pytest.raises(PlacedError, match=r"s\.toml, line 3: b\.c is 2; give a text"):
        table.text("c", "a text")


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "s.toml")
    with pytest.raises(InputError, match="it is not a file"):
        read(tmp_path / "s.toml")


def test_files_that_a_study_names_are_remembered(tmp_path):
    (tmp_path / "s.toml").write_text("[a]\nfile = 'data.csv'\n")
    top = read(tmp_path / "s.toml")
    inner = top.table("a", "a table")
    assert inner.also_read(inner.text("file", "a file")) == tmp_path / "data.csv"
    assert top.files == (tmp_path / "s.toml", tmp_path / "data.csv")
