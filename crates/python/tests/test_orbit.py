"""Orbits: delays, routes and handovers as the command has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bentpipe as bp
import pytest


def test_a_survey_is_that_of_the_command(printed: Callable[..., Any]) -> None:
    ends = ["--from", "Berkeley", "--to", "Boston"]
    document = printed("orbit", "iridium", *ends, "--duration", "20 min", "--step", "10 s", "--json")
    found = bp.orbit("iridium", "Berkeley", "Boston", duration="20 min", step=10)
    summary = found.summary
    assert found.satellites == document["satellites"]
    assert (summary["samples"], summary["connected"]) == (document["samples"], document["connected"]) == (120, 120)
    for name in ("min", "mean", "median", "max"):
        assert summary[f"delay_s_{name}"] == pytest.approx(document["delay_ms"][name] / 1e3)
    assert list(found.handovers.rows()) == document["handovers"]
    assert found.great_circle_km == pytest.approx(4300, rel=0.05)


def test_samples_have_the_route(printed: Callable[..., Any]) -> None:
    found = bp.orbit("iridium", "Berkeley", "Boston", duration=60, step="20 s")
    assert found.samples["time_s"] == [0.0, 20.0, 40.0]
    for route, hops in zip(found.samples["route"], found.samples["hops"], strict=True):
        nodes = route.split(" > ")
        assert (nodes[0], nodes[-1], len(nodes) - 1) == ("Berkeley", "Boston", hops)


def test_a_policy_and_stations_change_the_route() -> None:
    def median(**options: Any) -> float:
        found = bp.orbit("starlink", "London", "Boston", duration="1 min", step="5 s", **options)
        return float(found.summary["delay_s_median"] or 0)

    assert median(policy="shortest-path", ground_stations=False) < median(policy="longest-hold", ground_stations=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("iridum", "Oslo", "Rome"), "did you mean `iridium`"),
        (("iridium", "Osol", "Rome"), "from_: "),
        (("iridium", "Oslo", "Romme"), "to: "),
        (("iridium", "Oslo", "Rome", {"policy": "longest"}), "policy: `longest` is none of"),
        (("iridium", "Oslo", "Rome", {"step": "0 s"}), "more than 0 s"),
        (("iridium", "Oslo", "Rome", {"duration": 0}), "duration: it must be more than 0 s"),
        (("iridium", "Oslo", "Rome", {"ground_stations": True}), "ground_stations: none are known of iridium"),
        (("iridium", "Oslo", "Rome", {"mask": 95.0}), "mask: 95"),
        (("starlink", "80,0", "Rome"), "no satellite of starlink ever"),
    ],
)
def test_what_cannot_be_is_said(arguments: tuple[Any, ...], said: str) -> None:
    *places, options = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    with pytest.raises(bp.Error) as error:
        bp.orbit(*places, **options)
    assert said in str(error.value)
