"""What all commands share: how they are grouped and listed, and the option `--json`."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

__all__ = ["AsJson", "GroupedHelp", "new_app"]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


class GroupedHelp(TyperGroup):
    """A command with subcommands, listed under the headings given as their `rich_help_panel`.

    Typer's own headings need Rich markup, which takes the `[f]` of `E[f]` for a style, and its
    plain list cuts sentences off at the width of the terminal; here they go on in the next line.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Without a subcommand, help is what is asked for; it is no mistake."""
        return super().parse_args(ctx, args or ["--help"])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each heading, in the order in which headings first occur."""
        del ctx
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            heading = getattr(command, "rich_help_panel", None) or "Commands"
            sentence = command.get_short_help_str(limit=10_000)  # the whole first sentence
            sections.setdefault(str(heading), []).append((name, sentence))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def new_app(sentence: str, *, epilog: str | None = None) -> typer.Typer:
    """A command to which subcommands are added, and which lists them if it is given none.

    Args:
        sentence: what it does, at the top of its help.
        epilog: sentences at the end of its help.
    """
    return typer.Typer(
        help=sentence,
        epilog=epilog,
        cls=GroupedHelp,
        add_completion=False,
        rich_markup_mode=None,  # markup would swallow the [f] of E[f]
        pretty_exceptions_enable=False,
    )
