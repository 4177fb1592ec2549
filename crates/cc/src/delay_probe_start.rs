//! Slow start that falls to half its window when round trips grow, and asks what arrives.
//!
//! When round trips grow, the window that was sent a round trip ago was too large for the link, and today's is twice
//! that: half of it is what the link carries, or nearly. What left before arrives in the next round trip as fast as the
//! link lets it, and tells. HyStart++ (RFC 9406) goes on for five round trips and makes the window three times as
//! large: where a round trip is long and the queue no longer than that, it overflows, and the repairs take seconds.

use bentpipe_units::{Instant, Span};

use crate::bottleneck::Deliveries;
use crate::row::Parameter;
use crate::window::Window;
use crate::{Ack, PathView, ReturnPath};

/// Whether slow start ends by a probe of the delay.
pub(crate) const DELAY_PROBE_START: Parameter = Parameter {
    name: "delay_probe_start",
    unit: "1",
    default: 0.0,
    range: (0.0, 1.0),
    summary: "1: the first slow start falls to half its window when round trips grow, and what arrives in the \
              next one decides whether it goes on (this project's)",
};

/// Growth below this is jitter, as in HyStart++: an eighth of the round trip, but in these bounds.
const THRESHOLD: (Span, Span) = (Span::from_millis(4), Span::from_millis(16));
const DIVISOR: u64 = 8;
/// So many round trips in a row, and for this part of one, have to be longer.
const SAMPLES: u32 = 4;
const PART: u64 = 8;
/// The part of a window that arrives in a round trip where the link carries all of it.
const WHOLE: f64 = 0.8;
/// Above what the link carries, so that it never runs dry between two reports.
const SPARE: f64 = 1.25;

/// The first slow start of a connection.
#[derive(Debug)]
pub(crate) struct DelayProbeStart {
    on: bool,
    /// Round trips are longer since this time, by so many samples.
    longer: Option<(Instant, u32)>,
    probe: Option<Probe>,
    /// The longest round trip of a probe that was a false alarm: what others have in the queue, or a longer path.
    floor: Span,
    /// What waits on the way back is no queue of the window.
    back: ReturnPath,
}

#[derive(Debug)]
struct Probe {
    /// The window in bytes when round trips had grown, and what of it was under way.
    window: f64,
    under_way: f64,
    longest: Span,
    ends: Instant,
    deliveries: Deliveries,
    /// The fastest delivery since then, in bytes per second.
    fastest: f64,
    /// Something was lost: the alarm was not false.
    lossy: bool,
}

impl DelayProbeStart {
    /// At the start of a connection.
    pub(crate) fn new(on: bool) -> Self {
        Self { on, longer: None, probe: None, floor: Span::ZERO, back: ReturnPath::default() }
    }

    /// The first slow start is over.
    pub(crate) fn end(&mut self) {
        *self = Self::new(false);
    }

    /// Round trips grew though what was sent arrived: others move the queue.
    pub(crate) fn was_misled(&self) -> bool {
        self.floor > Span::ZERO
    }

    /// The growth for each segment acknowledged.
    pub(crate) const fn growth(&self) -> f64 {
        if self.probe.is_some() { 0.0 } else { 1.0 }
    }

    /// Something was lost. True during the probe: it had left before, and the fall to half the window has
    /// answered it.
    pub(crate) const fn absorbs_loss(&mut self) -> bool {
        let Some(probe) = &mut self.probe else { return false };
        probe.lossy = true;
        true
    }

    /// Looks at a round trip and at what arrives; may end slow start.
    pub(crate) fn measure(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        if !self.on {
            return;
        }
        if !window.in_slow_start() {
            return self.end();
        }
        self.back.measure(path.now, path.return_delay);
        let round_trip = path.latest_rtt.saturating_sub(self.back.excess());
        if let Some(probe) = &mut self.probe {
            if let Some(delivery) = probe.deliveries.take(path, ack) {
                probe.fastest = probe.fastest.max(delivery.rate);
            }
            if !path.latest_rtt.is_zero() {
                probe.longest = probe.longest.max(round_trip);
            }
            if path.now >= probe.ends {
                self.judge(window, path);
            }
        } else if self.has_grown(path, round_trip) {
            let ends = path.now + path.latest_rtt.mul_div(9, 8);
            let deliveries = Deliveries::default();
            self.probe = Some(Probe {
                window: window.cwnd(),
                under_way: (path.in_flight.get() as f64).min(window.cwnd()),
                longest: round_trip,
                ends,
                deliveries,
                fastest: 0.0,
                lossy: false,
            });
            window.set(window.cwnd() / 2.0);
        }
    }

    /// Whether round trips are longer, and not for a moment.
    fn has_grown(&mut self, path: &PathView, round_trip: Span) -> bool {
        let least = (path.min_rtt / DIVISOR).clamp(THRESHOLD.0, THRESHOLD.1);
        if round_trip < path.min_rtt.max(self.floor) + least {
            self.longer = None;
            return false;
        }
        let (since, samples) = self.longer.get_or_insert((path.now, 0));
        *samples += 1;
        *samples >= SAMPLES && path.now.since(*since) >= path.min_rtt / PART
    }

