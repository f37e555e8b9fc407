"""The list of commands that `--help` prints, in groups."""

from typing import Any

from typer.core import TyperGroup

__all__ = ["GroupedHelp"]


class GroupedHelp(TyperGroup):
    """A command with subcommands, listed under the headings given as their `rich_help_panel`.

    Pass it as `cls=` to `typer.Typer`. Typer's own headings need Rich markup, which takes the
    `[f]` of `E[f]` for a style, and its plain list cuts sentences off at the width of the
    terminal; here they go on in the next line.
    """

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
