//! The window that acknowledgements state.

use crate::tcp::window_unit::WindowUnit;

/// The room that the peer is told of, and how far it was told that it may send.
#[derive(Debug)]
pub(super) struct AdvertisedWindow {
    /// The receive buffer.
    buffer: u64,
    /// The largest window that there can be: the buffer, or what the window field can state.
    most: u64,
    /// Payload of the peer's full segments.
    mss: u64,
    unit: WindowUnit,
    /// Bytes that were read and still count as unread.
    reserved: u64,
    /// First offset that the peer was not allowed to send.
    edge: u64,
    stated: Stated,
}

/// The window that was stated last, and what it was worked out from.
#[derive(Clone, Copy, Debug, Default)]
struct Stated {
    /// The room that there was.
    free: u64,
    /// How far the edge was ahead of the offset that was expected next, wrapping.
    ahead: u64,
    /// How far the offset that was acknowledged was behind it, wrapping.
    behind: u64,
    field: u16,
    /// By how much the edge moved.
    moves: u64,
}

impl Stated {
    /// It was worked out from the same. Without a branch for each, nor as one comparison of memory, which would have to
    /// wait for what was just written.
    #[inline]
    const fn answers(&self, free: u64, ahead: u64, behind: u64) -> bool {
        (self.free ^ free) | (self.ahead ^ ahead) | (self.behind ^ behind) == 0
    }
}

impl AdvertisedWindow {
    /// The window of a SYN; windows will count by `unit` bytes.
    pub(super) fn new(buffer: u64, mss: u16, unit: u64) -> Self {
        // The window of a SYN is not shifted.
        let first = buffer.min(u64::from(u16::MAX));
        Self {
            buffer,
            most: buffer.min(u64::from(u16::MAX) * unit),
            mss: mss.into(),
            unit: WindowUnit::new(unit),
            reserved: 0,
            edge: 1 + first,
            stated: Stated::default(),
        }
    }

    /// The receive buffer is so large now, if that is more.
    pub(super) fn grow(&mut self, buffer: u64) {
        self.buffer = self.buffer.max(buffer);
        self.most = self.buffer.min(u64::from(u16::MAX) * self.unit.bytes());
    }

    /// First offset that the peer was not allowed to send.
    #[inline]
    pub(super) const fn edge(&self) -> u64 {
        self.edge
    }

    /// Bytes that may be stated as free where so many wait to be read.
    #[inline(always)]
    fn free(&self, unread: u64) -> u64 {
        self.buffer.saturating_sub(unread + self.reserved).min(self.most)
    }

    /// By how much a window that is nearly closed could open. A sender that has room is not told.
    #[inline(always)]
    fn gain(&self, next: u64, unread: u64) -> u64 {
        let promised = self.edge.saturating_sub(next);
        if promised < self.most / 2 { self.free(unread).saturating_sub(promised) } else { 0 }
    }

    /// The peer has less than half of the window left.
    #[inline]
    pub(super) const fn is_nearly_closed(&self, next: u64) -> bool {
        self.edge - next < self.most / 2
    }

    /// So many bytes that were read count as unread. True if the peer is to be told: whoever makes room by it is told
    /// soon, as its window follows what leaves elsewhere.
    pub(super) fn reserve(&mut self, bytes: u64, next: u64, unread: u64) -> bool {
        let opens = bytes < self.reserved;
        self.reserved = bytes;
        opens && self.gain(next, unread) >= self.mss.min(self.most / 2)
    }

    /// Something was read. True if the peer is to be told of a window that was nearly closed.
    #[inline(always)]
    pub(super) fn opens(&self, next: u64, unread: u64) -> bool {
        self.gain(next, unread) >= (2 * self.mss).min(self.most / 2)
    }

    /// Nothing more can be stated than was.
    pub(super) fn is_stated(&self, next: u64, unread: u64) -> bool {
        next + self.unit.floor(self.free(unread)) <= self.edge
    }

