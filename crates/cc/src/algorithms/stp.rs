//! STP's own algorithm: slow start, linear growth, one halving per window, slow start after idle time.
//!
//! There is no slow start threshold. The paper (section 3) has a phase: the first reduction ends
//! slow start, and only idle time brings it back. A remembered threshold would make the protocol
//! without probing far slower after outages than the paper measured.

use bentpipe_units::ByteCount;

use crate::row::{Build, Row};
use crate::{Ack, Controller, Limits, Loss, LossCause, PathView, Phase, Signal, Snapshot};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "stp",
    summary: "STP's phase flag: doubling, then one segment per window; halves once per window",
    citation: "Henderson and Katz, JSAC 17(2), 1999; Elaasar et al., SSC03-XI-3, 2003, section 3",
    parameters: &[],
    build: &|build| Box::new(Stp::new(build)),
};

/// The window counts segments in fixed point with this many fractional bits, so that growth by
/// 1/cwnd for each segment is exact enough and the same on every machine.
const FRACTION: u32 = 20;
const ONE: u64 = 1 << FRACTION;

#[derive(Debug)]
struct Stp {
    mss: ByteCount,
    cwnd: u64,
    phase: Phase,
    init: u64,
    min: u64,
    max: u64,
}

impl Stp {
    fn new(build: &Build<'_>) -> Self {
        let segments = |bytes: ByteCount| (bytes.get() / build.mss.get().max(1)).max(1) << FRACTION;
        let (init, min, max) =
            (segments(build.cwnd_init), segments(build.cwnd_min), segments(build.cwnd_max));
        let cwnd = init.min(max);
        Self { mss: build.mss, cwnd, phase: Phase::SlowStart, init, min: min.min(max), max }
    }

    fn cwnd_bytes(&self) -> ByteCount {
        ByteCount::new(((u128::from(self.cwnd) * u128::from(self.mss.get())) >> FRACTION) as u64)
    }

    fn halve(&mut self) {
        self.cwnd = (self.cwnd / 2).max(self.min);
        self.phase = Phase::CongestionAvoidance;
    }

    fn restart(&mut self) {
        self.phase = Phase::SlowStart;
        self.cwnd = self.init.min(self.max);
    }
}

impl Controller for Stp {
    fn on_ack(&mut self, _path: &PathView, ack: &Ack) {
        match self.phase {
            Phase::SlowStart => {
                self.cwnd = self.cwnd.saturating_add(ack.segments << FRACTION).min(self.max);
            }
            // One step for each segment, because one STAT acknowledges many.
            _ => {
                for _ in 0..ack.segments {
                    if self.cwnd >= self.max {
                        break;
                    }
                    self.cwnd = (self.cwnd + (ONE << FRACTION) / self.cwnd).min(self.max);
                }
            }
        }
    }

    fn on_loss(&mut self, _path: &PathView, loss: &Loss) {
        match loss.cause {
            LossCause::Persistent => self.restart(),
            _ if loss.new_episode => self.halve(),
            _ => {}
        }
    }

    fn on_signal(&mut self, _path: &PathView, signal: &Signal) {
        match signal {
            Signal::Idle { .. } => self.restart(),
            Signal::EcnCe => self.halve(),
            Signal::MtuChanged { mss } => self.mss = *mss,
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        Limits { window: Some(self.cwnd_bytes()), ..Limits::default() }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            phase: self.phase,
            cwnd: Some(self.cwnd_bytes()),
            ssthresh: None,
            gauges: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choice;
    use bentpipe_units::{Instant, Span};

    fn stp(max_segments: u64) -> Box<dyn Controller> {
        let kb = |n| ByteCount::new(1000 * n);
        Choice::stp().build(kb(1), kb(1), kb(1), kb(max_segments))
    }

    fn path() -> PathView {
        PathView {
            now: Instant::ZERO,
            mss: ByteCount::new(1000),
            in_flight: ByteCount::ZERO,
            peer_window: ByteCount::new(64_000),
            srtt: Span::from_millis(200),
            latest_rtt: Span::from_millis(200),
            min_rtt: Span::from_millis(200),
            return_delay: None,
            round: 0,
            delivered: ByteCount::ZERO,
            cwnd_limited: true,
        }
    }

    fn ack(controller: &mut dyn Controller, segments: u64) {
        let ack = Ack {
            bytes: ByteCount::new(1000 * segments),
            advanced: ByteCount::new(1000 * segments),
            segments,
            newest_sent_at: Instant::ZERO,
            rate_sample: None,
            acks: 1,
            in_recovery: false,
            repairing: false,
            lost: ByteCount::ZERO,
            marked: ByteCount::ZERO,
        };
        controller.on_ack(&path(), &ack);
    }

    fn lose(controller: &mut dyn Controller, cause: LossCause, new_episode: bool) {
        let bytes = ByteCount::new(1000);
        controller.on_loss(
            &path(),
            &Loss { bytes, cause, new_episode, again: false, looks_corrupt: false },
        );
    }

    fn segments(controller: &dyn Controller) -> u64 {
        controller.limits().window.expect("STP has a window").get() / 1000
    }

    #[test]
    fn slow_start_doubles_the_window_with_every_window_acknowledged() {
        let mut stp = stp(64);
        for expected in [1, 2, 4, 8, 16, 32, 64, 64] {
            assert_eq!(segments(&*stp), expected);
            ack(&mut *stp, expected);
        }
    }

    #[test]
    fn the_first_reduction_ends_slow_start_and_only_idle_time_brings_it_back() {
        let mut stp = stp(64);
        ack(&mut *stp, 15);
        lose(&mut *stp, LossCause::Nack, true);
        assert_eq!(segments(&*stp), 8);
        assert_eq!(stp.snapshot().phase, Phase::CongestionAvoidance);
        ack(&mut *stp, 8);
        assert!((8..=9).contains(&segments(&*stp)));
        stp.on_signal(&path(), &Signal::Idle { halvings: None });
        assert_eq!((segments(&*stp), stp.snapshot().phase), (1, Phase::SlowStart));
    }

    #[test]
    fn avoidance_adds_one_segment_per_window() {
        let mut stp = stp(64);
        ack(&mut *stp, 19);
        lose(&mut *stp, LossCause::Nack, true);
        let before = stp.limits().window.expect("a window").get();
        ack(&mut *stp, 10);
        let grown = stp.limits().window.expect("a window").get() - before;
        assert!((940..=1000).contains(&grown), "{grown}");
    }

    #[test]
    fn losses_of_one_window_halve_it_once() {
        let mut stp = stp(64);
        ack(&mut *stp, 63);
        lose(&mut *stp, LossCause::Nack, true);
        for _ in 0..10 {
            lose(&mut *stp, LossCause::Nack, false);
        }
        assert_eq!(segments(&*stp), 32);
    }

    #[test]
    fn the_window_stays_between_its_limits() {
        let mut stp = stp(4);
        ack(&mut *stp, 1_000);
        assert_eq!(segments(&*stp), 4);
        for _ in 0..10 {
            lose(&mut *stp, LossCause::Nack, true);
        }
        assert_eq!(segments(&*stp), 1);
        ack(&mut *stp, 1_000_000);
        assert_eq!(segments(&*stp), 4);
    }

    #[test]
    fn a_persistent_loss_starts_over() {
        let mut stp = stp(64);
        ack(&mut *stp, 40);
        lose(&mut *stp, LossCause::Persistent, false);
        assert_eq!((segments(&*stp), stp.snapshot().phase), (1, Phase::SlowStart));
    }
}
