//! The protocol's clock: units of 100 µs in 32 bits, compared by serial arithmetic.

use bentpipe_units::{Instant, Span};
use bentpipe_wire::xstp::ReceiveTimestamp;

/// Length of a tick of the wire's clock.
pub(super) const TICK_NANOS: u64 = 100_000;

/// The wire's clock at `now`, rounded down.
pub(super) const fn at(now: Instant) -> u32 {
    (now.as_nanos() / TICK_NANOS) as u32
}

/// What a peer is told of the time at which something came.
pub const fn receive_timestamp(now: Instant) -> ReceiveTimestamp {
    ReceiveTimestamp::from_ticks(at(now))
}

/// True when timestamp `a` is newer than `b`.
pub(super) const fn is_newer(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// The latest time not after `now` at which the wire's clock showed `ts`.
pub(super) const fn when(ts: u32, now: Instant) -> Instant {
    let ticks_ago = at(now).wrapping_sub(ts) as u64;
    let start_of_tick = Instant::from_nanos(now.as_nanos() / TICK_NANOS * TICK_NANOS);
    start_of_tick.before(Span::from_nanos(ticks_ago * TICK_NANOS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_found_again_across_the_wrap() {
        let wrap = Instant::from_nanos((1u64 << 32) * TICK_NANOS);
        let sent = wrap.before(Span::from_millis(150));
        let now = wrap + Span::from_millis(50);
        assert!(is_newer(at(now), at(sent)));
        assert_eq!(when(at(sent), now), sent);
    }
}
