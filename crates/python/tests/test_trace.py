"""Traces: read, made, merged, written and replayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest


def test_the_traces_of_the_package_are_those_of_the_command(printed: Callable[..., Any]) -> None:
    assert "starlink-down" in bp.traces()
    found = bp.trace("starlink-down")
    assert found.summary == printed("trace", "info", "starlink-down", "--json")
    assert found.seconds == 300.0
    assert found.table.column_names == ["time_s", "rate_bps", "delay_s", "loss", "up"]


def test_each_row_has_all_that_holds() -> None:
    found = bp.Trace.of({"time_s": [0, 1, 2], "rate_bps": [1e6, None, None], "up": [True, None, False]})
    assert set(found.table["rate_bps"]) == {1e6}
    assert found.table["up"][-1] is False
    assert found.table["delay_s"] == [None] * len(found.table)


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_trace_is_the_same_when_it_is_read_again(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"down.{end}"
    first = bp.trace("starlink-down")
    first.write(path)
    again = bp.trace(path)
    assert again.summary == first.summary
    assert list(again.table.rows()) == list(first.table.rows())


def test_a_rate_goes_beside_a_delay() -> None:
    rate = bp.Trace.of({"time_s": [0, 5], "rate_bps": [1e6, 2e6]})
    delay = bp.Trace.of({"time_s": [0, 5], "delay_s": [0.02, 0.03]})
    both = rate.merge(delay)
    assert list(both.table.rows())[-1] == {"time_s": 5.0, "rate_bps": 2e6, "delay_s": 0.03, "loss": None, "up": None}


def test_what_ping_printed_becomes_a_trace(tmp_path: Path) -> None:
    ping = tmp_path / "ping.txt"
    lines = [f"[{1000 + n}.0] 64 bytes from 192.0.2.1: icmp_seq={n} ttl=50 time={40 + n % 2} ms" for n in range(1, 20)]
    ping.write_text("PING 192.0.2.1 56(84) bytes of data.\n" + "\n".join(lines) + "\n")
    found = bp.trace(ping, format="ping")
    assert set(found.table["delay_s"]) == {0.02, 0.0205}
    with pytest.raises(bp.Error, match="`pong` is none of ping, "):
        bp.trace(ping, format="pong")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_link_replays_it(line: bp.Scenario, tmp_path: Path) -> None:
    path = tmp_path / "down.csv"
    bp.Trace.of({"time_s": [0, 0.5, 2.5, 100], "up": [True, False, True, True]}).write(path)
    always = line.run(seed=1).flows["connection_time"][0]
    broken = line.set("links.space.trace", str(path)).run(seed=1).flows["connection_time"][0]
    assert broken > always + 1


def test_what_is_no_trace_is_said_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(bp.Error, match="there come with the program starlink-down"):
        bp.trace("starlnk")
    with pytest.raises(bp.Error, match="`rate`"):
        bp.Trace.of({"time_s": [0], "rate": [1]})
    with pytest.raises(bp.Error, match="line 3"):
        bp.Trace.of({"time_s": [0, 0], "rate_bps": [1, 1]})
    with pytest.raises(bp.Error, match="cannot write"):
        bp.trace("geo-rain").write(tmp_path / "no" / "folder.csv")
