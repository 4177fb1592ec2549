"""One TCP stream, with the kernel's MPTCP where that is wanted.

A server sends to each client as many bytes as it asks for; a client prints bytes, seconds from the call to the last byte,
and the longest time in seconds without one. The bytes are checked.
"""

import argparse
import socket
import threading
import time

PIECE = bytes(range(251)) * 256


def open_socket(mptcp: bool) -> socket.socket:
    """A TCP socket, or one of MPTCP (RFC 8684)."""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP if mptcp else 0)


def serve_client(client: socket.socket) -> None:
    """Sends what a client asks for."""
    with client:
        left = int(client.makefile().readline())
        while left > 0:
            piece = PIECE[:left]
            client.sendall(piece)
            left -= len(piece)


def serve(port: int, mptcp: bool) -> None:
    """Serves clients for ever."""
    with open_socket(mptcp) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("0.0.0.0", port))
        listener.listen()
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve_client, args=(client,), daemon=True).start()


def fetch(address: str, port: int, size: int, mptcp: bool) -> tuple[float, float]:
    """Downloads so many bytes. Returns the seconds that took, and the longest pause."""
    began = last = time.monotonic()
    pause, got = 0.0, 0
    with open_socket(mptcp) as server:
        server.connect((address, port))
        server.sendall(f"{size}\n".encode())
        while got < size:
            came = server.recv(1 << 18)
            if not came:
                raise SystemExit(f"the stream ends after {got} of {size} bytes")
            now = time.monotonic()
            pause, last = max(pause, now - last), now
            start = got % len(PIECE)
            if came != (PIECE[start:] + PIECE * (len(came) // len(PIECE) + 1))[: len(came)]:
                raise SystemExit(f"bytes behind {got} are not what was sent")
            got += len(came)
    return time.monotonic() - began, pause


def main() -> None:
    """Is the server or the client."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=["server", "client"])
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--bytes", type=int, default=0)
    parser.add_argument("--mptcp", action="store_true")
    given = parser.parse_args()
    if given.role == "server":
        serve(given.port, given.mptcp)
    took, pause = fetch(given.address, given.port, given.bytes, given.mptcp)
    print(given.bytes, round(took, 3), round(pause, 3))


if __name__ == "__main__":
    main()
