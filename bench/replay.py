#!/usr/bin/env python3
"""How exactly the emulator keeps to a trace in real time.

A trace with some 100 Mbit/s, of which each millisecond has a number of opportunities drawn at random, is replayed between two
UDP sockets, and more is sent than it carries. The kernel stamps what arrives; each packet belongs to an opportunity. Printed is
how much later than that it came, against the packet that came earliest.

    python3 bench/replay.py [target/dist/bentpipe] [SECONDS]
"""

import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "target/dist/bentpipe"
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 20.0
PAYLOAD = 1500 - 28
# Opportunities of 1,500 bytes in each millisecond: 8.33 are 100 Mbit/s.
COUNTS = [4, 6, 8, 9, 10, 13]
SO_TIMESTAMPNS = 35
SCENARIO = """
name = "replay"
duration = "10 min"
nodes = ["a", "b"]
[links.l]
between = ["a", "b"]
forward = { trace = "trace", queue = "1 GB" }
[flows.f]
from = "a"
to = "b"
protocol = "tcp"
"""


def opportunities(draw):
    ms = 0
    while ms < (SECONDS + 10) * 1000:
        ms += 1
        yield from [ms] * draw.choice(COUNTS)


def receive(server, arrivals, count):
    server.settimeout(5)
    try:
        while len(arrivals) < count:
            _, ancillary, _, _ = server.recvmsg(2048, 64)
            seconds, nanos = struct.unpack("qq", ancillary[0][2])
            arrivals.append(seconds * 1000 + nanos / 1e6)
    except TimeoutError:
        pass


def spread(arrivals, expected):
    late = [a - e for a, e in zip(arrivals, expected)]
    return max(late) - min(late)


def lateness(arrivals, expected):
    late = [a - e for a, e in zip(arrivals, expected)]
    least = min(late)
    return sorted(value - least for value in late)


def main():
    times = list(opportunities(random.Random(1)))
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    server.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE, as root
    server.bind(("127.0.0.1", 0))
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/trace", "w") as file:
            file.writelines(f"{ms}\n" for ms in times)
        with open(f"{folder}/replay.toml", "w") as file:
            file.write(SCENARIO)
        relay = f"127.0.0.1:0=127.0.0.1:{server.getsockname()[1]}"
        command = [PROGRAM, "emulate", f"{folder}/replay.toml", "--swap", "--udp", relay]
        began = time.time() * 1000
        emulator = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = emulator.stderr.readline()
        port = int(re.match(r"127\.0\.0\.1:(\d+) ", said).group(1))
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.connect(("127.0.0.1", port))
        arrivals, count = [], int(SECONDS * 1000 * sum(COUNTS) / len(COUNTS))
        receiver = threading.Thread(target=receive, args=(server, arrivals, count))
        receiver.start()
        packet, sent, start = bytes(PAYLOAD), 0, time.monotonic()
        while sent < count + 20000:
            # A tenth more than the trace carries.
            due = int((time.monotonic() - start) * 1100 * sum(COUNTS) / len(COUNTS)) + 5000
            for _ in range(min(due, count + 20000) - sent):
                client.send(packet)
                sent += 1
            time.sleep(0.001)
        receiver.join()
        emulator.terminate()
        emulator.wait()
    # The opportunity of the first packet: the one from which on the others fit best.
    near = [n for n, ms in enumerate(times) if abs(ms - (arrivals[0] - began)) < 2000]
    windows = [slice(n, n + 200) for n in range(500, len(arrivals) - 200, len(arrivals) // 8)]
    fits = (min(near, key=lambda n: spread(arrivals[w], times[n + w.start:])) for w in windows)
    late = min((lateness(arrivals, times[n:]) for n in set(fits)), key=lambda late: late[len(late) // 2])
    rate = (len(arrivals) - 1) * 12 / (arrivals[-1] - arrivals[0])
    part = lambda share: late[int(share * (len(late) - 1))]
    print(f"{len(arrivals)} of {sent} packets arrived, at {rate:.2f} Mbit/s")
    print("late, ms: " + ", ".join(f"{100 * s:g} % {part(s):.3f}" for s in (0.5, 0.9, 0.95, 0.99, 0.999, 1)))


main()
