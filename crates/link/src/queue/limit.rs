//! How much a queue holds.

use bentpipe_units::ByteCount;

/// How much may wait for the transmitter. The packet in transmission does not count.
///
/// ns-2 leaves the packet in transmission out as well, but its `DropTail` already drops the packet
/// that would make the queue as long as its limit: its `limit_ 50` is 49 packets here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Everything may wait.
    Unlimited,
    /// At most this many packets. With 0 a packet passes only if the transmitter is idle.
    Packets(u32),
    /// Packets of at most this many bytes together.
    Bytes(ByteCount),
}
