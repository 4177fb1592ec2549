#!/usr/bin/env python3
"""Links of an unknown rate that change or have other users, in the simulator: one download through two gateways over links
that jitter, fade, become longer, go down or replay a trace, and two downloads that share a link.

    bench/shared_links.py [--seeds N] [--rows PATTERN] [--controller NAME] [--jobs N]

Prints the share of what the link could carry that the download had (the median over the seeds; of
two that share a link the run of the median index), and the 95th percentile of the delay of a ping on the same way (40 B
each 20 ms), less that of the same link while it is idle. Runs the program that BENTPIPE names, target/dist/bentpipe otherwise.
"""

import argparse
import concurrent.futures
import csv
import hashlib
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field, replace

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("BENTPIPE", str(ROOT / "target/dist/bentpipe"))
# The generated Starlink trace has a median of 104 Mbit/s.
STARLINK_SCALE = 0.48
# The gateways are up for so many seconds before a download that is measured from its beginning.
UP = 60
# Where chance has no other part the rate differs by so much from seed to seed, or what happens by so many seconds.
VARIES = 0.004
LATER = 0.35
# An upload begins so many seconds after the download, more with each seed, or before it.
UPLOADS = 5

GATEWAYS = """
[gateway]
buffer = "20 MB"
controller = "{controller}"
up_before = "{up} s"

[gateway.terminal]
node = "terminal"

[gateway.hub]
node = "hub"

[flows.file]
from = "server"
to = "client"
size = "{size} MB"
request = "100 B"
protocol = "tcp"

[flows.ping]
from = "hub"
to = "terminal"
protocol = "udp"
start = "7 s"
traffic = {{ kind = "cbr", packet = "40 B", interval = "20 ms", count = {pings} }}
"""

UPLOAD = """
[flows.upload]
from = "client"
to = "server"
size = "1 GB"
protocol = "tcp"
start = "{start} s"
"""

OBJECT = """
[flows.object-{number}]
from = "server"
to = "client"
size = "{size} B"
request = "100 B"
protocol = "tcp"
start = "{start} s"
"""

LINES = """
name = "shared"
seed = {seed}
duration = "{duration} s"
nodes = ["client", "terminal", "hub", "server"]

[links.lan]
between = ["client", "terminal"]
delay = "100 us"

[links.internet]
between = ["hub", "server"]
delay = "100 us"

[links.satellite]
between = ["hub", "terminal"]
{link}
"""


@dataclass
class Row:
    """A link, and the stretch of time in which the download is looked at; the whole of it if there is none."""

    name: str
    rate: float
    trip: float
    size: int
    queue: float = 1.0
    settings: str = ""
    # Of the way down: lines of a trace as (time, rate, delay), or a function of the seed that gives them; or one that gives a
    # trace's table.
    steps: object = field(default_factory=list)
    trace: object = None
    reorder: bool = False
    # Beside the download something is sent the other way.
    upload: bool = False
    # Beside the download objects of so many bytes are asked for, one each so many seconds.
    objects: tuple = ()
    seen: tuple = ()
    seen_rate: float = 0.0


def jitter(rate, delay, by):
    def drawn(seed):
        draw = random.Random(seed)
        return [(0.01 * n, rate if n == 0 else None, delay + draw.uniform(0, by)) for n in range(12000)]

    return drawn


def late(rate, delay, by):
    """A tenth of the packets come so much later."""

    def drawn(seed):
        draw = random.Random(seed)
        return [(0.001 * n, rate if n == 0 else None, delay + by * (draw.random() < 0.1)) for n in range(120000)]

    return drawn


def fade(rate, delay):
    return [(0, rate, delay), (20, rate / 5, None), (40, rate, None), (300, rate, None)]


def longer(rate, delay, by):
    return [(0, rate, delay), (20, None, delay + by), (300, rate, None)]


def starlink(seed):
    start = seed * 47 % 230
    down = f'trace = {{ file = "{ROOT}/traces/starlink-down.csv", scale = {STARLINK_SCALE}, start = "{start} s" }}'
    up = f'trace = {{ file = "{ROOT}/traces/starlink-up.csv", start = "{start} s" }}'
    return f"forward = {{ {down} }}\nreturn = {{ {up} }}", start


