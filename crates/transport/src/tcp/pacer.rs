//! When segments may leave: spread over time at the rate that the controller gives, and in bursts of a limited length.

use bentpipe_cc::Limits;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};

/// Segments that may leave back to back where the controller does not say.
const BURST: u64 = 2;

/// Linux' pace: so many windows in a round trip below half of the threshold, and above.
const SLOW_START_PACE: f64 = 2.0;
const AVOIDANCE_PACE: f64 = 1.2;
/// What leaves at once is what the pace brings in so much time, two segments at least, and not more than that
/// (tcp_tso_autosize, which adds to it on paths below 8 ms; that is left out).
const GROUP_TIME: f64 = 1.0 / 1024.0;
const LARGEST_GROUP: f64 = 65_536.0;

/// What Linux paces by: bytes, and the smoothed round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowView {
    pub(super) cwnd: u64,
    pub(super) in_flight: u64,
    pub(super) ssthresh: Option<u64>,
    pub(super) srtt: Span,
}

impl WindowView {
    /// The pace that follows from a window, of payload (tcp_update_pacing_rate).
    pub(super) fn limits(&self, mss: u64) -> Limits {
        let half = self.ssthresh.map_or(u64::MAX, |ssthresh| ssthresh / 2);
        let factor = if self.cwnd < half { SLOW_START_PACE } else { AVOIDANCE_PACE };
        let window = self.cwnd.max(self.in_flight) as f64;
        let rate = factor * window / self.srtt.as_secs_f64().max(1e-6);
        let group = (rate * GROUP_TIME).min(LARGEST_GROUP) as u64 / mss;
        Limits {
            pacing: Some(BitRate::from_bps((8.0 * rate) as u64)),
            of_payload: true,
            burst: Some(ByteCount::new(group.max(BURST) * mss)),
            groups: true,
            ..Limits::default()
        }
    }
}

/// How segments may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    rate: BitRate,
    /// A full segment, and what may leave back to back.
    segment: ByteCount,
    burst: ByteCount,
    groups: bool,
    /// Headers of a segment that count, in bytes.
    headers: u64,
}

impl Pace {
    /// What a controller allows for segments with so many bytes of payload and headers; `None` where it gives no
    /// rate.
    pub(super) fn of(limits: &Limits, payload: u64, headers: u64) -> Option<Self> {
        let headers = if limits.of_payload { 0 } else { headers };
        let segment = ByteCount::new(payload + headers);
        let burst = limits.burst.unwrap_or(segment * BURST).max(segment);
        Some(Self { rate: limits.pacing?, segment, burst, groups: limits.groups, headers })
    }

    /// Segments of a group: a burst is told without headers.
    const fn group(&self) -> u64 {
        self.burst.get().div_ceil(self.segment.get())
    }
}

/// When segments leave.
#[derive(Debug)]
pub(super) struct Pacer {
    bucket: Bucket,
    /// The pace allows the next segment then.
    at: Option<Instant>,
    /// Segments of a burst, 0 for no limit, and those that are left of this one.
    max_burst: u32,
    burst_left: u32,
    last_sent: Option<Instant>,
}

impl Pacer {
    /// Nothing left yet; bursts are limited to so many segments unless it is 0.
    pub(super) fn new(max_burst: u32) -> Self {
        let burst_left = max_burst;
        Self { bucket: Bucket::default(), at: None, max_burst, burst_left, last_sent: None }
    }

    /// Something came: a burst may follow it.
    #[inline]
    pub(super) const fn new_burst(&mut self) {
        self.burst_left = self.max_burst;
    }

    /// Bursts are limited.
    #[inline]
    pub(super) const fn limits_bursts(&self) -> bool {
        self.max_burst > 0
    }

    /// The burst has its length.
    pub(super) const fn is_burst_over(&self) -> bool {
        self.max_burst > 0 && self.burst_left == 0
    }

    /// The pace does not allow the next segment yet: it is asked again when it does.
    pub(super) fn hold_back(&mut self, now: Instant, pace: Option<&Pace>) -> bool {
        self.at = pace.and_then(|pace| self.bucket.wait(now, pace));
        self.at.is_some()
    }

    /// When the pace allows the next segment.
    #[inline]
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.at
    }

    /// The pace may allow the next segment now.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        _ = self.at.take_if(|at| *at <= now);
    }

    /// Nothing waits for the pace.
    #[inline]
    pub(super) const fn stop(&mut self) {
        self.at = None;
    }

    /// A segment with so many bytes of payload leaves.
    pub(super) fn sent(&mut self, now: Instant, pace: Option<&Pace>, payload: u64) {
        if let Some(pace) = pace {
            self.bucket.sent(now, pace, ByteCount::new(payload + pace.headers));
        }
        self.burst_left = self.burst_left.saturating_sub(1);
        self.last_sent = Some(now);
    }

    /// A segment leaves where neither a pace nor a burst is limited.
    #[inline]
    pub(super) const fn sent_freely(&mut self, now: Instant) {
        self.last_sent = Some(now);
    }

    /// For how long nothing left, if that is longer than `span`: then what the pace had counted is forgotten.
    pub(super) fn take_idle(&mut self, now: Instant, span: Span) -> Option<Span> {
        let pause = self.last_sent.map(|at| now.since(at)).filter(|pause| *pause > span)?;
        self.bucket = Bucket::default();
        Some(pause)
    }

    /// The time until now was no idle time.
    pub(super) fn forgive_idle(&mut self, now: Instant) {
        self.last_sent = self.last_sent.map(|_| now);
    }
}

