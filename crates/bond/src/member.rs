//! What is known of one connection of a bond: how fast it is, how far, and whether it goes on.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use crate::frame::{CHUNK_MAX, DATA_HEADER, Frames};

/// A round trip before one was measured.
const UNKNOWN: Span = Span::from_secs(1);
/// A rate before anything is known.
const SLOW: BitRate = BitRate::from_bps(1_000_000);
/// Shortest time over which a rate is measured.
const MEASURE_MIN: Span = Span::from_millis(50);
/// For longer than one and a quarter round trips and this nothing is acknowledged only where the link does not work.
const STALL_MAX: Span = Span::from_millis(150);
/// Where acknowledgements come all the time, neither for longer than twice the longest pause so far and this. A pause is
/// forgotten after so many others.
const STALL_MIN: Span = Span::from_millis(200);
const PAUSES: u64 = 64;
/// A chunk is what the link carries in this time, within the bounds.
const CHUNK_TIME: Span = Span::from_millis(20);
const CHUNK_MIN: usize = 4 * 1024;
/// Bytes that may wait on a link whose rate grows.
const WAIT_MIN: u64 = 64 * 1024;
/// Time for which data may wait on the link that is the farthest.
pub(crate) const SLACK: Span = Span::from_millis(50);

/// When a connection carries data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Use {
    /// Whenever data arrives by it first.
    #[default]
    Always,
    /// Once the others have been full for a second, and while none of them goes on: its link costs.
    Spill,
}

/// What a connection says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed {
    /// Its smoothed round-trip time; none before one was measured.
    pub round_trip: Option<Span>,
    /// Its congestion window.
    pub cwnd: Option<ByteCount>,
    /// Bytes that were written and not sent.
    pub unsent: usize,
    /// Bytes of them that the connection does not hold yet.
    pub waiting: usize,
    /// Bytes that were sent and not acknowledged.
    pub in_flight: usize,
}

/// One connection of a bond.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: usize,
    pub(crate) frames: Frames,
    /// It was told where the stream ends.
    pub(crate) knows_end: bool,
    /// The latest status went by it.
    pub(crate) has_status: bool,
    /// The peer has it as one of the bond, so that what is acknowledged is in its hands.
    pub(crate) is_accepted: bool,
    /// The peer is told so.
    pub(crate) owes_word: bool,
    pub(crate) carries: Use,
    /// Nothing is written to it any more.
    pub(crate) is_retired: bool,
    observed: Observed,
    /// Bytes that were written to it.
    written: u64,
    rate: Option<BitRate>,
    /// Since when the rate is measured, what was sent by then, and whether there was always something to send.
    measured_at: Instant,
    measured_from: u64,
    was_busy: bool,
    /// Bytes that were acknowledged, and when that was more than before, or something was sent after a pause.
    acked: u64,
    progress_at: Instant,
    /// The longest pause between acknowledgements lately; none before there were some.
    pause: Option<Span>,
    is_stalled: bool,
}

impl Member {
    /// One that the peer has, or one that this end has opened.
    pub(crate) fn new(id: usize, carries: Use, is_accepted: bool) -> Self {
        Self {
            id,
            carries,
            is_retired: false,
            is_accepted,
            owes_word: is_accepted,
            frames: Frames::default(),
            knows_end: false,
            has_status: false,
            observed: Observed::default(),
            written: 0,
            rate: None,
            measured_at: Instant::ZERO,
            measured_from: 0,
            was_busy: false,
            acked: 0,
            progress_at: Instant::ZERO,
            pause: None,
            is_stalled: false,
        }
    }

    /// The connection says this now.
    pub(crate) fn observe(&mut self, now: Instant, observed: Observed) {
        let before = std::mem::replace(&mut self.observed, observed);
        let sent = self.written - (observed.unsent as u64).min(self.written);
        let acked = sent - (observed.in_flight as u64).min(sent);
        self.was_busy &= observed.unsent > 0;
        let span = now.since(self.measured_at);
        if span >= self.round_trip().max(MEASURE_MIN) {
            let bits = (sent - self.measured_from.min(sent)) * 8;
            let sample = BitRate::from_bps((bits as f64 / span.as_secs_f64()) as u64);
            // What had pauses shows what the link carries at least.
            self.rate = match self.rate {
                _ if bits == 0 => self.rate,
                Some(rate) if self.was_busy => {
                    Some(BitRate::from_bps(rate.as_bps() / 2 + sample.as_bps() / 2))
                }
                Some(rate) => Some(rate.max(sample)),
                None => self.was_busy.then_some(sample),
            };
            (self.measured_at, self.measured_from) = (now, sent);
            self.was_busy = observed.unsent > 0;
        }
        if acked > self.acked && before.in_flight > 0 && !self.is_stalled {
            let pause = now.since(self.progress_at);
            self.pause = Some(self.pause.map_or(self.round_trip(), |known| {
                pause.max(known.saturating_sub(known / PAUSES))
            }));
        }
        if acked > self.acked || before.in_flight == 0 {
            (self.acked, self.progress_at) = (acked, now);
            self.is_stalled = false;
        }
        self.is_stalled |= self.stalls_at().is_some_and(|at| at <= now);
    }

