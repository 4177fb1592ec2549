"""Runs: the tables have what the command prints."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest


def flat(document: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Keys of nested tables joined by `_`."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}_")
        else:
            found[prefix + key] = value
    return found


@pytest.mark.parametrize("name", ["handoff", "s1/geo-vsat"])
def test_flows_and_links_are_those_of_the_command(name: str, printed: Callable[..., Any]) -> None:
    document = printed("run", name, "--json", "--seed", "3", "--set", "duration=20 s")
    run = bp.scenario(name).set("duration", "20 s").run(seed=3)
    assert run.summary == document
    for table, entries in ((run.flows, document["flows"]), (run.links, document["links"])):
        assert len(table) == len(entries) > 0
        for row, entry in zip(table.rows(), entries, strict=True):
            entry = flat(entry)
            entry.setdefault("lost_packet_too_big", 0)
            known = {key: value for key, value in row.items() if value is not None}
            assert known == {key: entry[key] for key in known}
            # Lists are in the summary only.
            left_out = {key for key, value in entry.items() if value is not None} - set(row)
            assert all(key.startswith(("probing", "path_bytes", "lost_packet")) for key in left_out), left_out


def test_the_same_seed_is_the_same_run_and_another_one_another(line: bp.Scenario) -> None:
    one, again, other = (list(line.run(seed=seed).flows.rows()) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_samples_are_taken_when_they_are_asked_for(line: bp.Scenario) -> None:
    run = line.run(seed=1, samples="100 ms")
    samples = run.samples
    assert len(samples) > 5
    assert set(samples["flow"]) == {"file"}
    assert samples["time_s"][:2] == pytest.approx([0.1, 0.2], abs=0.11)
    assert max(samples["delivered_bytes"]) <= 1_000_000
    assert samples["srtt_s"][-1] > 0.1
    assert list(line.run(seed=1, samples=0.1).samples.rows()) == list(samples.rows())
    with pytest.raises(bp.Error, match="ask for them"):
        _ = line.run(seed=1).samples


@pytest.mark.parametrize("wrong", ["50 parsecs", "0 s", -1.0, ""])
def test_a_wrong_time_between_samples_is_named(line: bp.Scenario, wrong: str | float) -> None:
    with pytest.raises(bp.Error, match="samples"):
        line.run(samples=wrong)


def test_a_capture_has_the_links_that_are_asked_for(line: bp.Scenario, tmp_path: Path) -> None:
    all_links, one = tmp_path / "all.pcapng", tmp_path / "one.pcapng"
    geo = bp.scenario("geo").set("flows.file.size", "100 kB")
    geo.run(seed=1, pcap=all_links)
    geo.run(seed=1, pcap=one, pcap_links=["satellite"])
    assert all_links.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    assert all_links.stat().st_size > one.stat().st_size > 100_000
    with pytest.raises(bp.Error, match="did you mean `space`"):
        line.run(pcap=tmp_path / "none.pcapng", pcap_links=["spce"])
    assert not (tmp_path / "none.pcapng").exists()
    with pytest.raises(bp.Error, match="cannot write"):
        line.run(pcap=tmp_path / "no" / "folder.pcapng")


def test_real_bytes_give_the_same_run(line: bp.Scenario) -> None:
    assert line.run(seed=5, wire=True).summary == line.run(seed=5).summary


def test_other_threads_run_meanwhile() -> None:
    # While the interpreter is held by the run, the thread gets no turn: it sees the run begin and end, and nothing between.
    scenario = bp.scenario("geo")
    begun, ended = threading.Event(), threading.Event()
    turns = 0

    def count() -> None:
        nonlocal turns
        begun.wait()
        while not ended.is_set():
            turns += 1

    thread = threading.Thread(target=count)
    thread.start()
    begun.set()
    scenario.run(seed=1)
    ended.set()
    thread.join()
    assert turns > 1000
