"""The one style of all figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDTH = 7.0
"""Of a figure, in inches."""


@dataclass(frozen=True)
class Ink:
    """What is drawn on what."""

    paper: str
    text: str
    faint: str
    hues: tuple[str, ...]
    """Colours of series, in the order in which they are taken: those that stand out from the paper come first."""

    def hue(self, number: int) -> str:
        """The colour of a series by its number; after the last one the first one comes again."""
        return self.hues[number % len(self.hues)]


# Those of the command's figures: Okabe and Ito's but for yellow, which is lost on white, and then some of Paul Tol's.
LIGHT = Ink(
    "#ffffff",
    "#1a1a1a",
    "#d0d0d0",
    (
        *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
        *("#882255", "#999933", "#44AA99", "#AA4499", "#785EF0", "#1a1a1a"),
    ),
)
DARK = Ink(
    "#14171a",
    "#e8eaed",
    "#3c4048",
    (
        *("#2E90D0", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
        *("#D66EA0", "#BABA52", "#44AA99", "#CE70C0", "#9A86FF", "#e8eaed"),
    ),
)


def ink(dark: bool) -> Ink:
    """Light or dark."""
    return DARK if dark else LIGHT


@contextmanager
def styled(dark: bool) -> Iterator[Ink]:
    """Figures that are made in it have the style; nothing else is changed."""
    chosen = ink(dark)
    with matplotlib.rc_context(
        {
            "axes.edgecolor": chosen.faint,
            "axes.facecolor": chosen.paper,
            "axes.grid": True,
            "axes.labelcolor": chosen.text,
            "axes.labelsize": 9,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlecolor": chosen.text,
            "axes.titlelocation": "left",
            "axes.titlesize": 10,
            "figure.facecolor": chosen.paper,
            "font.family": "sans-serif",
            "font.size": 9,
            "grid.color": chosen.faint,
            "grid.linewidth": 0.5,
            "legend.fontsize": 8,
            "legend.frameon": False,
            "legend.labelcolor": chosen.text,
            "lines.linewidth": 1.4,
            "savefig.facecolor": chosen.paper,
            "text.color": chosen.text,
            "xtick.color": chosen.text,
            "ytick.color": chosen.text,
        }
    ):
        yield chosen


def canvas(rows: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure of some axes below each other with the same time, each so high, in inches."""
    figure = Figure(figsize=(WIDTH, height * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)
    return figure, [row[0] for row in axes]


def legend(axes: Axes) -> None:
    """What the lines are, beside the data."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def svg(figure: Figure) -> bytes:
    """A figure as SVG: the same one every time."""
    picture = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "bentpipe"}):
        figure.savefig(picture, format="svg", metadata={"Date": None})
    return picture.getvalue()
