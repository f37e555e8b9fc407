"""What commands share: help in groups, without a sentence cut off."""

import pytest
import typer
from typer.testing import CliRunner

from steinquad.terminal.commands import AsJson, new_app


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("arguments", [(), ("draw",), ("truth",)])
def test_help_cuts_no_sentence_off(command, monkeypatch, width, arguments):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out = command(*arguments, "--help")
    assert code == 0 and max(map(len, out.out.splitlines())) <= width
    listing = out.out.partition("--help")[2]
    assert "..." not in listing and listing.count(".") >= 2


def test_groups_are_in_the_order_of_their_first_command_and_brackets_stay():
    app = new_app("Sentences about E[f].")
    for name, heading in (("b", "Second"), ("a", None), ("c", "Second")):

        def one(as_json: AsJson = False) -> None:
            """Estimate E[f] by one."""
            typer.echo(as_json)

        app.command(name, rich_help_panel=heading)(one)
    shown = CliRunner().invoke(app, []).output
    assert shown.count("E[f]") == 4 and "--install-completion" not in shown
    order = [shown.index(word) for word in ("Second:", "\n  b ", "\n  c ", "Commands:", "\n  a ")]
    assert order == sorted(order)
    assert CliRunner().invoke(app, ["b", "--json"]).output == "True\n"
