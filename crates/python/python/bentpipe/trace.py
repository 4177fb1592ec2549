"""Traces of links: rate, one-way delay, loss and state over time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from bentpipe import _native, markup, values
from bentpipe.table import Table
from bentpipe.values import Time

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Trace:
    """A link over time. A link of a scenario replays the file of it: `set("links.space.forward.trace", "down.csv")`."""

    def __init__(self, name: str, native: _native.Trace) -> None:
        self._name = name
        self._native = native

    @staticmethod
    def of(columns: Mapping[str, Iterable[float | bool | None]], name: str = "trace") -> Trace:
        """The trace of these columns: `time_s`, and any of `rate_bps`, `delay_s`, `loss`, `up`. `None` changes nothing.

        Raises `Error` where a column is not known or a value cannot be, with its line, of which the names are the first."""
        lines = [",".join(columns)]
        for row in zip(*columns.values(), strict=True):
            lines.append(",".join("" if value is None else repr(float(value)).removesuffix(".0") for value in row))
        return Trace(name, _native.Trace.parse(name, "\n".join(lines) + "\n"))

    @property
    def name(self) -> str:
        """The file or the name that it came from."""
        return self._name

    @property
    def seconds(self) -> float:
        """Its length."""
        return self._native.seconds

    @cached_property
    def table(self) -> Table:
        """A row for each time at which something changes, with all that holds from then on: `time_s`, `rate_bps`, `delay_s`,
        `loss`, `up`. What the trace does not tell is `None`."""
        return Table(self._native.rows())

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The document that `bentpipe trace info --json` prints."""
        document: dict[str, Any] = json.loads(self._native.json())
        return document

    def merge(self, other: Trace) -> Trace:
        """The same with what the other one tells that this one does not: the rate of one measurement beside the delay of
        another."""
        return Trace(f"{self.name} and {other.name}", self._native.with_(other._native))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes it into a file: Parquet if its name ends in `.parquet`, else CSV."""
        self._native.write(os.fspath(path))

    def plot(self, *, dark: bool = False) -> Figure:
        """What it tells over time. Needs matplotlib."""
        from bentpipe import figures

        return figures.trace(self, dark=dark)

    def __repr__(self) -> str:
        return f"<bentpipe.Trace {self.name}: {self.seconds:g} s>"

    def _repr_html_(self) -> str:
        spreads = {name: self.summary[name] for name in ("rate_bps", "delay_s") if self.summary[name]}
        rows = [{"": name, **spread} for name, spread in spreads.items()]
        told = [markup.table(list(rows[0]), rows, len(rows))] if rows else []
        return markup.section(f"{self.name}: {self.seconds:g} s", *told, *markup.pictures(self.plot))


def trace(
    name: str | os.PathLike[str],
    *,
    delays: str | os.PathLike[str] | None = None,
    format: Literal["ping", "irtt", "iperf3", "lens", "dish"] | None = None,
    way: Literal["down", "up"] = "down",
    gap: int = 3,
    interval: Time = "1 s",
) -> Trace:
    """The trace in a file (a table as CSV or Parquet, or one of mahimahi), or the one of this name that comes with the package
    (`bentpipe.traces()`).

    `delays` is a second file with a one-way delay in milliseconds on each line, 10 ms apart. With `format` the file is what a
    measuring program wrote: `way` is the way along the link that is wanted, more missing answers in a row than `gap` are an outage,
    and `interval` is the time from one probe to the next where the output does not tell.

    Raises `Error` where there is no trace in it, with the line."""
    file = os.fspath(name)
    if format is None:
        return Trace(file, _native.Trace.open(file, None if delays is None else os.fspath(delays)))
    native = _native.Trace.import_(format, file, way == "up", gap, values.time("interval", interval))
    return Trace(file, native)
