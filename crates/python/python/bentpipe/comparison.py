"""Variants beside each other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bentpipe import _native, markup
from bentpipe.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Difference:
    """How much more one variant has than another with the same seed."""

    measure: str
    """What is told of each run: a column of `Comparison.runs`, in its unit."""
    mean: float
    """The mean of the differences."""
    sd: float | None
    """Their standard deviation; none of one pair."""
    ci95: float | None
    """Half width of the 95 % confidence interval of the mean (Student's t); none of one pair."""
    n: int
    """Pairs."""

    @property
    def significant(self) -> bool:
        """The interval does not hold zero."""
        return self.ci95 is not None and abs(self.mean) > self.ci95


class Comparison:
    """A scenario that was run with several variants, each with the same seeds."""

    def __init__(self, native: _native.Comparison) -> None:
        self._native = native

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The document that `bentpipe compare --format json` prints."""
        document: dict[str, Any] = json.loads(self._native.json())
        return document

    @property
    def scenario(self) -> str:
        """Name of the scenario."""
        return self._native.scenario

    @property
    def flows(self) -> list[str]:
        """The flows that were compared."""
        return self._native.flows

    @property
    def replications(self) -> int:
        """Runs of each variant."""
        return self._native.replications

    @property
    def chance(self) -> bool:
        """False when all runs of each variant were the same: there is one of each then."""
        return self._native.chance

    @cached_property
    def ranking(self) -> Table:
        """A row for each variant, the best goodput first: the columns of `bentpipe compare --format csv`."""
        return Table(self._native.ranking())

    @cached_property
    def runs(self) -> Table:
        """A row for each variant and seed: nothing is averaged away."""
        return Table(self._native.runs())

    def paired(self, one: str, other: str, measure: str = "goodput_bps") -> Difference:
        """How much more `one` has than `other` with the same seed, over the seeds for which both have it.

        Raises `Error` where a variant was not compared or there is no such measure."""
        mean, sd, ci95, n = self._native.paired(one, other, measure)
        return Difference(measure, mean, sd, ci95, n)

    def plot(self, *, dark: bool = False) -> Figure:
        """The goodput of each variant: every run, the mean, and its interval. Needs matplotlib."""
        from bentpipe import figures

        return figures.comparison(self, dark=dark)

    def plot_distribution(self, *, dark: bool = False) -> Figure:
        """The empirical distribution of the goodput of each variant. Needs matplotlib 3.8."""
        from bentpipe import figures

        return figures.distribution(self, dark=dark)

    def __repr__(self) -> str:
        best = self.ranking["variant"][0]
        return f"<bentpipe.Comparison on {self.scenario}: {len(self.ranking)} variants, {self.replications} runs each, best {best}>"

    def _repr_html_(self) -> str:
        told = [name for name in self.ranking.column_names if not name.endswith("_ci95") or name.startswith("goodput")]
        title = f"{self.scenario}: {self.replications} runs of each variant"
        ranking = markup.table(told, self.ranking.rows(), len(self.ranking))
        return markup.section(title, ranking, *markup.pictures(self.plot))