/// A token bucket, kept as the time at which it is empty no more (virtual scheduling).
#[derive(Debug, Default)]
struct Bucket {
    /// When what left so far would have left at an even pace.
    due: Instant,
    /// Segments that may still leave of the group that is leaving.
    left: u64,
}

impl Bucket {
    /// When the next segment may leave, if not now.
    fn wait(&self, now: Instant, pace: &Pace) -> Option<Instant> {
        if pace.groups {
            return (self.left == 0 && self.due > now).then_some(self.due);
        }
        // What is in the bucket beyond the one segment that leaves.
        let ahead = pace.rate.time_for(pace.burst - pace.segment);
        let at = self.due.before(ahead);
        (at > now).then_some(at)
    }

    /// A segment of so many bytes, headers included, leaves.
    fn sent(&mut self, now: Instant, pace: &Pace, bytes: ByteCount) {
        if self.left == 0 || self.due <= now {
            self.left = pace.group();
        }
        self.left -= 1;
        self.due = self.due.max(now) + pace.rate.time_for(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: ByteCount = ByteCount::new(1000);

    /// 1000 bytes in a millisecond.
    fn pace(burst: Option<ByteCount>, groups: bool) -> Pace {
        let pacing = Some(BitRate::from_bps(8_000_000));
        let limits = Limits { pacing, burst, groups, ..Limits::default() };
        Pace::of(&limits, 960, 40).expect("a rate")
    }

    /// When so many segments leave, in milliseconds from the first on. Something else happens every
    /// 0.1 ms.
    fn departures(pace: &Pace, most: usize) -> (Vec<u64>, Bucket, Instant) {
        let mut bucket = Bucket::default();
        let mut now = Instant::ZERO + Span::from_secs(5);
        let mut left = Vec::new();
        while left.len() < most {
            match bucket.wait(now, pace) {
                Some(at) => now = at.min(now + Span::from_micros(100)),
                None => {
                    bucket.sent(now, pace, SEGMENT);
                    left.push(now.as_nanos() / 1_000_000 - 5_000);
                }
            }
        }
        (left, bucket, now)
    }

    #[test]
    fn two_segments_leave_at_once_and_then_one_in_each_interval() {
        let (left, bucket, now) = departures(&pace(None, false), 5);
        assert_eq!(left, [0, 0, 1, 2, 3]);
        let single = pace(Some(SEGMENT), false);
        assert_eq!(bucket.wait(now, &single), Some(now + Span::from_millis(2)));
    }

    #[test]
    fn the_pace_of_linux_is_two_windows_in_a_round_trip_below_half_of_the_threshold() {
        let srtt = Span::from_millis(100);
        let view = WindowView { cwnd: 100_000, in_flight: 50_000, ssthresh: None, srtt };
        let bps = |view: WindowView| {
            let limits = view.limits(1000);
            (limits.pacing.expect("a pace").as_bps(), limits.burst.expect("a group").get())
        };
        assert_eq!(bps(view), (16_000_000, 2000));
        assert_eq!(bps(WindowView { ssthresh: Some(200_001), ..view }), (9_600_000, 2000));
        assert_eq!(bps(WindowView { ssthresh: Some(200_002), ..view }), (16_000_000, 2000));
        // What is in flight counts where it is more, and what the pace brings in a millisecond leaves at once.
        let full = WindowView { in_flight: 1_000_000, ssthresh: Some(0), ..view };
        assert_eq!(bps(full), (96_000_000, 11_000));
    }

    #[test]
    fn groups_leave_whole() {
        // Two segments of 960 bytes and their headers.
        let pairs = pace(Some(ByteCount::new(1920)), true);
        assert_eq!(departures(&pairs, 6).0, [0, 0, 2, 2, 4, 4]);
    }

    #[test]
    fn what_was_not_sent_of_a_group_is_no_part_of_a_later_one() {
        let pairs = pace(Some(ByteCount::new(2000)), true);
        let (_, mut bucket, now) = departures(&pairs, 3);
        let later = now + Span::from_secs(1);
        for _ in 0..2 {
            assert_eq!(bucket.wait(later, &pairs), None);
            bucket.sent(later, &pairs, SEGMENT);
        }
        assert_eq!(bucket.wait(later, &pairs), Some(later + Span::from_millis(2)));
    }

    #[test]
    fn a_burst_is_over_until_something_comes() {
        let mut pacer = Pacer::new(2);
        let now = Instant::ZERO;
        (0..2).for_each(|_| pacer.sent(now, None, 960));
        assert!(pacer.limits_bursts() && pacer.is_burst_over());
        pacer.new_burst();
        assert!(!pacer.is_burst_over());
        assert!(!Pacer::new(0).is_burst_over());
    }

    #[test]
    fn a_pause_is_idle_time_unless_it_is_forgiven() {
        let mut pacer = Pacer::new(0);
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        assert_eq!(pacer.take_idle(at(900), Span::ZERO), None, "nothing left yet");
        pacer.sent_freely(at(0));
        let pause = Some(Span::from_millis(101));
        assert_eq!(pacer.take_idle(at(101), Span::from_millis(100)), pause);
        pacer.forgive_idle(at(101));
        assert_eq!(pacer.take_idle(at(201), Span::from_millis(100)), None);
    }
}
