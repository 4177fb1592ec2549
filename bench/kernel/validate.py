#!/usr/bin/env python3
"""TCP as the simulator has it beside that of the kernel, over the same links: `make validate-kernel`.

Each point runs in `bentpipe run` and, as real programs in network namespaces, in `bentpipe emulate --netns`, with as
many seeds. The kernel's TCP_INFO is read every 100 ms. Needs root. Prints a table: goodput, share of the data
retransmitted, mean and 95th percentile of the smoothed round trip, and what is too far apart.

    validate.py [--seeds N] [--jobs N] [--only PATTERN] [--keep DIR] [--rows FILE] [--plots DIR] [--if-possible]

PATTERN chooses points by their names. DIR keeps what the kernel did, so that another run of the same points compares
with it instead of measuring again. With --plots (and matplotlib) windows and round trips of the points without chance
are drawn into DIR.
"""

import argparse
import concurrent.futures
import csv
import itertools
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECONDS = 60
SETTLE = 0.05
# A point agrees within these bounds: goodput, and retransmissions by a factor or a share of the data.
GOODPUT, FACTOR, SHARE = 0.05, 1.3, 0.005
# No point may be further off, and so many in a hundred agree.
WORST, AGREE = 0.15, 90

LINKS = {
    "GEO 10": (10e6, 0.6),
    "GEO 50": (50e6, 0.6),
    "LEO 20": (20e6, 0.05),
    "100 Mbit/s": (100e6, 0.02),
}
# The default of 4 MiB holds less than the paths of the table: what is compared is the window, not the buffer.
SNDBUF = 64 << 20
RCVBUF = 32 << 20
TUNE = f'sysctl -qw net.ipv4.tcp_wmem="4096 16384 {SNDBUF}" net.ipv4.tcp_rmem="4096 131072 {RCVBUF}"'
# Where merged segments arrive, as here, five eighths of the kernel's receive buffer are window: the most that was under way in any run.
WINDOW = RCVBUF * 5 // 8
NOISE = {"clean": {}, "BER 1e-6": {"ber": "1e-6"}, "1 % loss": {"loss": "0.01"}}
QUEUES = (0.25, 1, 2)
CONTROLS = ("reno", "cubic", "bbr")
OUTAGE = {"blackouts": '[{ at = "20 s", lasts = "3 s" }]'}


class Point:
    """Flows over a link."""

    def __init__(self, link, queue, what, controls, settings=None, size=None):
        self.rate, self.rtt = LINKS[link]
        self.link, self.bdp = link, queue
        self.name = f"{link}, {queue} BDP, {what}, {'+'.join(controls)}"
        self.controls, self.size, self.settings = controls, size, dict(settings or {})
        self.queue = max(int(self.rate * self.rtt / 8 * queue), 20_000)

    def is_chancy(self):
        return any(key in self.settings for key in ("ber", "loss"))

    def is_plain(self):
        return not self.settings and self.size is None and len(self.controls) == 1

    def is_paced(self):
        return any(control.endswith(":paced") for control in self.controls)

    def sets(self):
        values = {
            "rate": f"{self.rate / 1e6:g} Mbit/s",
            "delay": f"{self.rtt * 500:g} ms",
            "queue": f"{self.queue} B",
            "return.queue": f"{self.queue} B",
            **self.settings,
        }
        return [f"links.path.{key}={value}" for key, value in values.items()]


