"""A user's text on a terminal: without what it would obey, and a message in one line."""

__all__ = ["listed", "one_line", "printable"]

LONGEST = 1_000  # characters of a message
MOST_NAMES, LONGEST_NAME = 20, 60  # of a list


def printable(text: str) -> str:
    """A text without what a terminal would obey: line ends, colors, the bell.

    >>> printable(f"speed{chr(10)}{chr(27)}[31m")
    'speed??[31m'
    """
    return "".join(c if c.isprintable() else "?" for c in text)


def one_line(message: str) -> str:
    """A message in one line of bearable length: of a long one the beginning and the end.

    Args:
        message: with whatever names and texts of others it quotes.
    """
    plain = printable(" ".join(message.splitlines()))
    if len(plain) <= LONGEST:
        return plain
    return f"{plain[: LONGEST * 3 // 4]} ... {plain[-LONGEST // 4 :]}"


def listed(names: list[str]) -> str:
    """Names for a message: the first of them, each cut where it is long, and how many there are.

    >>> listed(["x0", "x1"]), listed([f"x{i}" for i in range(1000)])[-22:]
    ('x0, x1', 'x19, ... (1000 in all)')
    """
    shown = [printable(name) for name in names[:MOST_NAMES]]
    shown = [name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..." for name in shown]
    more = [f"... ({len(names)} in all)"] if len(names) > MOST_NAMES else []
    return ", ".join([*shown, *more])