    /// The window field of an acknowledgement. The right edge stays until it can move by a segment (RFC 9293,
    /// section 3.8.6.2.2) and never moves back.
    ///
    /// Only distances matter, and they mostly are what they were the last time: then so is the answer.
    #[inline(always)]
    pub(super) fn take(&mut self, next: u64, acked: u64, unread: u64) -> u16 {
        let free = self.free(unread);
        let edge = self.edge;
        let (ahead, behind) = (edge.wrapping_sub(next), next.wrapping_sub(acked));
        if !self.stated.answers(free, ahead, behind) {
            let field = self.work_out(next, acked, free);
            self.stated = Stated { free, ahead, behind, field, moves: self.edge - edge };
        }
        self.edge = edge + self.stated.moves;
        self.stated.field
    }

    #[inline(never)]
    fn work_out(&mut self, next: u64, acked: u64, free: u64) -> u16 {
        let unit = self.unit;
        let wanted = next + unit.floor(free);
        let worth = self.mss.min(self.most / 2).max(unit.bytes());
        let edge = if wanted >= self.edge + worth || wanted > self.edge && self.edge <= next {
            wanted
        } else {
            self.edge
        };
        let promised = edge.saturating_sub(acked);
        // Rounded up each time the edge would move with every segment that is no whole number of units and
        // never come to rest: where that goes beyond the room there is, it is rounded down (RFC 7323, section
        // 2.4), and the byte that was promised before is still taken.
        let up = unit.fields(promised);
        let beyond = acked + up * unit.bytes() >= next + free + unit.bytes();
        let field = if beyond { unit.floor(promised) / unit.bytes() } else { up };
        let field = field.min(u64::from(u16::MAX));
        self.edge = self.edge.max(acked + field * unit.bytes());
        field as u16
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bentpipe_units::{ByteCount, Instant, Seq32};
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::tcp::Config;
    use crate::tcp::receiver::Receiver;

    /// What happens at a receiver.
    #[derive(Clone, Debug)]
    enum Step {
        /// So many bytes arrive, so many behind those that are expected next.
        Arrive(usize, i64),
        Read,
        Reserve(u64),
        Defer(u64),
    }

    fn steps() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => prop::sample::select(vec![1, 64, 999, 1000]).prop_map(|len| Step::Arrive(len, 0)),
            1 => (1..2_000usize, -1_500..1_500i64).prop_map(|(len, gap)| Step::Arrive(len, gap)),
            4 => Just(Step::Read),
            1 => (0..20_000u64).prop_map(Step::Reserve),
            1 => (0..3_000u64).prop_map(Step::Defer),
        ]
    }

    proptest! {
        #[test]
        fn what_is_remembered_of_a_window_is_what_would_be_worked_out_anew(
            steps in prop::collection::vec(steps(), 1..400),
            room in 1..30_000u64,
            unit in prop::sample::select(vec![1, 2, 64, 1000]),
        ) {
            let config = Config { rcv_buf: ByteCount::new(room), ..Config::ns2() };
            let receiver = || Receiver::new(Arc::new(config.clone()), Seq32::new(7), unit);
            let (mut remembers, mut forgets) = (receiver(), receiver());
            for step in steps {
                for receiver in [&mut remembers, &mut forgets] {
                    match step {
                        Step::Arrive(len, gap) => {
                            let offset = receiver.next() as i64 + gap;
                            let payload = Bytes::from(vec![0; len]);
                            receiver.handle_data(Instant::ZERO, offset, payload, false);
                        }
                        Step::Read => while receiver.read().is_some() {},
                        Step::Reserve(bytes) => receiver.reserve(bytes),
                        Step::Defer(bytes) => receiver.defer(bytes),
                    }
                }
                // No distance is that long.
                forgets.window.stated = Stated { behind: 1 << 63, ..Stated::default() };
                prop_assert_eq!(remembers.take_ack(), forgets.take_ack());
                prop_assert_eq!(remembers.window.edge, forgets.window.edge);
            }
        }
    }
}
