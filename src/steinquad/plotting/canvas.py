"""An empty figure, where matplotlib is installed."""

from typing import TYPE_CHECKING, Literal

from steinquad.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["new_figure"]


def new_figure(
    width: float,
    height: float,
    *,
    layout: Literal["constrained"] | None = None,
    what: str = "plot",
) -> "Figure":
    """A figure that can be saved and opens no window, whatever backend the user has chosen.

    Args:
        width: in inches.
        height: in inches.
        layout: of its panels; None to place them by hand.
        what: needs matplotlib, as the `InputError` says where it is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(f"{what} needs matplotlib; install steinquad[plot].") from None
    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure
