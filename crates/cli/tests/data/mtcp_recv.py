"""Listens for MTCP and prints what comes, a line for each bundle."""

import socket
import sys

from pyd3tn.bundle7 import Bundle, BundleProcFlag
from pyd3tn.mtcp import MTCPSocket

with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    print("listening")
    connection, _ = server.accept()
    mtcp = MTCPSocket(connection)
    while True:
        bundle = Bundle.parse(mtcp.recv_bundle())
        primary, payload = bundle.primary_block, bundle.payload_block.data
        if primary.has_flag(BundleProcFlag.ADMINISTRATIVE_RECORD):
            record = Bundle.parse_administrative_record(payload)
            delivered = record["record_data"][0][2][0]
            print(f"report from {primary.source}: delivered {delivered}")
        else:
            print(f"{primary.source} to {primary.destination}: {len(payload)} bytes, {sum(payload)}")
