//! What arrives, interval by interval, each as long as the path's round trip without a queue.

use bentpipe_units::{ByteCount, Instant, Span};

use crate::bottleneck::PeriodMax;
use crate::{Ack, PathView};

/// An interval is not shorter.
const LEAST: Span = Span::from_millis(5);
/// One that ends early has one part in so many of its time at least.
const EARLY: u64 = 8;
/// What part of the bytes is lost shows by so many segments at least.
const SAMPLE: f64 = 64.0;
/// What the path carried is remembered for three to four of these.
const MEMORY: Span = Span::from_secs(15);

/// An interval that ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Interval {
    /// When the newest of what had arrived as it began and as it ended was sent.
    pub(super) sent: [Instant; 2],
    /// Bytes a second that arrived.
    pub(super) rate: f64,
    /// The window was the limit at times.
    pub(super) limited: bool,
    /// Nothing arrived for longer than that.
    pub(super) paused: bool,
    /// Part of the bytes that were lost, if it shows.
    pub(super) lost: Option<f64>,
}

/// The account.
#[derive(Debug)]
pub(super) struct Arrivals {
    began: Instant,
    delivered: ByteCount,
    lost: ByteCount,
    /// Bytes of earlier intervals that were too few: lost, and all.
    few: (f64, f64),
    limited: bool,
    /// The interval before was a pause.
    paused: bool,
    /// The largest window.
    cwnd: f64,
    /// When the newest that arrived was sent, now and as the interval began.
    sent: Instant,
    sent_before: Instant,
    /// The interval does not end before what is sent then arrives, or before the other time.
    until: (Instant, Instant),
    /// It ends now.
    is_over: bool,
    latest: [f64; 3],
    best: PeriodMax<4>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self {
            began: Instant::ZERO,
            delivered: ByteCount::ZERO,
            lost: ByteCount::ZERO,
            few: (0.0, 0.0),
            limited: false,
            paused: false,
            cwnd: 0.0,
            sent: Instant::ZERO,
            sent_before: Instant::ZERO,
            until: (Instant::ZERO, Instant::ZERO),
            is_over: false,
            latest: [0.0; 3],
            best: PeriodMax::new(),
        }
    }
}

impl Arrivals {
    /// Bytes a second that the path carried of late: the median of three intervals, as one that repairs what was lost
    /// seems to carry more.
    pub(super) fn rate(&self) -> f64 {
        let [a, b, c] = self.latest;
        a.max(b).min(a.min(b).max(c))
    }

    /// The most that it carried in a minute.
    pub(super) fn best(&self) -> f64 {
        self.best.get()
    }

    /// The interval of now ends with the first that arrives of what is sent from then on, if it does before the other time.
    pub(super) const fn end_with(&mut self, sent: Instant, by: Instant) {
        self.until = (sent, by);
    }

    /// What has arrived says enough: the interval of now need not be as long as others.
    pub(super) const fn end(&mut self) {
        self.is_over = true;
    }

    /// So much was lost.
    pub(super) fn lost(&mut self, bytes: ByteCount) {
        self.lost += bytes;
    }

    /// Looks at an acknowledgement of what arrived then, by a clock of the receiver. Gives the interval that it ends, each of which is
    /// as long as `trip`, a round trip of `base` with what waits on the way back.
    pub(super) fn take(
        &mut self,
        path: &PathView,
        ack: &Ack,
        arrived_at: Instant,
        (base, trip): (Span, Span),
        cwnd: f64,
    ) -> Option<Interval> {
        self.cwnd = self.cwnd.max(cwnd);
        self.limited |= path.cwnd_limited;
        // What arrives now was sent a round trip ago: other times are those of reports.
        if path.now.since(ack.newest_sent_at) * 4 >= base * 3 {
            self.sent = self.sent.max(ack.newest_sent_at);
        }
        let took = arrived_at.since(self.began);
        let length = trip.max(LEAST);
        let least = if self.is_over { length / EARLY } else { length };
        let (until, by) = self.until;
        if took < least || self.sent < until && path.now < by {
            return None;
        }
        let arrived = path.delivered - self.delivered;
        let (limited, sent) = (self.limited, [self.sent_before, self.sent]);
        // After a pause an interval is longer than what arrived in it, and what was lost is an outage's.
        let paused = took > length * 2 && path.now > by + length;
        // So is much of what is found lost in the next one.
        let of_outage = std::mem::replace(&mut self.paused, paused) || paused;
        let lost = if of_outage { None } else { self.lost_part(arrived, path.mss) };
        // No more than a window arrives in a round trip, whatever repairs acknowledge at once.
        let most = self.cwnd / base.max(LEAST).as_secs_f64();
        let rate = (arrived.get() as f64 / took.as_secs_f64()).min(most);
        self.cwnd = cwnd;
        if !paused && (limited || rate > self.rate()) {
            self.latest.rotate_right(1);
            self.latest[0] = rate;
            let period = path.now.since(Instant::ZERO).as_nanos() / MEMORY.as_nanos();
            self.best.take(period, self.rate());
        }
        (self.began, self.delivered, self.lost) = (arrived_at, path.delivered, ByteCount::ZERO);
        (self.limited, self.sent_before, self.is_over) = (false, self.sent, false);
        Some(Interval { sent, rate, limited, paused, lost })
    }