    /// When nothing was acknowledged for too long.
    fn stalls_at(&self) -> Option<Instant> {
        let most = self.round_trip() + self.round_trip() / 4 + STALL_MAX;
        let wait = self.pause.map_or(most, |pause| most.min(pause * 2 + STALL_MIN));
        (self.observed.in_flight > 0).then_some(self.progress_at + wait)
    }

    /// When [`Member::observe`] may find that it stalls.
    pub(crate) fn looks_at(&self) -> Option<Instant> {
        self.stalls_at().filter(|_| self.goes_on())
    }

    pub(crate) const fn is_stalled(&self) -> bool {
        self.is_stalled
    }

    /// Data may be written to it.
    pub(crate) const fn goes_on(&self) -> bool {
        !self.is_stalled && !self.is_retired
    }

    /// So many bytes are written to it.
    pub(crate) const fn write(&mut self, len: usize) {
        self.written += len as u64;
        self.observed.unsent += len;
    }

    pub(crate) fn round_trip(&self) -> Span {
        self.observed.round_trip.unwrap_or(UNKNOWN)
    }

    /// Time after which what leaves now arrives.
    pub(crate) fn one_way(&self) -> Span {
        self.round_trip() / 2
    }

    /// The rate at which it sends, as far as is known.
    pub(crate) fn rate(&self) -> BitRate {
        let by_window =
            self.observed.cwnd.zip(self.observed.round_trip).map(|(cwnd, round_trip)| {
                BitRate::from_bps((cwnd.bits() as f64 / round_trip.as_secs_f64().max(1e-3)) as u64)
            });
        self.rate.or(by_window).unwrap_or(SLOW).max(BitRate::from_bps(1_000))
    }

    /// When the last byte of a chunk of so many arrives that is written now. Where much more follows (`is_bulk`) the length
    /// is not held against a link on which nothing waits: what it sends next shows its rate, which would never grow
    /// otherwise.
    pub(crate) fn arrives_after(&self, len: usize, is_bulk: bool) -> Span {
        let len = if is_bulk && self.observed.unsent == 0 { 0 } else { len };
        let waits = ByteCount::new((self.observed.unsent + len) as u64);
        self.one_way() + self.rate().time_for(waits)
    }

    /// Bytes of a chunk.
    pub(crate) fn chunk(&self) -> usize {
        let most = CHUNK_MAX - DATA_HEADER;
        (self.rate().bytes_in(CHUNK_TIME).get() as usize).clamp(CHUNK_MIN, most)
    }

    /// Bytes that may wait on it while the farthest link takes so long.
    pub(crate) fn limit(&self, farthest: Span) -> u64 {
        let span = farthest.saturating_sub(self.one_way()) + SLACK;
        self.rate().bytes_in(span).get().max(WAIT_MIN)
    }

    pub(crate) const fn unsent(&self) -> usize {
        self.observed.unsent
    }

    /// Bytes that the connection holds.
    pub(crate) const fn holds(&self) -> usize {
        self.observed.unsent.saturating_sub(self.observed.waiting) + self.observed.in_flight
    }

    /// Whether the peer has all that was written to it.
    pub(crate) const fn has_arrived(&self) -> bool {
        self.is_accepted && self.observed.unsent == 0 && self.observed.in_flight == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    /// 40 ms and always something unsent.
    fn busy(in_flight: usize) -> Observed {
        let round_trip = Some(Span::from_millis(40));
        Observed { round_trip, cwnd: None, unsent: 10_000, waiting: 0, in_flight }
    }

    #[test]
    fn the_rate_is_what_a_busy_connection_sends() {
        let mut member = Member::new(0, Use::Always, true);
        member.observe(at(0), Observed::default());
        for step in 1..100 {
            member.write(12_500);
            member.observe(at(10 * step), busy(50_000));
        }
        let rate = member.rate().as_bps();
        assert!((9_000_000..11_000_000).contains(&rate), "{rate}");
        assert_eq!(member.arrives_after(12_500, true).as_nanos() / 1_000_000, 38);
    }

    #[test]
    fn where_acknowledgements_come_all_the_time_a_short_silence_is_enough() {
        let far = |in_flight| Observed { round_trip: Some(Span::from_secs(1)), ..busy(in_flight) };
        let mut member = Member::new(0, Use::Always, true);
        member.write(10_000_000);
        for step in 0..1_000 {
            member.observe(at(10 * step), far(9_000_000 - 1_000 * step as usize));
        }
        member.observe(at(10_200), far(8_001_000));
        assert!(!member.is_stalled());
        member.observe(at(10_260), far(8_001_000));
        assert!(member.is_stalled());
    }

    #[test]
    fn it_stalls_where_nothing_is_acknowledged_and_goes_on_with_the_first_byte() {
        let mut member = Member::new(0, Use::Always, true);
        member.write(30_000);
        member.observe(at(0), busy(20_000));
        member.observe(at(199), busy(20_000));
        assert!(!member.is_stalled());
        member.observe(at(200), busy(20_000));
        assert!(member.is_stalled());
        member.observe(at(400), busy(19_000));
        assert!(!member.is_stalled());
    }
}
