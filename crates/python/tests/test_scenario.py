"""Scenarios: what can be asked and set, and what is said of what cannot be."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path

import bentpipe as bp
import pytest


def test_a_scenario_is_a_name_a_file_or_a_text(line: bp.Scenario, line_file: Path) -> None:
    assert bp.scenario("geo").name == "geo"
    assert bp.scenario(line_file).text == line.text
    assert "geo" in bp.scenarios() and bp.scenario("geo").description == bp.scenarios()["geo"]
    assert bp.schema()["title"]


def test_values_of_every_kind_can_be_set_and_the_scenario_itself_stays(line: bp.Scenario) -> None:
    changed = line.set("links.space.loss", 0.01).set(
        {
            "links.space.delay": "20 ms",
            "flows.file.tcp": {"mss": 1000, "sack": True, "controller": "cubic"},
            "links.space.blackouts": [["1 s", "1500 ms"]],
        }
    )
    assert "loss = 0.01" in changed.text and "controller" in changed.text
    assert "0.01" not in line.text
    assert changed.run(seed=1).flows["controller"] == ["cubic"]


def test_a_text_is_a_text_whatever_is_in_it(line: bp.Scenario) -> None:
    for odd in ['a "quoted" name', "true", "back\\slash", "ümlaut 🛰", "\x7f\n"]:
        assert bp.scenario(toml=line.set("description", odd).text).description == odd


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("links.spce.delay", "1 ms", "did you mean `space`?"),
        ("links.space.dealy", "1 ms", "did you mean `delay`?"),
        ("links.space.loss", 2, "`links.space.loss`"),
        ("links.space.rate", "10 parsecs", "parsecs"),
    ],
)
def test_what_cannot_be_set_is_said_with_key_and_value(line: bp.Scenario, key: str, value: str, said: str) -> None:
    with pytest.raises(bp.Error, match="--set") as error:
        line.set(key, value)
    assert said in str(error.value) and str(value) in str(error.value)
    assert isinstance(error.value, ValueError)


def test_the_message_is_that_of_the_command(
    command: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    with pytest.raises(bp.Error) as error:
        bp.scenario("goe")
    done = command("run", "goe")
    assert done.returncode == 2
    assert str(error.value) in done.stderr


def test_a_scenario_travels_to_another_process_as_it_is(line: bp.Scenario) -> None:
    changed = line.set("links.space.delay", "20 ms")
    copy = pickle.loads(pickle.dumps(changed))
    assert copy.text == changed.text
    assert list(copy.run(seed=4).flows.rows()) == list(changed.run(seed=4).flows.rows())


def test_two_places_and_a_constellation_are_a_scenario() -> None:
    over = bp.over("iridium", "Berkeley", "Boston").set("duration", "20 s")
    run = over.run(seed=1)
    assert run.routes is not None and run.routes["delay"][0] > 0.01
    assert run.handovers is not None and run.handovers.column_names == ["at", "station", "from", "to"]
    with pytest.raises(bp.Error, match="did you mean `iridium`"):
        bp.over("iridum", "Berkeley", "Boston")
