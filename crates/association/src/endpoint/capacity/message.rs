//! What the two hosts tell each other of a train.

use bentpipe_wire::xstp::ReceiveTimestamp;
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// Datagrams that a train has at most.
pub(in crate::endpoint) const MOST: u8 = 64;

/// A datagram of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::endpoint) struct CapacityProbe {
    /// Which train.
    pub(in crate::endpoint) serial: u32,
    /// Its place in the train, from 0 on, and how many there are.
    pub(in crate::endpoint) index: u8,
    pub(in crate::endpoint) count: u8,
    /// Its length, as what is sealed.
    pub(in crate::endpoint) len: u16,
}

/// When a datagram of a train arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::endpoint) struct Arrival {
    pub(in crate::endpoint) index: u8,
    /// Microseconds after the first one.
    pub(in crate::endpoint) after: u32,
}

/// What arrived of a train.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::endpoint) struct CapacityReport {
    pub(in crate::endpoint) serial: u32,
    /// Microseconds from the last arrival to this report.
    pub(in crate::endpoint) held: u32,
    /// The clock of the receiver at that arrival.
    pub(in crate::endpoint) received_at: ReceiveTimestamp,
    /// In the order in which they came.
    pub(in crate::endpoint) arrivals: Vec<Arrival>,
}

impl CapacityProbe {
    /// Appends it to what begins at `start`, filled up to its length.
    pub(in crate::endpoint) fn put(&self, start: usize, out: &mut BytesMut) {
        out.put_u32(self.serial);
        out.put_u8(self.index);
        out.put_u8(self.count);
        out.resize(out.len().max(start + usize::from(self.len)), 0);
    }

    /// Reads one whose length is `len`.
    pub(in crate::endpoint) fn take(len: u16, mut plain: Bytes) -> Option<Self> {
        let serial = plain.try_get_u32().ok()?;
        let (index, count) = (plain.try_get_u8().ok()?, plain.try_get_u8().ok()?);
        (index < count && count <= MOST).then_some(Self { serial, index, count, len })
    }
}

impl CapacityReport {
    pub(in crate::endpoint) fn put(&self, out: &mut BytesMut) {
        out.put_u32(self.serial);
        out.put_u32(self.held);
        self.received_at.put(out);
        for arrival in &self.arrivals {
            out.put_u8(arrival.index);
            out.put_u32(arrival.after);
        }
    }

    pub(in crate::endpoint) fn take(mut plain: Bytes) -> Option<Self> {
        let (serial, held) = (plain.try_get_u32().ok()?, plain.try_get_u32().ok()?);
        let received_at = ReceiveTimestamp::take(&mut plain)?;
        let mut arrivals = Vec::new();
        while plain.has_remaining() && arrivals.len() < usize::from(MOST) {
            let (index, after) = (plain.try_get_u8().ok()?, plain.try_get_u32().ok()?);
            arrivals.push(Arrival { index, after });
        }
        Some(Self { serial, held, received_at, arrivals })
    }
}
