"""What a controller in Python costs: runs of one scenario with the same law in Rust, told of each acknowledgement, and told of round
trips. Prints seconds of CPU for each run, and nanoseconds for each acknowledgement above those of the law in Rust.

Usage: .venv/bin/python bench/python_controllers.py [SCENARIO]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import bentpipe as bp

sys.path.insert(0, str(Path(__file__).parents[1] / "templates" / "controller-python"))

from gentle import Gentle, GentleByRounds  # noqa: E402

REPETITIONS = 5


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "bench/tcp-geo"
    scenario = bp.scenario(name).with_controllers(Gentle, GentleByRounds)
    flow = scenario.run(seed=1).flows["name"][0]
    times: dict[str, float] = {}
    for controller in ("reno", "gentle-by-rounds", "gentle"):
        chosen = scenario.set({f"flows.{flow}.protocol": "tcp", f"flows.{flow}.tcp.controller": controller})
        if controller != "reno":
            # The law of Reno.
            chosen = chosen.set(f"flows.{flow}.tcp.controller_parameters.beta", 0.5)
        spent = []
        for _ in range(REPETITIONS):
            before = time.process_time()
            run = chosen.run(seed=1)
            spent.append(time.process_time() - before)
        times[controller] = min(spent)
        acks = run.flows["sink_segments_sent"][0]
        goodput = run.flows["effective_throughput"][0] / 1e6
        above = 1e9 * (times[controller] - times["reno"]) / acks
        print(
            f"{controller:18} {times[controller]:8.3f} s, {times[controller] / times['reno']:6.2f} times Rust's run, "
            f"{acks:9,} acks, {above:8.0f} ns more for each, {goodput:8.2f} Mbit/s"
        )


if __name__ == "__main__":
    main()
