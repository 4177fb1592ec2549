"""HTML of results, for notebooks."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 20
"""Rows of a table that are shown."""


def cell(value: object) -> str:
    """A value as people read it: numbers with four digits that matter and groups of thousands."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        whole = abs(value) >= 1000
        return f"{value:,.0f}" if whole else f"{value:.4g}"
    return str(value)


def table(names: list[str], rows: Iterable[Mapping[str, object]], count: int) -> str:
    """A table, of which the first rows are shown."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = []
    for row in islice(rows, SHOWN):
        cells = []
        for name in names:
            value = row[name]
            side = "left" if isinstance(value, str) else "right"
            cells.append(f'<td style="text-align: {side}">{escape(cell(value))}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    more = f"<p>{count:,} rows, of which {SHOWN} are shown</p>" if count > SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{more}"


def section(title: str, *parts: str) -> str:
    """Parts under a title."""
    return f"<div><p><b>{escape(title)}</b></p>{''.join(parts)}</div>"


class Plot(Protocol):
    """Draws a figure."""

    def __call__(self, *, dark: bool = False) -> Figure: ...


def pictures(plot: Plot) -> list[str]:
    """A figure, light or dark as the reader's screen is; nothing where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        return []
    light, dark = (_address(plot(dark=dark)) for dark in (False, True))
    source = f'<source media="(prefers-color-scheme: dark)" srcset="{dark}">'
    return [f'<picture>{source}<img src="{light}" alt="figure"></picture>']


def _address(figure: Figure) -> str:
    from bentpipe import style

    return f"data:image/svg+xml;base64,{b64encode(style.svg(figure)).decode()}"
