"""A pair of axes as SVG; colors come from the page's style sheet, for light and dark."""

import math
from collections.abc import Iterable, Sequence

from steinquad.report.numbers import ten_to
from steinquad.report.text import markup

__all__ = ["Axes"]

WIDTH, HEIGHT = 320, 230  # px
LEFT, RIGHT, TOP, BOTTOM = 58, 18, 10, 40
MOST_TICKS = 5
LONGEST = 36  # characters of a label that fit
ACROSS, DOWN = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM  # of the frame
DIGITS = 5  # of a tick beyond which a power of ten is taken out


class Axes:
    """Room for marks between two ranges; what lies outside of it is cut off.

    Marks are added in the order in which they cover each other, and `svg` gives the drawing.
    Ranges are widened by a twentieth at both ends, so that no mark sits on the frame.

    Args:
        x: from and to.
        y: from and to.
        x_label: what is below, and its unit or an empty text.
        y_label: the same at the left.
        log: whether both axes are logarithmic; ranges and points are then above zero.
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        x_label: tuple[str, str],
        y_label: tuple[str, str],
        *,
        log: bool = False,
    ) -> None:
        self.log = log
        self.x, self.y = (_widened(side, log) for side in (x, y))
        self.labels = (x_label, y_label)
        self.marks: list[str] = []

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point lies in the drawing, in its own units from the upper left corner.

        Args:
            x: in units of the data, within the range or not.
            y: likewise; larger values are higher up.

        Returns:
            Distances to the right and down.
        """
        u, v = (_share(value, side, self.log) for value, side in ((x, self.x), (y, self.y)))
        return LEFT + u * ACROSS, TOP + (1 - v) * DOWN

    def line(self, x: Sequence[float], y: Sequence[float], kind: str) -> None:
        """Add straight pieces through points, in their order.

        Args:
            x: of the points, in units of the data.
            y: of the points, as many.
            kind: class in the style sheet, which decides on color and dashes, such as `line-a`.
        """
        self._add("polyline", zip(x, y, strict=True), kind)

    def band(
        self, x: Sequence[float], low: Sequence[float], high: Sequence[float], kind: str
    ) -> None:
        """Add the area between two lines, for an interval around a curve.

        Args:
            x: of both lines, rising.
            low: the lower line at each x.
            high: the upper line at each x.
            kind: class in the style sheet, such as `band-a`.
        """
        back = reversed(list(zip(x, high, strict=True)))
        self._add("polygon", [*zip(x, low, strict=True), *back], kind)

    def dots(
        self, x: Sequence[float], y: Sequence[float], kind: str, *, radius: float = 3.0
    ) -> None:
        """Add a dot for every point; it has the same size whatever the ranges are.

        Args:
            x: of the points, in units of the data.
            y: of the points, as many.
            kind: class in the style sheet, such as `dot-a`.
            radius: in units of the drawing, which is 320 wide.
        """
        for each in zip(x, y, strict=True):
            across, down = self.at(*each)
            self.marks.append(
                f'<circle class="{kind}" cx="{across:.1f}" cy="{down:.1f}" r="{radius:g}"/>'
            )

    def svg(self, description: str) -> str:
        """The drawing so far with frame, grid, ticks and labels, to be put into a page as it is.

        Args:
            description: what the figure shows, for those who do not see it; escaped here, as are
                the labels.

        Returns:
            An `<svg>` element that needs the style sheet of the report for its colors.
        """
        clip = f'<svg x="{LEFT}" y="{TOP}" width="{ACROSS}" height="{DOWN}" '
        clip += f'viewBox="{LEFT} {TOP} {ACROSS} {DOWN}">'
        frame = f'<path class="frame" d="M{LEFT} {TOP}V{TOP + DOWN}H{LEFT + ACROSS}"/>'
        x_power, x_ticks = _ticks(self.x, self.log)
        y_power, y_ticks = _ticks(self.y, self.log)
        texts = []
        for value, label in x_ticks:
            px = self.at(value, self.y[0])[0]
            texts.append(f'<path class="grid" d="M{px:.1f} {TOP}V{TOP + DOWN}"/>')
            texts.append(_text(px, TOP + DOWN + 14, label, "middle"))
        for value, label in y_ticks:
            py = self.at(self.x[0], value)[1]
            texts.append(f'<path class="grid" d="M{LEFT} {py:.1f}H{LEFT + ACROSS}"/>')
            texts.append(_text(LEFT - 5, py + 4, label, "end"))
        x_label, y_label = self.labels
        texts.append(_text(LEFT + ACROSS / 2, HEIGHT - 6, _with_power(x_label, x_power), "middle"))
        texts.append(
            f'<text class="axis" text-anchor="middle" '
            f'transform="translate(11 {TOP + DOWN / 2:.1f}) rotate(-90)">'
            f"{markup(_with_power(y_label, y_power))}</text>"
        )
        return (
            f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{markup(description)}">{"".join(texts)}'
            f"{clip}{''.join(self.marks)}</svg>{frame}</svg>"
        )

    def _add(self, shape: str, points: Iterable[tuple[float, float]], kind: str) -> None:
        places = " ".join("{:.1f},{:.1f}".format(*self.at(*point)) for point in points)
        self.marks.append(f'<{shape} class="{kind}" points="{places}"/>')


