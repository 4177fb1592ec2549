//! A controller: slow start, then a segment per round trip; a loss takes little.

use bentpipe::cc::{
    Ack, Build, Controller, Limits, Loss, LossCause, Parameter, PathView, Phase, Row, Snapshot,
};
use bentpipe::units::ByteCount;

/// What scenarios and comparisons know of it.
pub(crate) static GENTLE: Row = Row {
    name: "gentle",
    summary: "slow start, then a segment per round trip; a loss takes a tenth",
    citation: "this file",
    parameters: &[Parameter {
        name: "beta",
        unit: "1",
        default: 0.9,
        range: (0.1, 1.0),
        summary: "what a loss leaves of the window",
    }],
    build: &|build: &Build<'_>| Box::new(Gentle::new(build)),
};

/// Windows are in bytes, of which a byte may not be whole yet.
#[derive(Debug)]
struct Gentle {
    window: f64,
    ssthresh: f64,
    beta: f64,
}

impl Gentle {
    fn new(build: &Build<'_>) -> Self {
        let beta = build.parameter(&GENTLE, "beta");
        Self { window: build.cwnd_init.get() as f64, ssthresh: f64::INFINITY, beta }
    }
}

impl Controller for Gentle {
    fn on_ack(&mut self, path: &PathView, ack: &Ack) {
        if ack.in_recovery || !path.cwnd_limited {
            return;
        }
        let bytes = ack.bytes.get() as f64;
        let slow_start = self.window < self.ssthresh;
        self.window += if slow_start { bytes } else { path.mss.get() as f64 * bytes / self.window };
    }

    fn on_loss(&mut self, path: &PathView, loss: &Loss) {
        if loss.new_episode {
            let segment = path.mss.get() as f64;
            self.ssthresh = (self.beta * self.window).max(2.0 * segment);
            self.window = if loss.cause == LossCause::Timeout { segment } else { self.ssthresh };
        }
    }

    fn limits(&self) -> Limits {
        Limits { window: Some(ByteCount::new(self.window as u64)), ..Limits::default() }
    }

    fn snapshot(&self) -> Snapshot {
        let slow_start = self.window < self.ssthresh;
        Snapshot {
            phase: if slow_start { Phase::SlowStart } else { Phase::CongestionAvoidance },
            cwnd: self.limits().window,
            ssthresh: self.ssthresh.is_finite().then_some(ByteCount::new(self.ssthresh as u64)),
            gauges: Vec::new(),
        }
    }
}
