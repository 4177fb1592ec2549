//! The timestamps option: what to stamp, what to echo, what is too old (RFC 7323).

use bentpipe_units::{Instant, Span};
use bentpipe_wire::tcp;

/// Bytes of the option with its padding.
const LEN: u16 = 12;
/// A value that was not renewed for this long says nothing any more (RFC 7323, section 5.5).
const RECENT_LIFE: Span = Span::from_secs(24 * 86_400);

/// The timestamps of one end. Its clock ticks every millisecond.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamps {
    /// Every segment has them.
    agreed: bool,
    /// Where the clock of this connection starts.
    offset: u32,
    /// TS.Recent and when it was taken; none before the first one.
    recent: Option<(u32, Instant)>,
}

impl Timestamps {
    /// A clock that starts at `offset`.
    pub(super) const fn new(offset: u32) -> Self {
        Self { agreed: false, offset, recent: None }
    }

    /// Whether every segment has timestamps.
    pub(super) const fn agree(&mut self, agreed: bool) {
        self.agreed = agreed;
    }

    /// Every segment has timestamps.
    #[inline]
    pub(super) const fn is_agreed(&self) -> bool {
        self.agreed
    }

    /// Bytes of the option in a segment.
    #[inline]
    pub(super) const fn len(&self) -> u16 {
        if self.agreed { LEN } else { 0 }
    }

    /// A segment has the timestamps that it must have, and they are not old.
    #[inline]
    pub(super) fn are_right(&self, now: Instant, of: Option<tcp::Timestamps>) -> bool {
        match of {
            _ if !self.agreed => true,
            Some(stamps) => !self.is_old(now, stamps.value),
            None => false,
        }
    }

    /// The stamp that a segment echoes, and the time since then.
    #[inline]
    pub(super) fn echo(&self, now: Instant, of: Option<tcp::Timestamps>) -> Option<(u32, Span)> {
        let echo = of.filter(|_| self.agreed)?.echo;
        Some((echo, self.since(now, echo)?))
    }

    /// What the clock shows.
    pub(super) fn clock(&self, now: Instant) -> u32 {
        self.offset.wrapping_add((now.as_nanos() / 1_000_000) as u32)
    }

    /// The option of a segment that leaves now.
    pub(super) fn option(&self, now: Instant) -> tcp::Timestamps {
        let echo = self.recent.map_or(0, |(value, _)| value);
        tcp::Timestamps { value: self.clock(now), echo }
    }

    /// An old duplicate by its stamp (PAWS, RFC 7323, section 5.3).
    pub(super) fn is_old(&self, now: Instant, value: u32) -> bool {
        self.recent.is_some_and(|(recent, at)| {
            now.since(at) < RECENT_LIFE && (value.wrapping_sub(recent) as i32) < 0
        })
    }

    /// Takes over the stamp of a segment at or before what was acknowledged last.
    pub(super) fn take(&mut self, now: Instant, value: u32) {
        if !self.is_old(now, value) {
            self.recent = Some((value, now));
        }
    }

    /// The time since the stamp that is echoed; `None` for an echo from the future or from long ago.
    pub(super) fn since(&self, now: Instant, echo: u32) -> Option<Span> {
        let ticks = self.clock(now).wrapping_sub(echo);
        (ticks < 1 << 31).then(|| Span::from_millis(u64::from(ticks)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn old_stamps_are_known_across_the_wrap_and_forgiven_after_24_days() {
        let mut timestamps = Timestamps::new(0);
        assert!(!timestamps.is_old(at(0), 5), "there is nothing to compare with");
        timestamps.take(at(0), u32::MAX);
        assert!(timestamps.is_old(at(1), u32::MAX - 1) && !timestamps.is_old(at(1), 3));
        timestamps.take(at(1), 3);
        timestamps.take(at(2), 1);
        assert_eq!(timestamps.option(at(9)), tcp::Timestamps { value: 9, echo: 3 });
        assert!(!timestamps.is_old(at(1) + RECENT_LIFE, 1));
    }

    #[test]
    fn an_echo_gives_the_time_since_its_stamp() {
        let timestamps = Timestamps::new(u32::MAX - 4);
        let sent = timestamps.clock(at(3));
        assert_eq!(timestamps.since(at(603), sent), Some(Span::from_millis(600)));
        assert_eq!(timestamps.since(at(0), sent), None);
    }
}