def bursts(share):
    """Bursts of ten packets that take this share."""
    return f"gilbert_elliott = {{ to_bad = {share * 0.1 / (1 - share)}, to_good = 0.1 }}"


def narrow(queue):
    """64 kbit/s back, and a queue of so many milliseconds."""
    return f'return = {{ rate = "0.064 Mbit/s", queue = "{8 * queue} B" }}'


GEO, LEO = (10.0, 600.0, 30), (20.0, 50.0, 60)
GEO_LONG, LEO_LONG = (10.0, 600.0, 90), (20.0, 50.0, 180)
OUTAGE = 'blackouts = [{ at = "20 s", lasts = "30 s" }]'
ROWS = [
    Row("GEO 10, clean", *GEO),
    Row("GEO 10, 1 % loss", *GEO, settings="loss = 0.01"),
    Row("GEO 10, queue of a tenth", *GEO, queue=0.1),
    Row("GEO 10, queue of a tenth, 1 % loss", *GEO, queue=0.1, settings="loss = 0.01"),
    Row("GEO 10, bursts that take 5 %", *GEO, settings=bursts(0.05)),
    Row("GEO 10, bursts that take 20 %", *GEO, settings=bursts(0.20)),
    Row("GEO 10, jitter of 30 ms", *GEO, steps=jitter(10e6, 0.3, 0.03)),
    Row("GEO 10, jitter of 30 ms, reordering", *GEO, steps=jitter(10e6, 0.3, 0.03), reorder=True),
    Row("GEO 10, a tenth 20 ms late", *GEO, steps=late(10e6, 0.3, 0.02), reorder=True),
    Row("GEO 10, in a fade to a fifth", *GEO_LONG, steps=fade(10e6, 0.3), seen=(26, 40), seen_rate=2.0),
    Row("GEO 10, 2 to 10 s after the fade", *GEO_LONG, steps=fade(10e6, 0.3), seen=(42, 50)),
    Row("GEO 10, 2 to 20 s after 200 ms more", *GEO_LONG, steps=longer(10e6, 0.3, 0.2), seen=(22, 40)),
    Row("GEO 10, 2 to 10 s after an outage", *GEO_LONG, settings=OUTAGE, seen=(52, 60)),
    Row("GEO 10, 64 kbit/s back, beside an upload", *GEO, settings=narrow(600), upload=True),
    Row("the same, 20 kB of queue back", *GEO, settings=narrow(2500), upload=True),
    Row("GEO 10, beside 5 kB twice a second", *GEO, objects=(5000, 0.5)),
    Row("LEO 20, 1 % loss", *LEO, settings="loss = 0.01"),
    Row("LEO 20, beside 20 kB five times a second", *LEO, objects=(20000, 0.2)),
    Row("LEO 20, jitter of 30 ms", *LEO, steps=jitter(20e6, 0.025, 0.03)),
    Row("LEO 20, jitter of 30 ms, reordering", *LEO, steps=jitter(20e6, 0.025, 0.03), reorder=True),
    Row("LEO 20, in a fade to a fifth", *LEO_LONG, steps=fade(20e6, 0.025), seen=(26, 40), seen_rate=4.0),
    Row("LEO 20, 2 to 10 s after the fade", *LEO_LONG, steps=fade(20e6, 0.025), seen=(42, 50)),
    Row("LEO 20, 2 to 20 s after 40 ms more", *LEO_LONG, steps=longer(20e6, 0.025, 0.04), seen=(22, 40)),
    Row("LEO 20, 2 to 10 s after an outage", *LEO_LONG, settings=OUTAGE, seen=(52, 60)),
    Row("Starlink 50, replayed", 50.0, 40.0, 700, trace=starlink, seen=(7, 60)),
]


def product(rate, trip, queue):
    return max(20000, int(rate * trip * 125 * queue))


