"""Controllers that the tests compare."""

from __future__ import annotations

import bentpipe as bp


class Halving(bp.Controller):
    """Reno, as short as it can be."""

    summary = "slow start, then a segment per round trip; halves on a loss"
    parameters = {"beta": bp.Parameter(0.5, 0.1, 1.0, summary="what a loss leaves of the window")}

    def __init__(self, build: bp.Build) -> None:
        super().__init__(build)
        self.beta = build.parameters["beta"]
        self.ssthresh = float("inf")
        self.window = float(build.cwnd_init)

    def on_ack(self, path: bp.Path, ack: bp.Ack) -> None:
        if ack.in_recovery or not path.cwnd_limited:
            return
        self.window += ack.bytes if self.window < self.ssthresh else path.mss * ack.bytes / self.window
        self.cwnd = self.window

    def on_loss(self, path: bp.Path, loss: bp.Loss) -> None:
        if loss.new_episode:
            self.ssthresh = max(self.window * self.beta, 2.0 * path.mss)
            self.window = path.mss if loss.cause == "timeout" else self.ssthresh
            self.cwnd = self.window


class HalvingByRounds(bp.RoundController):
    """The same, told once in a round trip."""

    name = "halving-by-rounds"

    def __init__(self, build: bp.Build) -> None:
        super().__init__(build)
        self.growth = 1.0

    def on_round(self, path: bp.Path, round: bp.Round) -> None:
        window = float(self.cwnd or 0)
        if round.loss:
            self.cwnd = max(window / 2, 2.0 * path.mss)
            window = self.cwnd
            self.growth = 0.0
        if self.growth < 1.0:
            self.growth = path.mss / window


class Paced(bp.Controller):
    """A rate that stays, whatever happens."""

    def __init__(self, build: bp.Build) -> None:
        self.cwnd, self.pacing = None, 4e6

    def on_ack(self, path: bp.Path, ack: bp.Ack) -> None: ...

    def on_loss(self, path: bp.Path, loss: bp.Loss) -> None: ...
