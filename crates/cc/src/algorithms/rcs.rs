//! RCS, the rate control scheme: a rate for flows in real time, which low-priority dummy packets open at the
//! start and give back after noise.
//!
//! This project had no more of it than what surveys say, and reads the rest from TCP Peach, its kin for
//! windows. At the start dummies leave at the target rate for a round trip, and each that arrives is a segment
//! per round trip of rate. From there on the rate grows by a segment per round trip in each of them. A loss
//! halves it and sends dummies at the old rate for a round trip: as many as were under way. Those of
//! the first half that arrive do not count, because data had their room; each of the others gives a segment
//! per round trip back. After noise all of them arrive and the rate is what it was, after congestion few.
//! A timeout begins anew.

use bentpipe_units::Span;

use crate::row::{Build, Parameter, Row};
use crate::window::bit_rate;
use crate::{
    Ack, Controller, Copies, Gauge, Limits, Loss, LossCause, LowPriority, PathView, Phase, Sent,
    Signal, Snapshot,
};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "rcs",
    summary: "a rate for flows in real time; low-priority dummies open it and give it back after noise",
    citation: "Tang, Morabito, Akyildiz, Johnson, RCS, INFOCOM 2001, as surveys describe it; the laws are \
               this project's reading, after TCP Peach",
    parameters: &[Parameter {
        name: "target",
        unit: "bit/s",
        default: 2e6,
        range: (1e3, 1e9),
        summary: "rate of payload that the flow wants and never exceeds",
    }],
    build: &|build| Box::new(Rcs::new(build)),
};

/// A rate of less than a segment in so many seconds makes no sense on any path.
const SLOWEST_SEGMENT: f64 = 1.0;
/// Most dummies of a round trip; on longer and faster paths they probe a part of it.
const MOST_DUMMIES: f64 = 1e5;

#[derive(Debug)]
struct Rcs {
    /// Bytes of payload a second: what is wanted, what is sent, and what was sent before the last reduction.
    target: f64,
    rate: f64,
    before: Option<f64>,
    mss: f64,
    /// The next segment that leaves begins the start.
    begins: bool,
    /// Dummies to be sent, and the time between them.
    pending: u64,
    spacing: Span,
    /// Dummies that arrive and do not count, because data have their room.
    ignored: u64,
}

impl Rcs {
    fn new(build: &Build<'_>) -> Self {
        let target = build.parameter(&ROW, "target") / 8.0;
        let mss = build.mss.get().max(1) as f64;
        Self {
            target,
            // What the first segment is charged; it sets the rate of the start.
            rate: target,
            before: None,
            mss,
            begins: true,
            pending: 0,
            spacing: Span::ZERO,
            ignored: 0,
        }
    }

    /// A segment per round trip, in bytes a second.
    fn step(&self, path: &PathView) -> f64 {
        let srtt = path.srtt.as_secs_f64();
        if srtt > 0.0 { self.mss / srtt.min(SLOWEST_SEGMENT) } else { self.mss / SLOWEST_SEGMENT }
    }

    /// Sets the rate within its limits.
    fn set(&mut self, path: &PathView, rate: f64) {
        self.rate = rate.max(self.step(path)).min(self.target);
    }

    /// Dummies leave at this rate for a round trip.
    fn probe(&mut self, path: &PathView, rate: f64) {
        let count = (rate * path.srtt.as_secs_f64() / self.mss).min(MOST_DUMMIES);
        self.pending = count as u64;
        self.spacing = Span::from_secs_f64(self.mss / rate).max(Span::from_nanos(1));
    }

    fn begin(&mut self, path: &PathView) {
        self.begins = false;
        self.set(path, self.step(path));
        self.probe(path, self.target);
        // The first segment is data.
        (self.pending, self.ignored) = (self.pending.saturating_sub(1), 0);
    }

    fn start_again(&mut self, path: &PathView) {
        (self.begins, self.pending, self.ignored) = (true, 0, 0);
        self.set(path, 0.0);
    }

    fn halve(&mut self, path: &PathView) {
        self.before = Some(self.rate);
        self.pending = 0;
        self.set(path, self.rate / 2.0);
    }
}

impl Controller for Rcs {
    fn on_ack(&mut self, path: &PathView, ack: &Ack) {
        // A flow that sends less than it may is acknowledged less, and grows more slowly.
        if !ack.in_recovery && self.rate < self.target {
            let per_trip = self.rate * path.srtt.as_secs_f64();
            let share = if per_trip > 0.0 { ack.bytes.get() as f64 / per_trip } else { 0.0 };
            self.set(path, self.rate + self.step(path) * share.min(1.0));
        }
    }

    fn on_loss(&mut self, path: &PathView, loss: &Loss) {
        match loss.cause {
            LossCause::Gap | LossCause::Nack if loss.new_episode => {
                let old = self.rate;
                self.halve(path);
                self.probe(path, old);
                self.ignored = self.pending / 2;
            }
            LossCause::Gap | LossCause::Nack => {}
            LossCause::Timeout | LossCause::Persistent => {
                self.before = Some(self.rate);
                self.start_again(path);
            }
        }
    }

