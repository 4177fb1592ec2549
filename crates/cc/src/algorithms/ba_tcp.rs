//! BA-TCP, Bandwidth Aware TCP: the window is the round-trip propagation delay times the bandwidth that queues
//! on the path state.
//!
//! A survey has one sentence of it: extension headers carry both to the receiver, which sets its window to their product. This
//! project's reading keeps the receiver's window for what the receiver has room for. Data carry the
//! smallest round trip that the sender has seen, as the propagation delay, in the congestion header of XCP;
//! queues write the bandwidth that they have for the flow, acknowledgements bring it back, and the sender's window
//! is the product. It is paced at that bandwidth, so that a window that opens at once is no
//! burst. Losses are noise while queues state the bandwidth, since they overflow for nobody who heeds it; a timeout leaves
//! one segment until the next statement. Where no queue states anything it is Reno.

use bentpipe_units::{BitRate, Span};

use crate::algorithms::reno;
use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::Row;
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, Window};
use crate::{Ack, Asks, Gauge, PathRequest, PathView, Phase, Signal};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "ba-tcp",
    summary: "the window is the propagation delay times the bandwidth that queues state; without them Reno",
    citation: "BA-TCP, Bandwidth Aware TCP, as surveys describe it; what is beyond the product is this \
               project's reading",
    parameters: &[ABC_LIMIT, INITIAL_SSTHRESH],
    build: &|build| Windowed::boxed(build, &ROW, BaTcp::default()),
};

#[derive(Debug, Default)]
struct BaTcp {
    /// What the queues stated last.
    bandwidth: Option<BitRate>,
}

impl Algorithm for BaTcp {
    fn grow(&mut self, window: &mut Window, _path: &PathView, ack: &Ack) {
        if self.bandwidth.is_none() {
            reno::grow(window, ack);
        }
    }

    fn reduce(&mut self, _window: &Window, _path: &PathView, event: &Reduction) -> Option<f64> {
        let noise = self.bandwidth.is_some() && event.cause == Cause::Loss;
        (!noise).then_some(event.flight / 2.0)
    }

    fn restart(&mut self) {
        self.bandwidth = None;
    }

    fn signal(&mut self, window: &mut Window, path: &PathView, signal: &Signal) {
        if let Signal::Available(bandwidth) = signal {
            self.bandwidth = *bandwidth;
            if let Some(bandwidth) = bandwidth {
                let delay = path.min_rtt.as_secs_f64();
                window.set(bandwidth.as_bps() as f64 / 8.0 * delay);
            }
        }
    }

    fn pacing(&self, _window: &Window, _srtt: Span) -> Option<BitRate> {
        self.bandwidth
    }

    fn of_payload(&self) -> bool {
        true
    }

    fn phase(&self) -> Option<Phase> {
        self.bandwidth.map(|_| Phase::Other("explicit"))
    }

    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        let value = self.bandwidth.map_or(0.0, |bandwidth| bandwidth.as_bps() as f64);
        vec![Gauge { name: "available_bps", value }]
    }

    fn path_request(&self, window: &Window, path: &PathView) -> Option<PathRequest> {
        Some(PathRequest { cwnd: window.bytes(), rtt: path.min_rtt, asks: Asks::Bandwidth })
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::BitRate;

    use crate::testing::Play;
    use crate::{Asks, LossCause, Signal};

    /// Segments of 1000 bytes a second that queues state.
    fn stated(play: &mut Play, segments: u64) {
        let rate = BitRate::from_bps(8_000 * segments);
        play.signal(Signal::Available(Some(rate)));
    }

    #[test]
    fn the_window_is_the_smallest_round_trip_times_what_is_stated() {
        let mut play = Play::new("ba-tcp", &[]);
        play.set_rtt(0.9);
        stated(&mut play, 100);
        assert_eq!(play.segments(), 60.0);
        play.rounds(3);
        assert_eq!(play.segments(), 60.0, "nothing else enlarges it");
        stated(&mut play, 50);
        assert_eq!(play.segments(), 30.0);
        let limits = play.controller.limits();
        assert_eq!((limits.pacing, limits.of_payload), (Some(BitRate::from_bps(400_000)), true));
    }

    #[test]
    fn a_loss_is_noise_and_a_timeout_leaves_one_segment_until_the_next_statement() {
        let mut play = Play::new("ba-tcp", &[]);
        stated(&mut play, 100);
        play.lose(LossCause::Gap);
        assert_eq!(play.segments(), 60.0);
        play.lose(LossCause::Timeout);
        assert_eq!(play.segments(), 1.0);
        stated(&mut play, 100);
        assert_eq!(play.segments(), 60.0);
    }

    #[test]
    fn where_no_queue_states_anything_it_is_reno() {
        let [mut play, mut reno] = ["ba-tcp", "reno"].map(|name| Play::new(name, &[]));
        for play in [&mut play, &mut reno] {
            play.signal(Signal::Available(None));
            play.rounds(4);
            play.lose(LossCause::Gap);
            play.recovered();
            play.rounds(2);
        }
        assert_eq!(play.segments(), reno.segments());
        assert_eq!(play.controller.limits().pacing, None);
    }

    #[test]
    fn it_asks_for_the_bandwidth_and_tells_the_propagation_delay() {
        let mut play = Play::new("ba-tcp", &[]);
        play.set_rtt(0.9);
        let request = play.controller.path_request(&play.path).expect("a request");
        assert_eq!((request.asks, request.rtt), (Asks::Bandwidth, play.path.min_rtt));
    }
}
