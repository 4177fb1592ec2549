//! When something came, by the clock of who received it.

use std::num::NonZeroU32;

use bytes::{Buf, BufMut, BytesMut};

/// Three bytes of a clock.
const BITS: u32 = 0x00ff_ffff;
/// Set in all of them, so that "none" takes no room of its own.
const THERE: NonZeroU32 = NonZeroU32::new(BITS + 1).expect("it is not zero");

/// The clock of a receiver in units of 100 µs modulo 2^24, 28 minutes: the receive timestamp of RFC 8762.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveTimestamp(NonZeroU32);

impl ReceiveTimestamp {
    /// A clock that has counted so many units.
    pub const fn from_ticks(ticks: u32) -> Self {
        Self(THERE.saturating_add(ticks & BITS))
    }

    /// The units that it has counted, less than 2^24.
    pub const fn ticks(self) -> u32 {
        self.0.get() & BITS
    }

    /// By how many units this clock is ahead of another one, less than nothing if it is behind: at most half of what it counts.
    pub const fn ahead_of(self, other: Self) -> i32 {
        // The sign is the highest of 24 bits.
        (self.0.get().wrapping_sub(other.0.get()) << 8) as i32 >> 8
    }

    /// Appends its three bytes.
    pub fn put(self, out: &mut BytesMut) {
        out.put_uint(u64::from(self.ticks()), 3);
    }

    /// Reads one; `None` where there are too few bytes.
    pub fn take(bytes: &mut impl Buf) -> Option<Self> {
        bytes.try_get_uint(3).ok().map(|ticks| Self::from_ticks(ticks as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_compared_across_the_wrap() {
        let clock = ReceiveTimestamp::from_ticks;
        assert_eq!(clock(BITS).ahead_of(clock(1)), -2);
        assert_eq!(clock(5 << 24 | 1).ahead_of(clock(BITS)), 2);
        assert_eq!(clock(1 << 23).ahead_of(clock(1)), (1 << 23) - 1);
        assert_eq!(size_of::<Option<ReceiveTimestamp>>(), 4);
    }

    #[test]
    fn three_bytes_are_read_as_they_were_written() {
        let mut out = BytesMut::new();
        ReceiveTimestamp::from_ticks(0x0012_3456).put(&mut out);
        assert_eq!(&out[..], b"\x12\x34\x56");
        let mut bytes = out.freeze();
        assert_eq!(
            ReceiveTimestamp::take(&mut bytes),
            Some(ReceiveTimestamp::from_ticks(0x12_3456))
        );
        assert_eq!(ReceiveTimestamp::take(&mut bytes), None);
    }
}