def link_of(row, seed, folder):
    """The link's lines, and the second of the trace at which the run begins."""
    queue = f'queue = "{product(row.rate, row.trip, row.queue)} B"\n'
    if row.trace:
        lines, start = row.trace(seed)
        return queue + lines, start
    plain = f'rate = "{row.rate} Mbit/s"\ndelay = "{row.trip / 2} ms"\n'
    if not row.steps:
        return queue + plain + row.settings, 0
    steps = row.steps(seed) if callable(row.steps) else row.steps
    file = pathlib.Path(folder) / f"{re.sub('[^a-z0-9]+', '-', row.name.lower())}-{seed}.csv"
    with open(file, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["time_s", "rate_bps", "delay_s"])
        writer.writerows(steps)
    reorder = "true" if row.reorder else "false"
    back = f'rate = "{row.rate} Mbit/s", queue = "{product(row.rate, row.trip, 1)} B", delay = "{row.trip / 2} ms"'
    forward = f'forward = {{ trace = {{ file = "{file}", loop = false, reorder = {reorder} }} }}'
    return f"{queue}{forward}\nreturn = {{ {back} }}\n{row.settings}", 0


def carried(start, stop):
    """Bits that the scaled Starlink trace carries between two of its seconds."""
    bits, rate, up, last = 0.0, 0.0, True, 0.0
    with open(ROOT / "traces/starlink-down.csv", encoding="utf-8") as lines:
        for line in [*csv.DictReader(lines), {"time_s": stop, "rate_bps": "", "up": ""}]:
            at = float(line["time_s"])
            inside = min(at, stop) - max(last, start)
            if inside > 0 and up:
                bits += rate * STARLINK_SCALE * inside
            last = at
            rate = float(line["rate_bps"] or rate)
            up = line["up"] != "0" if line["up"] else up
            if at >= stop:
                break
    return bits


def delivered(samples, at):
    before = [int(line["delivered_bytes"] or 0) for line in samples if float(line["time_s"]) <= at]
    return before[-1] if before else 0


