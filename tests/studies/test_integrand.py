"""What is evaluated: commands are checked, versions follow files."""

import sys

import pytest
from small_study import inputs, study

import steinquad as sq
from steinquad.studies.calls.loading import version_of_command


def test_the_version_of_a_command_is_that_of_its_script(tmp_path):
    versions = []
    for text in ("print(1.0)", "print(2.0)"):
        (tmp_path / "sim.py").write_text(text)
        command = sq.Command([sys.executable, "sim.py", "x" * 300])
        found = study(tmp_path, integrand=command, directory=tmp_path, runs=4)
        versions.append(version_of_command(found.call))
    assert len(set(versions)) == 2 and all(versions)


def test_braces_that_are_no_placeholders(tmp_path):
    script = "import sys; print(len(sys.argv[1]) * 1.0)"
    command = sq.Command([sys.executable, "-c", script, "{{output}}{{input}}"])
    found = study(tmp_path, integrand=command, runs=2)
    found.run()
    assert [row.outputs for row in found.evaluations.rows()] == [[len("{output}{input}")]] * 2
    with pytest.raises(sq.InputError, match="placeholder {}"):
        study(tmp_path, integrand=sq.Command(["true", "{}"]))


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