    fn on_signal(&mut self, path: &PathView, signal: &Signal) {
        match signal {
            Signal::ProbeAcked { segments } => {
                let ignored = self.ignored.min(*segments);
                self.ignored -= ignored;
                let counted = (segments - ignored) as f64;
                self.set(path, self.rate + counted * self.step(path));
            }
            Signal::EcnCe => self.halve(path),
            Signal::SpuriousLoss => {
                if let Some(before) = self.before.take() {
                    self.begins = false;
                    self.set(path, before.max(self.rate));
                }
            }
            Signal::Idle { .. } => self.start_again(path),
            Signal::MtuChanged { mss } => self.mss = mss.get().max(1) as f64,
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        Limits { pacing: Some(bit_rate(self.rate)), of_payload: true, ..Limits::default() }
    }

    fn snapshot(&self) -> Snapshot {
        let phase = if self.pending > 0 { "probing" } else { "steady" };
        let gauge = |name, value| Gauge { name, value };
        Snapshot {
            phase: Phase::Other(phase),
            cwnd: None,
            ssthresh: None,
            gauges: vec![
                gauge("rate_bps", self.rate * 8.0),
                gauge("probes_pending_segments", self.pending as f64),
            ],
        }
    }

    fn follows_sending(&self) -> bool {
        true
    }

    fn on_sent(&mut self, path: &PathView, sent: &Sent) {
        if sent.probe {
            self.pending = self.pending.saturating_sub(1);
        } else if self.begins {
            self.begin(path);
        }
    }

    fn low_priority(&self) -> LowPriority {
        let (count, spacing) = (self.pending, self.spacing);
        if count == 0 {
            LowPriority::Nothing
        } else {
            LowPriority::Probes { copies: Copies::Last, count, spacing }
        }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use crate::testing::Play;
    use crate::{LossCause, LowPriority, Signal};

    /// Segments of 1000 bytes in a round trip of 0.6 s that the rate brings.
    fn per_trip(play: &Play) -> f64 {
        play.gauge("rate_bps") / 8_000.0 * 0.6
    }

    fn dummies(play: &Play) -> (u64, Span) {
        match play.controller.low_priority() {
            LowPriority::Probes { count, spacing, .. } => (count, spacing),
            _ => (0, Span::ZERO),
        }
    }

    /// Sends all dummies that are asked for, of which so many arrive.
    fn probe(play: &mut Play, arriving: u64) {
        for _ in 0..dummies(play).0 {
            play.send(true);
        }
        assert_eq!(dummies(play).0, 0);
        for _ in 0..arriving {
            play.signal(Signal::ProbeAcked { segments: 1 });
        }
    }

    /// A flow that wants 60 segments in a round trip and found room for them.
    fn opened() -> Play {
        let mut play = Play::new("rcs", &[("target", 800_000.0)]);
        play.send(false);
        probe(&mut play, 59);
        assert!((per_trip(&play) - 60.0).abs() < 1e-6, "{}", per_trip(&play));
        play
    }

    #[test]
    fn the_start_sends_dummies_at_the_target_rate_for_a_round_trip() {
        let mut play = Play::new("rcs", &[("target", 800_000.0)]);
        assert_eq!(dummies(&play).0, 0);
        play.send(false);
        assert_eq!(dummies(&play), (59, Span::from_millis(10)));
        assert!((per_trip(&play) - 1.0).abs() < 1e-6);
        probe(&mut play, 20);
        assert!((per_trip(&play) - 21.0).abs() < 1e-6, "what arrives is the rate");
    }

    #[test]
    fn a_loss_halves_the_rate_and_sends_dummies_at_the_old_one_for_a_round_trip() {
        let mut play = opened();
        play.lose(LossCause::Gap);
        assert!((per_trip(&play) - 30.0).abs() < 1e-6);
        assert_eq!(dummies(&play), (60, Span::from_millis(10)));
        play.lose_more(LossCause::Gap);
        assert!((per_trip(&play) - 30.0).abs() < 1e-6, "once");
    }

    #[test]
    fn after_noise_all_dummies_arrive_and_the_rate_is_what_it_was() {
        for (arriving, left) in [(60, 60.0), (45, 45.0), (30, 30.0), (10, 30.0)] {
            let mut play = opened();
            play.lose(LossCause::Gap);
            probe(&mut play, arriving);
            assert!((per_trip(&play) - left).abs() < 1e-6, "{arriving}: {}", per_trip(&play));
        }
    }

    #[test]
    fn the_rate_grows_by_a_segment_in_each_round_trip_up_to_the_target() {
        let mut play = opened();
        play.lose(LossCause::Gap);
        probe(&mut play, 0);
        play.recovered();
        (0..30).for_each(|_| play.ack_at_once(1));
        assert!((per_trip(&play) - 31.0).abs() < 0.05, "{}", per_trip(&play));
        (0..10_000).for_each(|_| play.ack_at_once(1));
        assert!((per_trip(&play) - 60.0).abs() < 1e-6, "{}", per_trip(&play));
    }

    #[test]
    fn a_mark_halves_without_a_question_and_a_mistaken_loss_is_taken_back() {
        let mut play = opened();
        play.signal(Signal::EcnCe);
        assert_eq!((per_trip(&play).round(), dummies(&play).0), (30.0, 0));
        play.signal(Signal::SpuriousLoss);
        assert_eq!(per_trip(&play).round(), 60.0);
    }

    #[test]
    fn a_timeout_begins_anew() {
        let mut play = opened();
        play.lose(LossCause::Timeout);
        assert_eq!((per_trip(&play).round(), dummies(&play).0), (1.0, 0));
        play.send(false);
        assert_eq!(dummies(&play).0, 59);
    }
}
