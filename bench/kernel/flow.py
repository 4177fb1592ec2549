#!/usr/bin/env python3
"""One end of a measured flow of the kernel's TCP; bench/kernel/validate.py runs it behind the emulator.

    flow.py receive PORT              counts what arrives, on every connection, until it is ended
    flow.py send PORT CONTROL SECONDS [BYTES [AFTER]]
                                      sends for so long, or so many bytes, and samples TCP_INFO every 100 ms;
                                      with CONTROL as `cubic:paced` the kernel paces it, as `fq` would

Both print lines of JSON with the time of CLOCK_MONOTONIC, which all namespaces share. Needs nothing but Python.
"""

import json
import select
import socket
import struct
import sys
import time

SERVER = "10.53.0.2"
SO_MAX_PACING_RATE = 47
STEP = 0.1
CHUNK = bytes(1 << 16)
# Offsets in struct tcp_info of <linux/tcp.h>.
FIELDS = {
    "ca_state": ("B", 1),
    "unacked": ("I", 24),
    "sacked": ("I", 28),
    "lost": ("I", 32),
    "retrans": ("I", 36),
    "srtt": ("I", 68),
    "rttvar": ("I", 72),
    "ssthresh": ("I", 76),
    "cwnd": ("I", 80),
    "total_retrans": ("I", 100),
    "pacing_rate": ("Q", 104),
    "bytes_acked": ("Q", 120),
    "min_rtt": ("I", 148),
    "segments": ("I", 156),
    "delivery_rate": ("Q", 160),
    "rwnd_limited": ("Q", 176),
    "sndbuf_limited": ("Q", 184),
    "dsacks": ("I", 216),
    "reorderings": ("I", 220),
    "snd_wnd": ("I", 228),
}


def say(**line):
    print(json.dumps({"at": time.clock_gettime(time.CLOCK_MONOTONIC), **line}), flush=True)


def info(connection):
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return {name: struct.unpack_from("=" + kind, raw, at)[0] for name, (kind, at) in FIELDS.items() if at + 8 <= len(raw)}


def receive(port):
    listener = socket.create_server((SERVER, port), backlog=64)
    counted, total, due = {}, 0, 0.0
    while True:
        readable, _, _ = select.select([listener, *counted], [], [], STEP)
        for ready in readable:
            if ready is listener:
                connection, _ = listener.accept()
                counted[connection] = 0
                continue
            taken = len(ready.recv(1 << 20))
            counted[ready] += taken
            total += taken
            if taken == 0:
                say(ended=counted.pop(ready))
                ready.close()
        if time.monotonic() >= due:
            say(bytes=total)
            due = time.monotonic() + STEP


def send(port, control, seconds, size=None):
    connection = socket.socket()
    control, _, paced = control.partition(":")
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    if paced:
        # Any limit makes the kernel pace; this one is never reached.
        connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("=Q", 1 << 40))
    say(begins=True)
    began = time.monotonic()
    connection.connect((SERVER, port))
    connection.setblocking(False)
    left, due, ends = size, began, began + seconds
    while (now := time.monotonic()) < ends and left != 0:
        if now >= due:
            say(info=info(connection))
            due += STEP
        _, writable, _ = select.select([], [connection], [], max(0.0, min(due, ends) - time.monotonic()))
        # All that fits, as a writer that blocks would.
        while writable and left != 0:
            try:
                taken = connection.send(CHUNK[:left])
            except BlockingIOError:
                break
            left = None if left is None else left - taken
    if size is not None:
        connection.setblocking(True)
        connection.shutdown(socket.SHUT_WR)
        # The peer closes when it has everything.
        connection.settimeout(max(0.1, ends - time.monotonic()))
        try:
            connection.recv(1)
        except TimeoutError:
            pass
    say(info=info(connection))


def main():
    if sys.argv[1] == "receive":
        receive(int(sys.argv[2]))
    port, control, seconds, *size = sys.argv[2:]
    send(int(port), control, float(seconds), int(size[0]) if size else None)


main()
