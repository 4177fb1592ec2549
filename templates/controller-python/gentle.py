"""A controller in two forms: slow start, then a segment per round trip; a loss takes little."""

from __future__ import annotations

import sys

import bentpipe as bp

BETA = bp.Parameter(0.9, 0.1, 1.0, summary="what a loss leaves of the window")


class Gentle(bp.Controller):
    """Told of each acknowledgement."""

    parameters = {"beta": BETA}

    def __init__(self, build: bp.Build) -> None:
        super().__init__(build)
        self.window = float(build.cwnd_init)
        self.ssthresh = float("inf")
        self.beta = build.parameters["beta"]

    def on_ack(self, path: bp.Path, ack: bp.Ack) -> None:
        if ack.in_recovery or not path.cwnd_limited:
            return
        slow_start = self.window < self.ssthresh
        self.window += ack.bytes if slow_start else path.mss * ack.bytes / self.window
        self.cwnd = self.window

    def on_loss(self, path: bp.Path, loss: bp.Loss) -> None:
        if loss.new_episode:
            self.ssthresh = max(self.beta * self.window, 2.0 * path.mss)
            self.window = path.mss if loss.cause == "timeout" else self.ssthresh
            self.cwnd = self.window


class GentleByRounds(bp.RoundController):
    """Told of each round trip, and of each new loss."""

    name = "gentle-by-rounds"
    parameters = {"beta": BETA}

    def __init__(self, build: bp.Build) -> None:
        super().__init__(build)
        self.window = float(build.cwnd_init)
        self.ssthresh = float("inf")
        self.beta = build.parameters["beta"]
        self.growth = 1.0

    def on_round(self, path: bp.Path, round: bp.Round) -> None:
        # What it has grown to meanwhile.
        window = self.cwnd or self.window
        if round.loss:
            self.ssthresh = max(self.beta * window, 2.0 * path.mss)
            window = path.mss if round.loss == "timeout" else self.ssthresh
        self.cwnd = self.window = window
        self.growth = 1.0 if window < self.ssthresh else path.mss / window


def main() -> None:
    scenario = bp.scenario(sys.argv[1] if len(sys.argv) > 1 else "geo")
    compared = scenario.compare([Gentle, GentleByRounds, "cubic", "reno", "bbr"], seeds=10)
    for row in compared.ranking.rows():
        print(f"{row['variant']:20} {row['goodput_bps'] / 1e6:8.3f} Mbit/s")
    compared.plot().savefig("compared.svg")


if __name__ == "__main__":
    main()
