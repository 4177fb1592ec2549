"""What became of one run."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bentpipe import _native, markup
from bentpipe._native import Error
from bentpipe.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Run:
    """A run that is over."""

    def __init__(self, native: _native.Run) -> None:
        self._native = native

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The document that `bentpipe run --json` prints."""
        document: dict[str, Any] = json.loads(self._native.json())
        return document

    @property
    def scenario(self) -> str:
        """Name of the scenario."""
        return str(self.summary["scenario"])

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return int(self.summary["seed"])

    @cached_property
    def flows(self) -> Table:
        """A row for each flow. Of the counters, `source_` are those of the sender and `sink_` those of the receiver."""
        return Table(self._native.flows())

    @cached_property
    def links(self) -> Table:
        """A row for each direction of each link."""
        return Table(self._native.links())

    @cached_property
    def samples(self) -> Table:
        """The states of the senders over time; `run` must have been asked for them by `samples`."""
        samples = self._native.samples()
        if samples is None:
            raise Error('samples: there are none; ask for them by `run(samples="100 ms")`')
        return Table(samples)

    @cached_property
    def handovers(self) -> Table | None:
        """The handovers, where a constellation carries the flows."""
        handovers = self._native.handovers()
        return None if handovers is None else Table(handovers)

    @cached_property
    def routes(self) -> Table | None:
        """The routes of the flows and every change of them, where a constellation carries the flows."""
        routes = self._native.routes()
        return None if routes is None else Table(routes)

    def plot(self, *, dark: bool = False) -> Figure:
        """Goodput, window and round-trip time of each flow over time. Needs samples and matplotlib."""
        from bentpipe import figures

        return figures.run(self, dark=dark)

    def __repr__(self) -> str:
        seconds = float(self.summary["simulated_seconds"])
        return f"<bentpipe.Run of {self.scenario}, seed {self.seed}: {len(self.flows)} flows, {seconds:.3f} s>"

    def _repr_html_(self) -> str:
        told = ["name", "protocol", "controller", "complete", "failure", "delivered_bytes"]
        told += ["connection_time", "effective_throughput", "total_overhead"]
        flows = markup.table(told, self.flows.rows(), len(self.flows))
        pictures = [] if self._native.samples() is None else markup.pictures(self.plot)
        return markup.section(f"{self.scenario}, seed {self.seed}", flows, *pictures)