    fn judge(&mut self, window: &mut Window, path: &PathView) {
        let Some(probe) = self.probe.take() else { return };
        let carried = probe.fastest * (path.min_rtt + self.back.excess()).as_secs_f64();
        if carried >= WHOLE * probe.under_way && !probe.lossy {
            // A false alarm.
            window.set(probe.window);
            (self.longer, self.floor) = (None, probe.longest);
        } else {
            window.set((SPARE * carried).max(probe.window / 2.0).min(probe.window));
            window.set_ssthresh(window.cwnd());
            self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::LossCause;
    use crate::testing::Play;

    /// Slow start to 128 segments, and round trips that grow then from 600 ms.
    fn grown() -> Play {
        let mut play = Play::new("cubic", &[("delay_probe_start", 1.0)]);
        play.rounds(6);
        assert_eq!(play.segments(), 128.0);
        play.path.in_flight = play.bytes(128);
        play.set_rtt(0.62);
        for _ in 0..4 {
            assert_eq!(play.segments(), 128.0);
            play.wait(0.03);
            play.ack_at_once(0);
        }
        play
    }

    /// The same, and the rates at which segments arrive in the round trip after that.
    fn probe(rates: &[f64]) -> Play {
        let mut play = grown();
        for rate in rates {
            play.wait(0.7 / rates.len() as f64);
            play.deliver(*rate);
        }
        play
    }

    #[test]
    fn at_half_the_window_what_arrives_tells_what_the_link_carries() {
        assert_eq!(grown().segments(), 64.0);
        for (rates, window) in [(&[60.0, 120.0][..], 90.0), (&[120.0, 60.0], 90.0), (&[10.0], 64.0)]
        {
            let play = probe(rates);
            assert_eq!((play.segments(), play.ssthresh()), (window, window), "{rates:?}");
        }
    }

    #[test]
    fn if_the_whole_window_arrives_the_alarm_was_false() {
        let mut play = probe(&[150.0, 180.0]);
        assert_eq!((play.segments(), play.ssthresh()), (128.0, f64::INFINITY));
        play.set_rtt(0.6);
        play.round();
        assert_eq!(play.segments(), 256.0);
    }

    #[test]
    fn round_trips_of_a_false_alarm_are_none_again() {
        let mut play = probe(&[150.0, 180.0]);
        for _ in 0..20 {
            play.set_rtt(0.63);
            play.wait(0.03);
            play.ack_at_once(0);
        }
        assert_eq!(play.segments(), 128.0, "10 ms above those of the alarm");
        for _ in 0..4 {
            play.set_rtt(0.64);
            play.wait(0.03);
            play.ack_at_once(0);
        }
        assert_eq!(play.segments(), 64.0, "20 ms above them");
    }

    #[test]
    fn the_alarm_is_false_if_what_was_under_way_arrives() {
        let mut play = Play::new("cubic", &[("delay_probe_start", 1.0)]);
        play.rounds(6);
        play.path.in_flight = play.bytes(80);
        play.set_rtt(0.62);
        for _ in 0..4 {
            play.wait(0.03);
            play.ack_at_once(0);
        }
        play.wait(0.7);
        play.deliver(110.0);
        assert_eq!((play.segments(), play.ssthresh()), (128.0, f64::INFINITY));
    }

    #[test]
    fn nothing_grows_while_it_is_not_known() {
        let mut play = grown();
        play.wait(0.3);
        play.ack_at_once(32);
        assert_eq!(play.segments(), 64.0);
    }

    #[test]
    fn a_round_trip_that_is_longer_for_a_moment_changes_nothing() {
        let mut play = Play::new("cubic", &[("delay_probe_start", 1.0)]);
        play.rounds(6);
        for rtt in [0.7, 0.7, 0.7, 0.61, 0.7, 0.7, 0.7, 0.6] {
            play.set_rtt(rtt);
            play.wait(0.05);
            play.ack_at_once(0);
        }
        assert_eq!(play.segments(), 128.0);
        for _ in 0..20 {
            play.set_rtt(0.62);
            play.wait(0.001);
            play.ack_at_once(0);
        }
        assert_eq!(play.segments(), 128.0, "many, but all within 20 ms");
    }

    #[test]
    fn a_loss_during_the_trial_costs_no_more_and_ends_slow_start() {
        let mut play = grown();
        play.lose(LossCause::Nack);
        assert_eq!(play.segments(), 64.0);
        play.recovered();
        play.wait(0.7);
        play.deliver(1_000.0);
        assert_eq!((play.segments(), play.ssthresh()), (128.0, 128.0));
        play.lose(LossCause::Nack);
        assert_eq!(play.segments(), 128.0 * 0.7);
    }

    #[test]
    fn a_timeout_during_the_trial_is_one_as_always() {
        let mut play = grown();
        play.lose(LossCause::Timeout);
        assert_eq!(play.segments(), 1.0);
        play.wait(1.0);
        play.deliver(1_000.0);
        assert_eq!(play.segments(), 1.0);
    }
}
