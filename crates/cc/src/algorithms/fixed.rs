//! A fixed window: for a link whose capacity is known, and where whoever sends over it sees to it that
//! the sum of what is sent fits.

use bentpipe_units::{BitRate, ByteCount};

use crate::row::{Build, Parameter, Row};
use crate::{Ack, Controller, Limits, Loss, PathView, Phase, Snapshot};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "fixed",
    summary: "a fixed window, paced if a rate is given; nothing changes it",
    citation: "Shang, Hadjitheodosiou, Baras, AeroTCP, section 4.2; Zhou and Baras, section III.A",
    parameters: &[
        Parameter {
            name: "window",
            unit: "segment",
            default: 0.0,
            range: (0.0, 1e6),
            summary: "the window; 0 for the largest one, which the send buffer gives",
        },
        Parameter {
            name: "peak_rate",
            unit: "bit/s",
            default: 0.0,
            range: (0.0, 1e12),
            summary: "rate of whole segments, headers of the transport included; 0 is unpaced",
        },
    ],
    build: &|build| Box::new(Fixed::new(build)),
};

#[derive(Debug)]
struct Fixed {
    limits: Limits,
}

impl Fixed {
    fn new(build: &Build<'_>) -> Self {
        let segments = build.parameter(&ROW, "window") as u64;
        let window = if segments == 0 { build.cwnd_max } else { build.mss * segments };
        let rate = build.parameter(&ROW, "peak_rate") as u64;
        let window = window.max(build.cwnd_min).min(build.cwnd_max);
        let pacing = (rate > 0).then(|| BitRate::from_bps(rate));
        Self { limits: Limits { window: Some(window), pacing, ..Limits::default() } }
    }

    fn window(&self) -> Option<ByteCount> {
        self.limits.window
    }
}

impl Controller for Fixed {
    fn on_ack(&mut self, _path: &PathView, _ack: &Ack) {}

    fn on_loss(&mut self, _path: &PathView, _loss: &Loss) {}

    fn limits(&self) -> Limits {
        self.limits
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            phase: Phase::Other("fixed"),
            cwnd: self.window(),
            ssthresh: None,
            gauges: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::BitRate;

    use crate::LossCause;
    use crate::testing::Play;

    #[test]
    fn neither_acknowledgements_nor_losses_change_the_window() {
        let mut play = Play::new("fixed", &[("window", 77.0)]);
        play.rounds(5);
        play.lose(LossCause::Gap);
        play.lose(LossCause::Timeout);
        assert_eq!(play.segments(), 77.0);
        assert_eq!(play.controller.limits().pacing, None);
    }

    #[test]
    fn a_peak_rate_paces() {
        let play = Play::new("fixed", &[("peak_rate", 900e3)]);
        assert_eq!(play.controller.limits().pacing, Some(BitRate::from_bps(900_000)));
    }
}
