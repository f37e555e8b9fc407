"""A user's text without what a page or a terminal would obey."""

from html import escape

__all__ = ["markup", "visible"]


def visible(text: str, *, lines: bool = False) -> str:
    r"""With a mark for every character that is not printable; line breaks are spaces, or kept.

    >>> visible("one\ttwo\x1b[31m")
    'one two�[31m'
    """
    kept = "\n" if lines else ""
    return "".join(
        c if c.isprintable() or c in kept else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def markup(text: str, *, lines: bool = False) -> str:
    """The same as a part of a page.

    >>> markup("<b>")
    '&lt;b&gt;'
    """
    return escape(visible(text, lines=lines))