    /// The part of the bytes that is lost, if it shows.
    fn lost_part(&mut self, arrived: ByteCount, mss: ByteCount) -> Option<f64> {
        let lost = self.few.0 + self.lost.get() as f64;
        let all = self.few.1 + (arrived + self.lost).get() as f64;
        let shows = all >= SAMPLE * mss.get() as f64;
        self.few = if shows { (0.0, 0.0) } else { (lost, all) };
        shows.then_some(lost / all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Play;

    const BASE: Span = Span::from_secs(1);

    /// So many segments arrive at once that left a round trip ago.
    fn arrive(play: &mut Play, arrivals: &mut Arrivals, segments: u64) -> Option<Interval> {
        let bytes = play.bytes(segments);
        play.path.delivered += bytes;
        let ack = Ack {
            bytes,
            advanced: bytes,
            segments,
            newest_sent_at: play.path.now.before(BASE),
            rate_sample: None,
            acks: segments,
            in_recovery: false,
            repairing: false,
            lost: ByteCount::ZERO,
            marked: ByteCount::ZERO,
        };
        let now = play.path.now;
        arrivals.take(&play.path, &ack, now, (BASE, BASE), 1e6)
    }

    /// The parts that were lost by the ends of intervals of a second, in each of which so many segments arrived and were lost; the
    /// second one is a pause of 30 s.
    fn lost(intervals: &[(u64, u64)]) -> Vec<Option<f64>> {
        let (mut play, mut arrivals) = (Play::new("steady", &[]), Arrivals::default());
        let parts = intervals.iter().enumerate().map(|(n, &(arrived, lost))| {
            play.wait(if n == 1 { 30.0 } else { 1.0 });
            arrivals.lost(play.bytes(lost));
            arrive(&mut play, &mut arrivals, arrived).expect("an interval").lost
        });
        parts.collect()
    }

    /// When intervals end in which something arrives ten times in a second, and whether they are pauses, in tenths of a second.
    fn ends(play: &mut Play, arrivals: &mut Arrivals, tenths: u64) -> Vec<(u64, bool)> {
        let end = |tenth: u64| {
            play.wait(0.1);
            arrive(play, arrivals, 10).map(|interval| (tenth, interval.paused))
        };
        (1..=tenths).filter_map(end).collect()
    }

    #[test]
    fn an_interval_ends_with_what_it_is_to_show_or_when_that_does_not_come() {
        let (mut play, mut arrivals) = (Play::new("steady", &[]), Arrivals::default());
        play.wait(5.0);
        arrive(&mut play, &mut arrivals, 10);
        let in_tenths = |play: &Play, tenths| play.path.now + Span::from_millis(100) * tenths;
        arrivals.end_with(in_tenths(&play, 4), in_tenths(&play, 30));
        assert_eq!(ends(&mut play, &mut arrivals, 20), [(14, false)], "what left then came");
        arrivals.end_with(in_tenths(&play, 90), in_tenths(&play, 26));
        assert_eq!(ends(&mut play, &mut arrivals, 40), [(26, false), (36, false)], "in vain");
    }

    #[test]
    fn an_interval_that_has_shown_enough_ends_early_once() {
        let (mut play, mut arrivals) = (Play::new("steady", &[]), Arrivals::default());
        play.wait(5.0);
        arrive(&mut play, &mut arrivals, 10);
        arrivals.end();
        assert_eq!(ends(&mut play, &mut arrivals, 20), [(2, false), (12, false)]);
    }

    #[test]
    fn what_is_found_lost_in_and_right_after_a_pause_is_that_of_the_outage() {
        let seen = lost(&[(90, 10), (1, 50), (100, 100), (75, 25)]);
        assert_eq!(seen, [Some(0.1), None, None, Some(0.25)]);
    }
}
