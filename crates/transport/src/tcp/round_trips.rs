//! Samples of the round trip, and the timeout that follows from them.

use bentpipe_units::{Instant, Span};

use super::Config;
use super::ack_in::AckIn;
use super::config::RtoMargin;
use super::deviation::{Deviation, Place};
use super::timing::Timing;
use crate::rtt::RttEstimator;

/// The estimate of the round trip and what is timed for it.
#[derive(Debug)]
pub(super) struct RoundTrips {
    rtt: RttEstimator,
    timing: Timing,
    /// The margin of the timeout, where it is Linux'.
    deviation: Option<Deviation>,
}

/// What an acknowledgement tells of the round trip besides its echo.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    /// Bytes by which it advanced.
    pub(super) acked: u64,
    /// How long a segment took that was sent once.
    pub(super) exact: Option<Span>,
    /// Nothing that left before this is timed.
    pub(super) since: Instant,
    /// Bytes that are still under way, and those of a full segment.
    pub(super) outstanding: u64,
    pub(super) mss: u64,
    /// The offset behind all that was sent.
    pub(super) next: u64,
}

impl RoundTrips {
    /// Nothing is measured yet.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            deviation: (config.rto_margin == RtoMargin::Linux).then(Deviation::default),
            rtt: RttEstimator::new(config.rto_initial, config.rto_min),
            timing: Timing::new(config.sample_every_ack || config.sample_duplicates),
        }
    }

    /// The estimate.
    #[inline]
    pub(super) const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The handshake took so long.
    pub(super) fn sample_handshake(&mut self, config: &Config, measured: Span) {
        self.deviate(config, measured, Place { una: 1, next: 1 });
        self.rtt.sample(measured);
    }

    /// Our SYN was lost: the timeout is 3 s where nothing is known (RFC 6298, rule 5.7).
    pub(super) fn doubt_handshake(&mut self, config: &Config) {
        if self.rtt.measured().is_none() {
            let initial = config.rto_initial.max(Span::from_secs(3));
            self.rtt = RttEstimator::new(initial.min(config.rto_max), config.rto_min);
        }
    }

    /// The estimate is of no use any more.
    pub(super) const fn forget(&mut self) {
        if self.deviation.is_none() {
            self.rtt.forget();
        }
    }

    /// A sample moves the margin of the timeout, where it is Linux'. Before the smoothed round trip does.
    #[inline]
    fn deviate(&mut self, config: &Config, measured: Span, place: Place) {
        if let Some(deviation) = &mut self.deviation {
            deviation.sample(self.rtt.measured(), measured, config.rto_min, place);
        }
    }

    /// New data leave that end before this offset.
    #[inline(always)]
    pub(super) fn sent(&mut self, now: Instant, end: u64) {
        self.timing.sent(now, end);
    }

    /// What begins at this offset leaves again.
    pub(super) fn resent(&mut self, start: u64) {
        self.timing.resent(start);
    }

    /// A round trip with the margin that a timeout has (RFC 6298, section 2).
    #[inline]
    pub(super) fn overdue_after(&self, config: &Config) -> Span {
        let margin = match &self.deviation {
            Some(deviation) => deviation.margin(),
            None => (self.rtt.rttvar() * 4).max(config.tick),
        };
        self.rtt.srtt() + margin
    }

    /// The timeout without backoff.
    #[inline]
    pub(super) fn timeout(&self, config: &Config) -> Span {
        let base = match self.rtt.measured() {
            None => self.rtt.srtt(),
            Some(_) => self.overdue_after(config),
        };
        base.max(config.rto_min)
    }

    /// Takes a sample: the exact one of a segment that was sent once, unless it waited at the peer for one that was
    /// retransmitted (Karn), or else from the echo of a timestamp. True when there was one.
    #[inline(always)]
    pub(super) fn measure(
        &mut self,
        now: Instant,
        config: &Config,
        ack: &AckIn,
        timed: &Timed,
    ) -> bool {
        let echo = ack.echo.map(|(_, since)| since);
        let echoed = echo.filter(|_| timed.acked > 0 || config.sample_duplicates);
        let measured = match self.timing {
            Timing::All => timed.exact.or(echoed),
            Timing::Idle | Timing::One { .. } => self.timing.acknowledged(now, ack.offset),
        };
        let Some(measured) = measured else { return false };
        if now.before(measured) < timed.since {
            return false;
        }
        self.deviate(config, measured, Place { una: ack.offset, next: timed.next });
        let many = if self.deviation.is_some() {
            1
        } else if config.sample_every_ack && !config.sample_duplicates {
            // RFC 7323, appendix G, with an acknowledgement for every two segments.
            (timed.outstanding / (2 * timed.mss)).max(1)
        } else {
            1
        };
        let smoothed = echoed.filter(|_| config.sample_duplicates).unwrap_or(measured);
        self.take_sample(now, config.tick, [measured, smoothed], many);
        true
    }

    #[inline(never)]
    fn take_sample(
        &mut self,
        now: Instant,
        tick: Span,
        [measured, smoothed]: [Span; 2],
        many: u64,
    ) {
        let tick = tick.max(Span::from_nanos(1));
        let shown = in_ticks(now, tick, smoothed);
        if self.timing == Timing::All {
            self.rtt.sample_one_of(measured, shown, many);
        } else {
            self.rtt.sample_ticks(measured, (shown.as_nanos() / tick.as_nanos()).max(1), tick);
        }
    }
}

/// A span that ends now as the clock shows it: how often it ticked meanwhile.
#[inline]
fn in_ticks(now: Instant, tick: Span, span: Span) -> Span {
    let tick = tick.as_nanos();
    let shown = |at: Instant| at.since(Instant::ZERO).as_nanos() / tick;
    Span::from_nanos((shown(now) - shown(now.before(span))) * tick)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(echo: Option<Span>) -> AckIn {
        let echo = echo.map(|since| (0, since));
        AckIn {
            offset: 1_001,
            from: 1,
            window: 1,
            pure: true,
            marked: false,
            tells_mark: false,
            corrupt: false,
            echo,
        }
    }

    #[test]
    fn a_segment_that_left_before_an_outage_was_over_is_not_timed() {
        let config = Config { sample_every_ack: true, ..Config::ns2() };
        let mut trips = RoundTrips::new(&config);
        let (now, rtt) = (Instant::ZERO + Span::from_secs(9), Span::from_millis(600));
        let timed = |since: Span| Timed {
            acked: 1_000,
            exact: Some(rtt),
            since: now.before(since),
            outstanding: 0,
            mss: 1_000,
            next: 1_001,
        };
        assert!(!trips.measure(now, &config, &ack(None), &timed(Span::from_millis(599))));
        assert_eq!(trips.rtt().measured(), None);
        assert!(trips.measure(now, &config, &ack(None), &timed(rtt)));
        assert!(trips.rtt().measured().is_some());
    }

    #[test]
    fn the_echo_counts_where_nothing_was_sent_once() {
        let config = Config { sample_every_ack: true, ..Config::ns2() };
        let mut trips = RoundTrips::new(&config);
        let now = Instant::ZERO + Span::from_secs(9);
        let timed = Timed {
            acked: 0,
            exact: None,
            since: Instant::ZERO,
            outstanding: 0,
            mss: 1_000,
            next: 1_001,
        };
        let echo = ack(Some(Span::from_millis(600)));
        assert!(!trips.measure(now, &config, &echo, &timed), "a duplicate is no sample");
        assert!(trips.measure(now, &config, &echo, &Timed { acked: 1_000, ..timed }));
    }
}
