"""Sends bundles of these sizes to dtn://here/mail over MTCP and prints the sum of the bytes of each."""

import sys

from pyd3tn.bundle7 import BundleProcFlag, CRCType, serialize_bundle7
from pyd3tn.mtcp import MTCPConnection

port, sizes = int(sys.argv[1]), [int(size) for size in sys.argv[2:]]
with MTCPConnection("127.0.0.1", port) as connection:
    for number, size in enumerate(sizes):
        payload = bytes((number + 3 * at) % 256 for at in range(size))
        bundle = serialize_bundle7(
            "dtn://py/mail",
            "dtn://here/mail",
            payload,
            report_to_eid="dtn://py/reports",
            crc_type_primary=CRCType.CRC32,
            crc_type_canonical=CRCType.CRC16,
            flags=BundleProcFlag.REPORT_DELIVERY,
        )
        connection.send_bundle(bundle)
        print(sum(payload))
