"""Delays, routes and handovers over satellites."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from bentpipe import _native, markup, values
from bentpipe.table import Table
from bentpipe.values import Time

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Orbit:
    """The route between two places, sampled over a time."""

    def __init__(self, title: str, native: _native.Survey) -> None:
        self._title = title
        self._native = native

    @property
    def title(self) -> str:
        """From where to where over what."""
        return self._title

    @property
    def satellites(self) -> int:
        """Number of satellites."""
        return self._native.satellites

    @property
    def start(self) -> str | None:
        """When it starts, in UTC, for the satellites of element sets."""
        return self._native.start

    @property
    def great_circle_km(self) -> float:
        """Length of the great circle between the places."""
        return self._native.great_circle_km

    @property
    def fibre_delay_s(self) -> float:
        """One-way delay of a fibre along it."""
        return self._native.fibre_delay_s

    @cached_property
    def samples(self) -> Table:
        """`time_s`, `delay_s` (one way), `hops` and `route` of each sample; nothing but the time where there is no route."""
        return Table(self._native.samples())

    @cached_property
    def handovers(self) -> Table:
        """`time_s`, `station`, `from` and `to` of each handover at both ends."""
        return Table(self._native.handovers())

    @property
    def summary(self) -> dict[str, float | int | None]:
        """The one-way delay in seconds, the share of samples with a route, and how often something changed."""
        samples, connected, changes = self._native.counts
        least, mean, median, most = self._native.delay_s or (None, None, None, None)
        from_, to = self._native.handover_counts
        return {
            "samples": samples,
            "connected": connected,
            "route_changes": changes,
            "delay_s_min": least,
            "delay_s_mean": mean,
            "delay_s_median": median,
            "delay_s_max": most,
            "handovers_from": from_,
            "handovers_to": to,
        }

    def plot(self, *, dark: bool = False) -> Figure:
        """The delay over time, with the handovers. Needs matplotlib."""
        from bentpipe import figures

        return figures.orbit(self, dark=dark)

    def __repr__(self) -> str:
        return f"<bentpipe.Orbit {self.title}: {len(self.samples)} samples>"

    def _repr_html_(self) -> str:
        summary = self.summary
        told = markup.table(list(summary), [summary], 1)
        return markup.section(self.title, told, *markup.pictures(self.plot))


def orbit(
    constellation: str,
    from_: str,
    to: str,
    *,
    duration: Time = "1 h",
    step: Time = "1 s",
    first: Time = 0.0,
    gateways: Iterable[str] = (),
    policy: str | None = None,
    ground_stations: bool | None = None,
    update_interval: Time = "10 s",
    to_host: bool = False,
    mask: float | None = None,
    isl: int | None = None,
    start: str | None = None,
) -> Orbit:
    """Samples the route between two places, as `bentpipe orbit` does.

    `constellation` is a known one (`bentpipe list constellations`), a TOML file of shells, or a file of element sets. A place is
    a city, `"LAT,LON"` in degrees, or the file of a track. `policy` is how both ends choose satellites: `longest-hold`,
    `highest-elevation`, `shortest-path` or `slots`; without it they do as the operator's terminals. `ground_stations` says
    whether the operator's gateways are there. `mask` is the minimum elevation in degrees; `isl` links each satellite of an element
    set to so many nearest ones; `start` is the time in UTC at which element sets start.

    Raises `Error` where a constellation, a place or an option cannot be."""
    native = _native.survey(
        constellation,
        from_,
        to,
        gateways=list(gateways),
        duration=values.time("duration", duration),
        step=values.time("step", step),
        first=values.time("first", first),
        update_interval=values.time("update_interval", update_interval),
        policy=policy,
        ground_stations=ground_stations,
        to_host=to_host,
        mask=mask,
        isl=isl,
        start=start,
    )
    return Orbit(f"{from_} to {to} over {constellation}", native)
