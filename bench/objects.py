#!/usr/bin/env python3
"""How long 100 objects of 100 kB take through two gateways over 10 Mbit/s and 600 ms with bit errors, in the simulator: the client
asks for one each three seconds, the first one a minute after the gateways began.

BENTPIPE is the program; target/dist/bentpipe without it."""

import argparse
import tempfile

from shared_links import LINES, simulate

OBJECTS = 100

LINK = """rate = "10 Mbit/s"
delay = "300 ms"
queue = "750 kB"
ber = {ber}"""

GATEWAYS = """
[gateway.terminal]
node = "terminal"
{rate}

[gateway.hub]
node = "hub"
{rate}
"""

OBJECT = """
[flows.object{number}]
from = "server"
to = "client"
protocol = "tcp"
size = "100 kB"
request = "100 B"
start = "{start} s"
"""


def seconds(mode, ber, seed):
    """What the objects took, the quickest first."""
    rate = 'rate = "10 Mbit/s"' if mode == "dedicated" else ""
    text = LINES.format(seed=seed, duration=400, link=LINK.format(ber=ber)) + GATEWAYS.format(rate=rate)
    text += "".join(OBJECT.format(number=n, start=60 + 3 * n) for n in range(OBJECTS))
    with tempfile.TemporaryDirectory() as folder:
        run, _ = simulate(text, folder, "objects")
    return sorted(flow["connection_time"] if flow["complete"] else float("inf") for flow in run["flows"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--ber", default="1e-5")
    options = parser.parse_args()
    print("| rate | seed | median, s | 90th percentile, s | above 0.75 s |\n|---|---:|---:|---:|---:|")
    for mode in ("dedicated", "shared"):
        for seed in range(1, options.seeds + 1):
            took = seconds(mode, options.ber, seed)
            late = sum(each > 0.75 for each in took)
            print(f"| {mode} | {seed} | {took[OBJECTS // 2]:.3f} | {took[OBJECTS * 9 // 10]:.3f} | {late} |")


if __name__ == "__main__":
    main()