def simulate(text, folder, name):
    """Runs a scenario; gives its summary and its samples."""
    file = pathlib.Path(folder) / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    samples = file.with_suffix(".csv-samples")
    command = [PROGRAM, "run", str(file), "--json", "--samples", str(samples)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    with open(samples, encoding="utf-8") as lines:
        return json.loads(run.stdout), list(csv.DictReader(lines))


def slow_ping(run):
    """The delay in ms that one ping in twenty exceeds."""
    return 1000 * run["flows"][1]["pieces"]["seconds"]["p95"]


def idle_ping(text, duration, folder, name):
    """The same while the link is idle: a trace's delay changes by itself."""
    late = re.sub(r'size = "\d+ MB"', f'size = "1 MB"\nstart = "{duration - 0.1} s"', text, count=1)
    run, _ = simulate(late, folder, f"{name}-idle")
    return slow_ping(run)


def download(row, seed, controller, folder):
    """The share that a download had, and the delay of the ping above that of an empty link in ms."""
    if not row.steps and not row.trace:
        row = replace(row, rate=row.rate * (1 + VARIES * (seed - 3)))
    if row.seen and isinstance(row.steps, list):
        by = LATER * (seed - 3)
        steps = [(at + by if 0 < at < 300 else at, *step) for at, *step in row.steps]
        row = replace(row, steps=steps, seen=tuple(at + by for at in row.seen))
    link, start = link_of(row, seed, folder)
    pings = int(50 * (row.seen[1] - 8)) if row.seen else 1000
    duration = row.seen[1] + 2 if row.seen else 400
    text = LINES.format(seed=seed, duration=duration, link=link) + GATEWAYS.format(
        controller=controller, size=row.size, pings=pings, up=5 if row.seen else UP
    )
    name = f"{re.sub('[^a-z0-9]+', '-', row.name.lower())}-{seed}"
    beside = text
    if row.upload:
        begins = max(0, UPLOADS * (3 - seed))
        late = UPLOADS * max(0, seed - 3)
        beside = text.replace("[flows.file]\n", f'[flows.file]\nstart = "{begins} s"\n') + UPLOAD.format(start=late)
    if row.objects:
        size, apart = row.objects
        starts = [round(0.3 + apart * n, 3) for n in range(int(8e6 * row.size / (row.rate * 1e6) / apart))]
        beside += "".join(OBJECT.format(number=n, size=size, start=start) for n, start in enumerate(starts))
    run, samples = simulate(beside, folder, name)
    flow = run["flows"][0]
    delay = slow_ping(run) - idle_ping(text, duration, folder, name)
    if not row.seen:
        took = flow["connection_time"] if flow["complete"] else float("inf")
        return 8e-6 * row.size * 1e6 / took / row.rate, delay
    file = [line for line in samples if line["flow"] == "file"]
    begin, end = row.seen
    bits = 8 * (delivered(file, end) - delivered(file, begin))
    most = carried(start + begin, start + end) if row.trace else (row.seen_rate or row.rate) * 1e6 * (end - begin)
    return bits / most, delay


SHARED = """
name = "shared"
duration = "{until} s"
nodes = ["server-a", "server-b", "hub", "terminal", "client-a", "client-b"]

[links.satellite]
between = ["hub", "terminal"]
queue = "{queue} B"
{link}
"""
# With a rate: packets that leave at the very moment of an acknowledgement would always find room in a full queue (phase effects,
# Floyd and Jacobson 1991).
LAN = 'rate = "1 Gbit/s"\ndelay = "100 us"'


def beside(rate, trip, link, begins, controllers, folder):
    """What two downloads have in the minute after the second one has come, so many seconds after the first: Mbit/s."""
    text = SHARED.format(queue=product(rate, trip, 1), link=link, until=begins + 60)
    for name, ends in (("a", ("server-a", "hub")), ("b", ("server-b", "hub"))):
        client = ("terminal", f"client-{name}")
        for number, between in enumerate((ends, client)):
            text += f'\n[links.{name}{number}]\nbetween = ["{between[0]}", "{between[1]}"]\n{LAN}\n'
    for name, start, controller in zip("ab", (0, begins), controllers):
        protocol = "tcp" if controller in ("cubic", "bbr") else "bentpipe"
        text += f'\n[flows.{name}]\nfrom = "server-{name}"\nto = "client-{name}"\nsize = "2 GB"\nstart = "{start} s"\n'
        text += f'protocol = "{protocol}"\n[flows.{name}.{protocol}]\ncontroller = "{controller}"\n'
    name = f"beside-{rate}-{hashlib.sha256(link.encode()).hexdigest()[:8]}-{begins}-{'-'.join(controllers)}"
    _, samples = simulate(text, folder, name)
    parts = []
    for name in "ab":
        flow = [line for line in samples if line["flow"] == name]
        parts.append(8e-6 * (delivered(flow, begins + 60) - delivered(flow, begins)) / 60)
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", default=".", help="a pattern for the names of the rows")
    parser.add_argument("--controller", default="steady")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    rows = [row for row in ROWS if re.search(options.rows, row.name)]
    seeds = range(1, options.seeds + 1)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        print("| link | share of the rate | ping, ms more |\n|---|---:|---:|")
        for row in rows:
            runs = list(pool.map(lambda seed, row=row: download(row, seed, options.controller, folder), seeds))
            share, delay = (statistics.median(column) for column in zip(*runs))
            print(f"| {row.name} | {share:.3f} | {delay:.0f} |")
        print("\n| link | first | second, about 10 s later | Mbit/s | Jain's index |\n|---|---|---|---:|---:|")
        own = options.controller
        # Each pair once: they run at the same time, in files of their names.
        pairs = list(dict.fromkeys([(own, own), (own, "cubic"), ("cubic", own), (own, "bbr"), ("bbr", own)]))
        # Where chance has no other part the second one comes later or earlier.
        later = [10 + LATER * (seed - 3) for seed in seeds]
        shared = []
        for name, rate, trip in (("GEO 10", 10, 600), ("LEO 20", 20, 50)):
            link = f'rate = "{rate} Mbit/s"\ndelay = "{trip / 2} ms"'
            shared.append((name, rate, trip, [(link, begins) for begins in later]))
        shared.append(("Starlink 50, replayed", 50, 40, [(starlink(seed)[0], 10) for seed in seeds]))
        for name, rate, trip, links in shared:
            if not re.search(options.rows, name):
                continue
            runs = {pair: [pool.submit(beside, rate, trip, *link, pair, folder) for link in links] for pair in pairs}
            for pair in pairs:
                parts = [run.result() for run in runs[pair]]
                ranked = sorted(((a + b) ** 2 / 2 / (a * a + b * b), a, b) for a, b in parts)
                jain, a, b = ranked[(len(ranked) - 1) // 2]
                print(f"| {name} | {pair[0]} | {pair[1]} | {a:.1f}, {b:.1f} | {jain:.3f} |")


if __name__ == "__main__":
    main()
