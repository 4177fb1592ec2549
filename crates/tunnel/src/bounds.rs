//! What a tunnel may hold.

use bentpipe_units::ByteCount;

/// Bytes that the parts of a tunnel may hold: bodies of packets and datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// What waits to be sent.
    pub(crate) waiting: usize,
    /// What was sent and may have to be sent a second time.
    pub(crate) under_way: usize,
    /// What came and may be needed to make good what was lost.
    pub(crate) came: usize,
    /// What waits for datagrams of its flow that were sent before it.
    pub(crate) unordered: usize,
}

impl Bounds {
    /// The parts of so many bytes.
    pub(crate) fn of(memory: ByteCount) -> Self {
        let fifth = usize::try_from(memory.get() / 5).unwrap_or(usize::MAX / 5);
        Self { waiting: fifth, under_way: 2 * fifth, came: fifth, unordered: fifth }
    }
}

impl Default for Bounds {
    /// Those of 40 MiB.
    fn default() -> Self {
        Self::of(ByteCount::new(40 << 20))
    }
}
