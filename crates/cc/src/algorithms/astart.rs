//! Astart: Westwood whose slow start threshold follows the rate that acknowledgements show.

use std::collections::VecDeque;

use bentpipe_units::Instant;

use crate::algorithms::reno;
use crate::algorithms::westwood::{TAU, Westwood};
use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, Window};
use crate::{Ack, Gauge, PathView};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "astart",
    summary: "Westwood; slow start goes on while acknowledgements come faster than the threshold says",
    citation: "Wang, Pau, Yamada, Sanadidi, Gerla, TCP Westwood with adaptive start, INFOCOM 2004",
    parameters: &[
        TAU,
        ABC_LIMIT,
        Parameter { default: 4.0, range: (2.0, 1e9), ..INITIAL_SSTHRESH },
    ],
    build: &|build| Windowed::boxed(build, &ROW, Astart::new(build)),
};

/// The shortest interval over which the rate is taken is the round trip divided by this: bursts of
/// acknowledgements that are shorter say nothing of the bottleneck.
const SHORTEST: f64 = 16.0;
/// So many acknowledgements are remembered at most.
const REMEMBERED: usize = 4096;

#[derive(Debug)]
struct Astart {
    westwood: Westwood,
    /// Acknowledgements of the last round trip: when and how many bytes.
    acks: VecDeque<(Instant, f64)>,
    /// Bytes in `acks`.
    bytes: f64,
    /// No loss has shown yet how much there is.
    starting: bool,
    /// The eligible rate in bytes per second.
    eligible: f64,
    /// The window at the start of the round, which is what the round acknowledges.
    sent: f64,
    round: u64,
}

impl Astart {
    fn new(build: &Build<'_>) -> Self {
        Self {
            westwood: Westwood::new(build, &ROW),
            acks: VecDeque::new(),
            bytes: 0.0,
            starting: true,
            eligible: 0.0,
            sent: 0.0,
            round: 0,
        }
    }

    /// The eligible rate: over a short interval on an empty path, where acknowledgements come at the
    /// bottleneck's rate; over a round trip where a queue shows that the window is too large.
    fn estimate(&mut self, path: &PathView, ack: &Ack) {
        let (rtt, now) = (path.latest_rtt.as_secs_f64(), path.now);
        self.acks.push_back((now, ack.bytes.get() as f64));
        self.bytes += ack.bytes.get() as f64;
        while let Some(&(at, bytes)) = self.acks.front()
            && (now.since(at) > path.latest_rtt || self.acks.len() > REMEMBERED)
        {
            self.bytes -= bytes;
            self.acks.pop_front();
        }
        let expected = self.sent / path.min_rtt.as_secs_f64().max(1e-9);
        let actual = self.bytes / rtt.max(1e-9);
        let queue =
            if expected > 0.0 { ((expected - actual) / expected).clamp(0.0, 1.0) } else { 0.0 };
        // Before the round is over less than the window has been acknowledged: no sign of a queue.
        let over = rtt - path.min_rtt.as_secs_f64() > rtt / SHORTEST;
        let interval = if over { rtt * queue } else { 0.0 }.max(rtt / SHORTEST);
        let recent = self.acks.iter().rev();
        let bytes: f64 = recent
            .take_while(|(at, _)| now.since(*at).as_secs_f64() < interval)
            .map(|(_, bytes)| bytes)
            .sum();
        self.eligible = if interval > 0.0 { bytes / interval } else { 0.0 };
    }
}

impl Algorithm for Astart {
    fn measure(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        self.westwood.measure(window, path, ack);
        if !self.starting {
            return;
        }
        if path.round != self.round {
            (self.round, self.sent) = (path.round, window.cwnd());
        }
        self.estimate(path, ack);
        let share = self.eligible * path.min_rtt.as_secs_f64();
        if share > window.ssthresh() {
            window.set_ssthresh(share);
        }
    }

    fn grow(&mut self, window: &mut Window, _path: &PathView, ack: &Ack) {
        reno::grow(window, ack);
    }

    fn reduce(&mut self, window: &Window, path: &PathView, event: &Reduction) -> Option<f64> {
        self.starting = event.cause == Cause::Timeout;
        self.acks.clear();
        self.bytes = 0.0;
        self.westwood.reduce(window, path, event)
    }

    fn restart(&mut self) {
        self.starting = true;
    }

    fn gauges(&self, window: &Window) -> Vec<Gauge> {
        let mut gauges = self.westwood.gauges(window);
        gauges.push(Gauge { name: "eligible_rate_bps", value: self.eligible * 8.0 });
        gauges
    }
}

#[cfg(test)]
mod tests {
    use crate::LossCause;
    use crate::testing::{Link, Play};

    #[test]
    fn the_threshold_is_raised_to_what_the_path_carries_and_not_far_beyond() {
        // 6 Mbit/s and 0.6 s are 450 segments.
        let mut link = Link::new("astart", 6e6, 0.6, 1e9);
        link.run(12.0);
        let ssthresh = link.play.ssthresh();
        assert!((400.0..560.0).contains(&ssthresh), "{ssthresh}");
        assert!(link.play.segments() > 400.0, "{}", link.play.segments());
        assert!(link.queue_seconds() < 0.3, "{}", link.queue_seconds());
    }

    #[test]
    fn on_an_empty_path_the_rate_is_taken_over_a_sixteenth_of_the_round_trip() {
        let mut play = Play::new("astart", &[]);
        for _ in 0..20 {
            play.wait(0.005);
            play.ack_at_once(1);
        }
        // 37.5 ms of 0.6 s, in which eight segments came.
        let rate = play.gauge("eligible_rate_bps") / 8000.0;
        assert!((rate - 8.0 / 0.0375).abs() < 0.1, "{rate} segments/s");
    }

    #[test]
    fn a_westwood_with_the_same_threshold_is_far_slower() {
        let mut play = Play::new("westwood", &[("initial_ssthresh", 4.0)]);
        play.rounds(20);
        assert!(play.segments() < 25.0);
    }

    #[test]
    fn after_a_loss_the_threshold_stays() {
        let mut link = Link::new("astart", 6e6, 0.6, 1e9);
        link.run(12.0);
        link.play.lose(LossCause::Gap);
        let ssthresh = link.play.ssthresh();
        link.run(5.0);
        assert_eq!(link.play.ssthresh(), ssthresh);
    }
}
