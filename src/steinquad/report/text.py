"""A user's text without what a page or a terminal would obey."""

from html import escape

__all__ = ["markup", "visible"]


def visible(text: str, *, lines: bool = False) -> str:
    r"""A text with a mark for every character that is not printable, and plain white space.

    Error texts of simulators may hold escape sequences, which a terminal would obey.

    Args:
        text: of the user or of a program.
        lines: whether line breaks are kept; else they are spaces, as all white space is.

    >>> visible("one\ttwo\x1b[31m")
    'one two�[31m'
    """
    kept = "\n" if lines else ""
    return "".join(
        c if c.isprintable() or c in kept else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def markup(text: str, *, lines: bool = False) -> str:
    """What `visible` gives, escaped for HTML, in an element or in an attribute with quotes.

    Args:
        text: of the user or of a program.
        lines: whether line breaks are kept, for text in `<pre>`.

    >>> markup("<b>")
    '&lt;b&gt;'
    """
    return escape(visible(text, lines=lines))
