"""Controllers of one's own."""

from __future__ import annotations

import pickle

import bentpipe as bp
import pytest
from controllers import Halving, HalvingByRounds, Paced


def test_a_class_is_compared_beside_those_in_rust(line: bp.Scenario) -> None:
    compared = line.compare(["tcp-reno", Halving, HalvingByRounds], seeds=5)
    assert sorted(compared.ranking["variant"]) == ["tcp-halving", "tcp-halving-by-rounds", "tcp-reno"]
    goodput = dict(zip(compared.ranking["variant"], compared.ranking["goodput_bps"], strict=True))
    assert goodput["tcp-halving"] == pytest.approx(goodput["tcp-halving-by-rounds"], rel=0.1)
    assert 0.5 < goodput["tcp-halving"] / goodput["tcp-reno"] < 2, goodput


def test_a_scenario_names_a_class_with_its_parameters(line: bp.Scenario) -> None:
    known = line.with_controllers(Halving).set("flows.file.tcp.controller", "halving")
    run = known.run(seed=1, samples="100 ms")
    assert run.flows["controller"] == ["halving"]
    assert set(run.samples["phase"]) == {"python"}
    gentle = known.set("flows.file.tcp.controller_parameters.beta", 0.9).run(seed=1)
    assert gentle.flows["connection_time"][0] < run.flows["connection_time"][0]
    with pytest.raises(bp.Error, match=r"must lie in 0.1..=1"):
        known.set("flows.file.tcp.controller_parameters.beta", 2.0)
    with pytest.raises(bp.Error, match="did you mean `beta`"):
        known.set("flows.file.tcp.controller_parameters.betta", 0.5)


def test_the_same_seed_is_the_same_run(line: bp.Scenario) -> None:
    one, two = (line.compare([Halving, HalvingByRounds], seeds=3, jobs=jobs).summary for jobs in (1, 2))
    assert one == two


def test_a_pace_holds_back_the_sender(line: bp.Scenario) -> None:
    run = line.set("links.space.loss", 0).with_controllers(Paced).set("flows.file.tcp.controller", "paced").run(seed=1)
    assert 3e6 < run.flows["effective_throughput"][0] < 4e6


def test_an_exception_ends_the_run_as_it_was_raised(line: bp.Scenario) -> None:
    class Broken(Halving):
        name = "broken"

        def on_loss(self, path: bp.Path, loss: bp.Loss) -> None:
            raise ZeroDivisionError("a window of nothing")

    with pytest.raises(ZeroDivisionError, match="a window of nothing"):
        line.compare([Broken], seeds=2)
    # The next run is told nothing of it.
    assert line.compare([Halving], seeds=1).ranking["complete"] == [1]


@pytest.mark.parametrize(
    ("cwnd", "said"),
    [(None, "one of them must be a number"), (float("nan"), "neither bytes nor bit/s"), (-1.0, "neither bytes")],
)
def test_a_window_that_cannot_be_is_said(line: bp.Scenario, cwnd: float | None, said: str) -> None:
    class Odd(Halving):
        def on_ack(self, path: bp.Path, ack: bp.Ack) -> None:
            self.cwnd = cwnd

    with pytest.raises(bp.Error, match=said):
        line.compare([Odd], seeds=1)


def test_growth_that_cannot_be_is_said(line: bp.Scenario) -> None:
    class Wild(HalvingByRounds):
        name = "wild"

        def on_round(self, path: bp.Path, round: bp.Round) -> None:
            self.growth = 100.0

    with pytest.raises(bp.Error, match="growth: 100 does not lie in"):
        line.compare([Wild], seeds=1)


def test_names_must_be_new_and_sayable(line: bp.Scenario) -> None:
    class Cubic(Halving): ...

    class Odd(Halving):
        name = "an odd name"

    with pytest.raises(bp.Error, match="controller `cubic`: there is one of this name already"):
        line.compare([Cubic])
    with pytest.raises(bp.Error, match="controller `an odd name`"):
        line.with_controllers(Odd)
    with pytest.raises(bp.Error, match="did you mean `halving`"):
        line.with_controllers(Halving).compare(["tcp-halvin"])


def test_a_class_that_does_not_say_what_it_does_is_named(line: bp.Scenario) -> None:
    class Lazy(bp.Controller): ...

    with pytest.raises(NotImplementedError, match=r"Lazy\.on_ack"):
        line.compare([Lazy], seeds=1)


def test_signals_come_to_those_who_want_them(line: bp.Scenario) -> None:
    heard: list[str] = []

    class Listening(Halving):
        def on_signal(self, path: bp.Path, signal: str, value: float | None) -> None:
            heard.append(signal)

    line.compare([Listening], seeds=1)
    assert "recovery_done" in heard


def test_a_scenario_with_a_class_travels_to_another_process(line: bp.Scenario) -> None:
    known = line.with_controllers(Halving).set("flows.file.tcp.controller", "halving")
    copy = pickle.loads(pickle.dumps(known))
    assert copy.run(seed=2).summary == known.run(seed=2).summary
