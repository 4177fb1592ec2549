"""Figures of results. Axes have a quantity and its unit; legends stand beside the data."""

from __future__ import annotations

from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from bentpipe._native import Error
from bentpipe.style import canvas, legend, styled

if TYPE_CHECKING:
    from bentpipe.comparison import Comparison
    from bentpipe.orbit import Orbit
    from bentpipe.run import Run
    from bentpipe.trace import Trace


def comparison(result: Comparison, *, dark: bool = False) -> Figure:
    """A row for each variant, the best at the top: every run, the mean, and its 95 % interval."""
    with styled(dark) as ink:
        ranking, runs = result.ranking, result.runs
        names = ranking["variant"]
        figure, (axes,) = canvas(1, 0.36 * len(names) + 0.7)
        rows = dict(zip(names, range(len(names)), strict=True))
        axes.scatter(
            [bps / 1e6 for bps in runs["goodput_bps"]],
            [rows[name] for name in runs["variant"]],
            s=14,
            color=ink.hue(5),
            alpha=0.55,
            linewidths=0,
        )
        for row, (mean, ci95) in enumerate(zip(ranking["goodput_bps"], ranking["goodput_bps_ci95"], strict=True)):
            mean, ci95 = mean / 1e6, (ci95 or 0.0) / 1e6
            axes.errorbar(mean, row, xerr=ci95, fmt="|", color=ink.hue(0), markersize=11, capsize=3)
            axes.text(1.01, row, f"{mean:.3g} ", va="center", transform=axes.get_yaxis_transform(), color=ink.text)
        axes.set_yticks(range(len(names)), names)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"goodput, Mbit/s: {result.replications} runs, mean and 95 % interval")
        axes.set_title(result.scenario)
    return figure


def distribution(result: Comparison, *, dark: bool = False) -> Figure:
    """The empirical distribution of the goodput of each variant: which share of its runs was slower than x."""
    with styled(dark) as ink:
        figure, (axes,) = canvas(1, 2.8)
        for number, name in enumerate(result.ranking["variant"]):
            pairs = zip(result.runs["variant"], result.runs["goodput_bps"], strict=True)
            axes.ecdf([bps / 1e6 for variant, bps in pairs if variant == name], color=ink.hue(number), label=name)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"goodput, Mbit/s: {result.replications} runs of each variant")
        axes.set_ylabel("share of the runs, 0 to 1", color=ink.text)
        axes.set_title(result.scenario)
        legend(axes)
    return figure


def run(result: Run, *, dark: bool = False) -> Figure:
    """Goodput, window and round-trip time of each flow over time."""
    samples = result.samples
    names = list(dict.fromkeys(samples["flow"]))
    rows = list(samples.rows())
    with styled(dark) as ink:
        figure, (rate, window, delay) = canvas(3, 1.5)
        for number, name in enumerate(names):
            own = [row for row in rows if row["flow"] == name]
            times = [float(row["time_s"] or 0.0) for row in own]
            delivered = [float(row["delivered_bytes"] or 0) for row in own]
            # What arrives in a part of a round trip says little: the mean of a hundredth of the time.
            width = max(1, len(own) // 100)
            begins = times[::width]
            steps = zip(pairwise(begins), pairwise(delivered[::width]), strict=True)
            megabits = [8e-6 * (b - a) / (to - at) for (at, to), (a, b) in steps]
            color = ink.hue(number)
            rate.plot(begins[1:], megabits, color=color, label=name)
            kilobytes = [nan if row["cwnd_bytes"] is None else float(row["cwnd_bytes"]) / 1e3 for row in own]
            window.plot(times, kilobytes, color=color)
            delay.plot(times, [nan if row["srtt_s"] is None else 1e3 * float(row["srtt_s"]) for row in own], color=color)
        for axes, label in ((rate, "goodput, Mbit/s"), (window, "cwnd, kB"), (delay, "srtt, ms")):
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
        delay.set_xlabel("time, s")
        rate.set_title(f"{result.scenario}, seed {result.seed}")
        if len(names) > 1:
            legend(rate)
    return figure


def orbit(result: Orbit, *, dark: bool = False) -> Figure:
    """The one-way delay over time, the handovers below it, and the delay of a fibre along the great circle."""
    samples = result.samples
    with styled(dark) as ink:
        figure, (axes,) = canvas(1, 2.8)
        delays = [nan if delay is None else 1e3 * delay for delay in samples["delay_s"]]
        axes.plot(samples["time_s"], delays, color=ink.hue(0), drawstyle="steps-post", label="satellites")
        fibre = 1e3 * result.fibre_delay_s
        axes.axhline(fibre, color=ink.hue(1), linestyle="--", linewidth=1.0, label="fibre, great circle")
        stations = list(dict.fromkeys(result.handovers["station"]))
        for number, station in enumerate(stations):
            pairs = zip(result.handovers["time_s"], result.handovers["station"], strict=True)
            times = [time for time, where in pairs if where == station]
            heights = [0.02 + 0.04 * number] * len(times)
            axes.plot(
                times,
                heights,
                "|",
                color=ink.hue(2 + number),
                markersize=7,
                transform=axes.get_xaxis_transform(),
                label=f"handover, {station}",
            )
        axes.set_ylim(bottom=0)
        axes.set_xlabel("time, s")
        axes.set_ylabel("one-way delay, ms", color=ink.text)
        axes.set_title(result.title)
        legend(axes)
    return figure


def trace(result: Trace, *, dark: bool = False) -> Figure:
    """What a trace tells over time: rate, delay, loss and state, each if it is there."""
    table = result.table
    quantities = (
        ("rate_bps", "rate, Mbit/s", 1e-6),
        ("delay_s", "one-way delay, ms", 1e3),
        ("loss", "loss, %", 100.0),
        ("up", "state, 1 is up", 1.0),
    )
    told = [quantity for quantity in quantities if any(value is not None for value in table[quantity[0]])]
    if not told:
        raise Error(f"{result.name}: it tells nothing that could be drawn")
    with styled(dark) as ink:
        figure, rows = canvas(len(told), 1.5)
        times = [*table["time_s"], result.seconds]
        for number, (axes, (column, label, unit)) in enumerate(zip(rows, told, strict=True)):
            values = [nan if value is None else unit * float(value) for value in table[column]]
            axes.plot(times, [*values, values[-1]], color=ink.hue(number), drawstyle="steps-post", linewidth=1.0)
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
        rows[-1].set_xlabel("time, s")
        rows[0].set_title(result.name)
    return figure
