//! What the two ends of a tunnel say to each other.

use bentpipe_units::{Seq32, Span};
use bentpipe_wire::xstp::ReceiveTimestamp;
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::schedule::PATHS;

/// Bytes of a packet besides its body, and of parity besides its shard.
pub(crate) const PACKET_HEADER: usize = 8;
pub(crate) const PARITY_HEADER: usize = 9;
/// The lowest bits of a run, which name the path.
pub(crate) const PATH_BITS: u16 = PATHS as u16 - 1;
/// Most ranges that a report names.
pub(crate) const RANGES: usize = 128;

/// Datagrams and parts of datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Which run of the sender's part, its lowest three bits the path: numbers of another one mean others.
    pub run: u16,
    /// Its number; parity is numbered with packets.
    pub seq: Seq32,
    /// How long a receiver waits for what comes before it, in milliseconds.
    pub hold: u16,
    /// One byte that says how far back the packet before it lies, for parity may be between them; two that say how many
    /// of the rest belong to a datagram that began there or earlier; these; datagrams.
    pub body: Bytes,
}

/// One of the parity packets that follow a block of packets: Reed-Solomon over their bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parity {
    /// As in [`Packet::run`].
    pub run: u16,
    /// Its number.
    pub seq: Seq32,
    /// Packets of the block, which come right before its first parity.
    pub of: u8,
    /// Parity packets of the block.
    pub count: u8,
    /// Which of them it is.
    pub index: u8,
    /// As long as the longest body with its length in front.
    pub shard: Bytes,
}

/// Packets and parity that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// How far the first one lies before [`Report::next`].
    pub before: u16,
    /// How many.
    pub count: u16,
}

/// What arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The run that it is about.
    pub run: u16,
    /// One more than the highest number that came.
    pub next: Seq32,
    /// Time since that one came, in microseconds.
    pub held: u32,
    /// The clock of the receiver then.
    pub received_at: ReceiveTimestamp,
    /// What is missing before it, the newest first.
    pub missing: Vec<Range>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Datagrams.
    Packet(Packet),
    /// What brings back lost ones.
    Parity(Parity),
    /// What arrived at the other end.
    Report(Report),
}

impl Message {
    /// The path by which what it is about was sent: a lost packet may be retransmitted by another one.
    pub const fn path(&self) -> usize {
        let run = match self {
            Self::Packet(packet) => packet.run,
            Self::Parity(parity) => parity.run,
            Self::Report(report) => report.run,
        };
        (run & PATH_BITS) as usize
    }
}

impl Packet {
    /// Bytes that it takes.
    pub(crate) fn len(&self) -> u64 {
        (PACKET_HEADER + self.body.len()) as u64
    }

    /// Appends it.
    pub fn put(&self, out: &mut BytesMut) {
        out.put_u16(self.run);
        out.put_u32(self.seq.get());
        out.put_u16(self.hold);
        out.extend_from_slice(&self.body);
    }

    /// Reads one; `None` where it is too short.
    pub fn take(mut bytes: Bytes) -> Option<Self> {
        let run = bytes.try_get_u16().ok()?;
        let seq = Seq32::new(bytes.try_get_u32().ok()?);
        let hold = bytes.try_get_u16().ok()?;
        (bytes.len() >= 3).then_some(Self { run, seq, hold, body: bytes })
    }
}

impl Parity {
    /// Appends it.
    pub fn put(&self, out: &mut BytesMut) {
        out.put_u16(self.run);
        out.put_u32(self.seq.get());
        out.put_slice(&[self.of, self.count, self.index]);
        out.extend_from_slice(&self.shard);
    }

    /// Reads one; `None` where there can be no such parity.
    pub fn take(mut bytes: Bytes) -> Option<Self> {
        let run = bytes.try_get_u16().ok()?;
        let seq = Seq32::new(bytes.try_get_u32().ok()?);
        let (of, count) = (bytes.try_get_u8().ok()?, bytes.try_get_u8().ok()?);
        let index = bytes.try_get_u8().ok()?;
        let sane = of > 0 && index < count && bytes.len() >= 4 && bytes.len().is_multiple_of(2);
        sane.then_some(Self { run, seq, of, count, index, shard: bytes })
    }
}

impl Report {
    /// Appends it.
    pub fn put(&self, out: &mut BytesMut) {
        out.put_u16(self.run);
        out.put_u32(self.next.get());
        out.put_u32(self.held);
        self.received_at.put(out);
        for range in self.missing.iter().take(RANGES) {
            out.put_u16(range.before);
            out.put_u16(range.count);
        }
    }

    /// Reads one; `None` where it is too short or too long.
    pub fn take(mut bytes: Bytes) -> Option<Self> {
        let run = bytes.try_get_u16().ok()?;
        let next = Seq32::new(bytes.try_get_u32().ok()?);
        let held = bytes.try_get_u32().ok()?;
        let received_at = ReceiveTimestamp::take(&mut bytes)?;
        if bytes.len() > 4 * RANGES || !bytes.len().is_multiple_of(4) {
            return None;
        }
        let mut missing = Vec::with_capacity(bytes.len() / 4);
        while bytes.has_remaining() {
            missing.push(Range { before: bytes.get_u16(), count: bytes.get_u16() });
        }
        Some(Self { run, next, held, received_at, missing })
    }

    /// Time since the highest number came.
    pub(crate) const fn held(&self) -> Span {
        Span::from_micros(self.held as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let body = Bytes::from_static(b"\x01\0\0body");
        let packet = Packet { run: 9, seq: Seq32::new(1 << 31), hold: 900, body };
        let shard = Bytes::from_static(b"shards");
        let parity = Parity { run: 9, seq: Seq32::new(7), of: 9, count: 3, index: 2, shard };
        let missing = vec![Range { before: 9, count: 2 }, Range { before: 400, count: 1 }];
        let (next, held, received_at) = (Seq32::new(3), 1 << 20, ReceiveTimestamp::from_ticks(77));
        let report = Report { run: 9, next, held, received_at, missing };
        let write = |put: &dyn Fn(&mut BytesMut)| {
            let mut out = BytesMut::new();
            put(&mut out);
            out.freeze()
        };
        let bytes = write(&|out| packet.put(out));
        assert_eq!(bytes.len(), PACKET_HEADER + packet.body.len());
        assert_eq!(Packet::take(bytes), Some(packet.clone()));
        let bytes = write(&|out| parity.put(out));
        assert_eq!(bytes.len(), PARITY_HEADER + parity.shard.len());
        assert_eq!(Parity::take(bytes), Some(parity.clone()));
        assert_eq!(Report::take(write(&|out| report.put(out))), Some(report.clone()));
    }

    proptest! {
        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let bytes = Bytes::from(bytes);
            let _ = Packet::take(bytes.clone());
            let _ = Parity::take(bytes.clone());
            let _ = Report::take(bytes);
        }
    }
}