def points():
    for link, queue, (noise, settings), control in itertools.product(LINKS, QUEUES, NOISE.items(), CONTROLS):
        yield Point(link, queue, noise, [control], settings)
    for link, size, control in itertools.product(LINKS, (100_000, 1_000_000), CONTROLS):
        yield Point(link, 1, f"{size // 1000} kB", [control], size=size)
    for link, pair in itertools.product(("GEO 10", "LEO 20"), (("cubic", "cubic"), ("cubic", "bbr"), ("bbr", "bbr"))):
        yield Point(link, 1, "together", list(pair))
    for link, control in itertools.product(("GEO 10", "LEO 20"), CONTROLS):
        yield Point(link, 1, "outage of 3 s", [control], OUTAGE)
        fifth = f'[{{ at = "20 s", lasts = "10 s", rate = "{LINKS[link][0] / 5e6:g} Mbit/s" }}]'
        yield Point(link, 1, "a fifth of the rate for 10 s", [control], {"fades": fifth})
    for link, control in itertools.product(("GEO 10", "LEO 20"), ("reno", "cubic")):
        yield Point(link, 1, "clean", [f"{control}:paced"])


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def kernel_run(point, seed, bentpipe):
    """What the kernel does: for each flow its figures, and its state over time."""
    sets = [word for value in point.sets() for word in ("--set", value)]
    with tempfile.TemporaryDirectory() as work:
        ports = [5001 + n for n in range(len(point.controls))]
        serve = " & ".join(f"python3 {HERE}/flow.py receive {port} > {work}/rx-{port}" for port in ports)
        size = "" if point.size is None else f" {point.size}"
        senders = [
            f"python3 {HERE}/flow.py send {port} {control} {SECONDS}{size} > {work}/tx-{port}"
            for port, control in zip(ports, point.controls)
        ]
        command = [bentpipe, "emulate", f"{HERE}/link.toml", *sets, "--swap", "--seed", str(seed), "--netns"]
        command += ["--server", f"{TUNE}; {serve} & wait", "--", "bash", "-c", f"{TUNE}; " + " & ".join(senders) + " & wait"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{point.name}, seed {seed}: {done.stderr}")
        flows = [kernel_flow(point, f"{work}/tx-{port}", f"{work}/rx-{port}") for port in ports]
    first = min(flow["began"] for flow in flows)
    return [{**flow, "began": flow["began"] - first} for flow in flows]


def lines(path):
    return [json.loads(line) for line in open(path, encoding="utf-8") if line.startswith("{")]


def kernel_flow(point, sent, received):
    sent, received = lines(sent), lines(received)
    begin = next(line["at"] for line in sent if "begins" in line)
    states = [(line["at"] - begin, line["info"]) for line in sent if "info" in line]
    last = states[-1][1]
    if point.size is None:
        arrived = [line["bytes"] for line in received if "bytes" in line and line["at"] - begin <= SECONDS + SETTLE]
        goodput = arrived[-1] * 8 / SECONDS
    else:
        ended = [line["at"] - begin for line in received if "ended" in line]
        goodput = point.size * 8 / ended[0] if ended else 0.0
    srtts = [state["srtt"] / 1e6 for _, state in states if state["srtt"]]
    return {
        "began": begin,
        "goodput": goodput,
        "resent": last["total_retrans"] / max(last["segments"], 1),
        "srtt": statistics.fmean(srtts),
        "srtt95": percentile(srtts, 0.95),
        "states": [
            (at, state["cwnd"], state["srtt"] / 1e6, state["ca_state"], state["unacked"], state["sacked"], state["lost"], state["retrans"])
            for at, state in states
        ],
    }


def simulated_run(point, seed, bentpipe, starts=(0.0,)):
    sets = point.sets() + [f"duration={SECONDS} s"]
    for n, control in enumerate(point.controls):
        flow = f"flows.flow{n}"
        control, _, paced = control.partition(":")
        sets += [f"{flow}.tcp.preset=linux", f"{flow}.tcp.controller={control}"]
        sets += [f"{flow}.tcp.snd_buf={SNDBUF} B", f"{flow}.tcp.rcv_buf={WINDOW} B"]
        sets += [f"{flow}.start={round(starts[n] * 1e9)} ns"]
        if paced:
            sets += [f"{flow}.tcp.pacing=true"]
        if point.size is not None:
            sets += [f"{flow}.size={point.size} B"]
    with tempfile.TemporaryDirectory() as work:
        samples = f"{work}/samples.csv"
        scenario = f"{HERE}/{'link' if len(point.controls) == 1 else 'pair'}.toml"
        command = [bentpipe, "run", scenario, "--seed", str(seed), "--json", "--samples", samples]
        command += [word for value in sets for word in ("--set", value)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{point.name}, seed {seed}: {done.stderr}")
        flows = json.loads(done.stdout)["flows"]
        rows = list(csv.DictReader(open(samples, encoding="utf-8")))
    return [simulated_flow(point, flow, [row for row in rows if row["flow"] == flow["name"]]) for flow in flows]


def simulated_flow(point, flow, rows):
    source = flow["source"]
    ended = flow["connection_time"] or SECONDS
    # The sample behind its end as well: a short flow has no other.
    srtts = [float(row["srtt_s"]) for row in rows if row["srtt_s"] and float(row["time_s"]) <= ended + 0.1]
    states = [
        (float(row["time_s"]), int(row["cwnd_bytes"] or 0) / 1448, float(row["srtt_s"] or 0), row["phase"])
        for row in rows
    ]
    return {
        "goodput": flow["delivered_bytes"] * 8 / SECONDS if point.size is None else flow["effective_throughput"],
        "resent": source["retransmitted_segments"] / max(source["data_segments"], 1),
        "srtt": statistics.fmean(srtts) if srtts else 0.0,
        "srtt95": percentile(srtts, 0.95),
        "states": states,
    }


def kept(point, seed, keep, bentpipe):
    """What the kernel did, from the folder of what was measured before."""
    if keep is None:
        return kernel_run(point, seed, bentpipe)
    place = keep / (re.sub(r"[^A-Za-z0-9.+-]+", "_", point.name) + f".{seed}.json")
    if not place.exists():
        place.write_text(json.dumps(kernel_run(point, seed, bentpipe)), encoding="utf-8")
    return json.loads(place.read_text(encoding="utf-8"))


def simulated_like(point, seed, bentpipe, kernel):
    """Two flows begin as far apart as the kernel's did: by some milliseconds, which decide who is ahead."""
    return simulated_run(point, seed, bentpipe, [flow["began"] for flow in kernel.result()])


def means(runs, flow, key):
    return statistics.fmean(run[flow][key] for run in runs)


def judge(ours, kernels, flow):
    goodput = means(ours, flow, "goodput") / max(means(kernels, flow, "goodput"), 1.0) - 1
    simulated, real = means(ours, flow, "resent"), means(kernels, flow, "resent")
    apart = abs(simulated - real)
    factor = max(simulated, real) / max(min(simulated, real), 1e-9)
    return goodput, abs(goodput) <= GOODPUT and (factor <= FACTOR or apart <= SHARE)


def what_is_missing():
    if os.geteuid() != 0:
        return "root for network namespaces"
    tools = [tool for tool in ("unshare", "ip", "sysctl") if shutil.which(tool) is None]
    available = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="utf-8")
    controls = [control for control in CONTROLS if control not in available.split()]
    return ", ".join(tools + [f"{control} in the kernel" for control in controls])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--only", default=".")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--rows", type=pathlib.Path)
    parser.add_argument("--plots", type=pathlib.Path)
    parser.add_argument("--if-possible", action="store_true", help="skip, and say so, where namespaces cannot be made")
    args = parser.parse_args()
    missing = what_is_missing()
    if missing and args.if_possible:
        print(f"SKIPPED: TCP beside the kernel's needs {missing}")
        return
    if missing:
        sys.exit(f"{sys.argv[0]}: needs {missing}")
    bentpipe = os.environ.get("BENTPIPE", f"{ROOT}/target/dist/bentpipe")
    simulator = os.environ.get("SIMULATOR", bentpipe)
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
    chosen = [point for point in points() if re.search(args.only, point.name)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        seeds = range(1, args.seeds + 1)
        kernels = {point: [pool.submit(kept, point, seed, args.keep, bentpipe) for seed in seeds] for point in chosen}
        runs = []
        for point, real in kernels.items():
            if len(point.controls) > 1:
                ours = [pool.submit(simulated_like, point, seed, simulator, run) for seed, run in zip(seeds, real)]
            else:
                some = seeds if point.is_chancy() else seeds[:1]
                ours = [pool.submit(simulated_run, point, seed, simulator) for seed in some]
            runs.append((point, ours, real))
        failures = report(runs, args.rows)
        if args.plots:
            # Needs matplotlib, which the table does not.
            import plots

            plots.draw(args.plots, [(point, *([run.result() for run in side] for side in sides)) for point, *sides in runs])
    sys.exit(1 if failures else 0)


def report(runs, rows):
    print("| point | goodput, Mbit/s | kernel | difference | retransmitted, % | kernel | srtt, ms | kernel | 95 % | kernel | |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|", flush=True)
    agree, count, worst, kept_rows = 0, 0, 0.0, []
    for point, ours, kernels in runs:
        ours, kernels = [run.result() for run in ours], [run.result() for run in kernels]
        if len(set(point.controls)) < len(point.controls):
            # Which of two equal flows is ahead is chance.
            for run in ours + kernels:
                run.sort(key=lambda flow: flow["goodput"])
        for flow, control in enumerate(point.controls):
            goodput, fits = judge(ours, kernels, flow)
            (agree, count, worst) = (agree + fits, count + 1, max(worst, abs(goodput)))
            figures = [(means(side, flow, key)) for key in ("goodput", "resent", "srtt", "srtt95") for side in (ours, kernels)]
            name = point.name if len(point.controls) == 1 else f"{point.name}: {control}"
            kept_rows.append({"point": name, "figures": figures, "fits": fits})
            print(
                f"| {name} | {figures[0] / 1e6:.3f} | {figures[1] / 1e6:.3f} | {100 * goodput:+.1f} % |"
                f" {100 * figures[2]:.2f} | {100 * figures[3]:.2f} | {1e3 * figures[4]:.0f} | {1e3 * figures[5]:.0f} |"
                f" {1e3 * figures[6]:.0f} | {1e3 * figures[7]:.0f} | {'' if fits else 'no'} |",
                flush=True,
            )
    print(f"\n{agree} of {count} agree, the worst is {100 * worst:.1f} % off")
    if rows:
        rows.write_text(json.dumps(kept_rows, indent=1), encoding="utf-8")
    return agree * 100 < AGREE * count or worst > WORST


if __name__ == "__main__":
    main()
