"""A call over UDP: `serve ADDRESS PORT` answers each datagram with 50 datagrams of 172 bytes a second for as many seconds as it says,
`ask ADDRESS PORT SECONDS` asks for that and prints how many were sent, how many did not arrive, and the milliseconds that half of
all that were sent, 99 of 100 and the latest took one way. Both run on one machine, whose clock all its namespaces have.
"""

import math
import socket
import struct
import sys
import time

APART = 0.02
LENGTH = 172
HEAD = struct.Struct("!Id")


def serve(address):
    answering = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    answering.bind(address)
    while True:
        asked, client = answering.recvfrom(2048)
        begin = time.monotonic()
        for number in range(int(float(asked) / APART)):
            time.sleep(max(0.0, begin + number * APART - time.monotonic()))
            answering.sendto(HEAD.pack(number, time.monotonic()).ljust(LENGTH, b"\0"), client)


def ask(address, seconds):
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asking.settimeout(3)
    asking.sendto(str(seconds).encode(), address)
    took = {}
    try:
        while True:
            number, left = HEAD.unpack_from(asking.recv(2048))
            took.setdefault(number, 1000 * (time.monotonic() - left))
    except TimeoutError:
        pass
    sent = int(seconds / APART)
    # What did not arrive took for ever.
    late = sorted(took.values()) + [math.inf] * (sent - len(took))
    part = [late[math.ceil(sent * share) - 1] for share in (0.5, 0.99, 1)]
    print(sent, sent - len(took), *(f"{each:.0f}" for each in part))


if __name__ == "__main__":
    role, address = sys.argv[1], (sys.argv[2], int(sys.argv[3]))
    serve(address) if role == "serve" else ask(address, float(sys.argv[4]))
