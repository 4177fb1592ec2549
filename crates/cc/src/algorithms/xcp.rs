//! XCP at the sending host: routers say by how much the window changes.

use crate::family::{Algorithm, Cause, Reduction, Windowed};
use crate::row::{Build, Parameter, Row};
use crate::window::Window;
use crate::{Ack, Asks, PathRequest, PathView, Phase, Signal};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "xcp",
    summary: "asks the routers for a window and takes what they grant",
    citation: "Katabi, Handley, Rohrs, SIGCOMM 2002; P-XCP: Zhou, Yeung, Li, GLOBECOM 2004",
    parameters: &[Parameter {
        name: "keep_on_loss",
        unit: "1",
        default: 0.0,
        range: (0.0, 1.0),
        summary: "1: a gap is noise and changes nothing (P-XCP); 0: it halves the window",
    }],
    build: &|build| Windowed::boxed(build, &ROW, Xcp::new(build)),
};

#[derive(Debug)]
struct Xcp {
    keep_on_loss: bool,
}

impl Xcp {
    fn new(build: &Build<'_>) -> Self {
        Self { keep_on_loss: build.parameter(&ROW, "keep_on_loss") >= 0.5 }
    }
}

impl Algorithm for Xcp {
    fn grow(&mut self, _window: &mut Window, _path: &PathView, _ack: &Ack) {}

    fn reduce(&mut self, _window: &Window, _path: &PathView, event: &Reduction) -> Option<f64> {
        let keep = self.keep_on_loss && event.cause == Cause::Loss;
        (!keep).then_some(event.flight / 2.0)
    }

    fn signal(&mut self, window: &mut Window, _path: &PathView, signal: &Signal) {
        if let Signal::Explicit { delta } = signal {
            window.add(*delta as f64);
        }
    }

    fn phase(&self) -> Option<Phase> {
        Some(Phase::Other("explicit"))
    }

    fn path_request(&self, window: &Window, path: &PathView) -> Option<PathRequest> {
        // Everything that host and receiver would take, once the round trip is known.
        let most = window.max().min(path.peer_window.get() as f64);
        let greedy = path.cwnd_limited && path.round > 0;
        let delta = if greedy { (most - window.cwnd()).max(0.0) as i64 } else { 0 };
        Some(PathRequest { cwnd: window.bytes(), rtt: path.srtt, asks: Asks::Change(delta) })
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::{ByteCount, Span};

    use crate::testing::Play;
    use crate::{Asks, LossCause, PathRequest, Signal};

    #[test]
    fn the_window_is_what_routers_grant_and_at_least_a_segment() {
        let mut play = Play::new("xcp", &[]);
        play.rounds(3);
        assert_eq!(play.segments(), 2.0);
        play.signal(Signal::Explicit { delta: 58_000 });
        assert_eq!(play.segments(), 60.0);
        play.signal(Signal::Explicit { delta: -1_000_000 });
        assert_eq!(play.segments(), 1.0);
    }

    #[test]
    fn nothing_is_asked_before_the_round_trip_is_known_and_everything_then() {
        let mut play = Play::new("xcp", &[]);
        play.path.peer_window = play.bytes(500);
        let asked = |play: &Play| play.controller.path_request(&play.path).expect("a request");
        let (cwnd, rtt) = (ByteCount::new(2000), Span::from_millis(600));
        let request = PathRequest { cwnd, rtt, asks: Asks::Change(0) };
        assert_eq!(asked(&play), request);
        play.round();
        assert_eq!(asked(&play).asks, Asks::Change(498_000));
        play.path.cwnd_limited = false;
        assert_eq!(asked(&play).asks, Asks::Change(0));
    }

    #[test]
    fn a_gap_halves_unless_it_is_to_be_taken_for_noise() {
        for (keep, left) in [(0.0, 30.0), (1.0, 60.0)] {
            let mut play = Play::new("xcp", &[("keep_on_loss", keep)]);
            play.signal(Signal::Explicit { delta: 58_000 });
            play.lose(LossCause::Gap);
            assert_eq!(play.segments(), left);
            play.lose(LossCause::Timeout);
            assert_eq!(play.segments(), 1.0);
        }
    }
}