def _widened(side: tuple[float, float], log: bool) -> tuple[float, float]:
    """A range with a little room, and some width in any case."""
    low, high = side
    if log:
        low, high = math.log10(low), math.log10(high)
    room = 0.05 * (high - low)
    if room < 1e-12 * max(abs(low), abs(high), 1e-300):
        # One value only, or two that differ by rounding.
        room = 0.5 if log else max(abs(low), 1e-300) * 0.1
    low, high = low - room, high + room
    return (10.0**low, 10.0**high) if log else (low, high)


def _share(value: float, side: tuple[float, float], log: bool) -> float:
    low, high = side
    if log:
        value, low, high = math.log10(value), math.log10(low), math.log10(high)
    return (value - low) / (high - low)


def _ticks(side: tuple[float, float], log: bool) -> tuple[int, list[tuple[float, str]]]:
    """The power of ten that was taken out, and the ticks with their labels."""
    low, high = side
    if log:
        return 0, _log_ticks(low, high)
    step, values = _even(low, high)
    largest = max(abs(low), abs(high))
    power = math.floor(math.log10(largest))
    smallest = math.floor(math.log10(step))
    if -3 <= power <= 4 and -smallest <= DIGITS - 1:
        power = 0
    decimals = max(power - smallest, 0)
    # + 0.0: no minus before a zero.
    return power, [(value, f"{value / 10.0**power + 0.0:.{decimals}f}") for value in values]


def _log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    start, stop = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for parts in ((1,), (1, 3), (1, 2, 5)):
        values = [m * 10.0**e for e in range(start, stop + 1) for m in parts]
        values = [value for value in values if low <= value <= high]
        if len(values) >= 3:
            break
    if len(values) < 2:  # a short range has no power of ten in it
        _, values = _even(low, high)
    values = values[:: math.ceil(len(values) / (MOST_TICKS + 1))]
    return [(value, _power_label(value)) for value in values]


def _even(low: float, high: float) -> tuple[float, list[float]]:
    """A round step, and its multiples in a range."""
    rough = (high - low) / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    # A step that is round already must not become the next one by its last bit.
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step), math.floor(high / step)
    return step, [i * step for i in range(first, last + 1)]


def _power_label(value: float) -> str:
    power = math.floor(math.log10(value) + 1e-9)  # 1000 may come as 999.9999999999999
    if -2 <= power <= 3:
        return f"{value:g}"
    lead = f"{value / 10.0**power:.4g}"
    return ten_to(power) if lead == "1" else f"{lead}·{ten_to(power)}"


def _with_power(label: tuple[str, str], power: int) -> str:
    text, unit = label
    scale = ten_to(power) if power else ""
    whole = ", ".join(part for part in (text, f"{scale} {unit}".strip()) if part)
    return whole if len(whole) <= LONGEST else whole[: LONGEST - 1] + "…"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{markup(text)}</text>'
