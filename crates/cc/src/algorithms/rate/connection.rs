//! A connection over a link of a given rate.

use bentpipe_units::{BitRate, ByteCount, Span};

use super::link::DedicatedLink;
use crate::{Ack, Controller, Gauge, Limits, Loss, PathView, Phase, Sent, Signal, Snapshot};

/// The window in bandwidth-delay products: room for repairs of repairs.
const WINDOW: u64 = 4;

/// A connection's controller.
#[derive(Debug)]
pub(super) struct Rate {
    link: DedicatedLink,
    floor_window: ByteCount,
    most: ByteCount,
    srtt: Span,
    /// Nobody else counts what leaves.
    counts: bool,
}

impl Rate {
    /// The only connection over a link.
    pub(super) fn alone(rate: BitRate, mss: ByteCount, most: ByteCount) -> Self {
        Self::on(DedicatedLink::alone(rate), mss, most, true)
    }

    pub(super) fn on(link: DedicatedLink, mss: ByteCount, most: ByteCount, counts: bool) -> Self {
        Self { link, floor_window: mss * 64, most, srtt: Span::ZERO, counts }
    }
}

impl Controller for Rate {
    fn on_ack(&mut self, path: &PathView, ack: &Ack) {
        self.srtt = path.srtt;
        let mut link = self.link.estimator();
        link.arrived(ack.bytes);
        // What was found by a gap says nothing of round trips.
        if ack.newest_sent_at < path.now {
            link.answered(path.now, path.now.before(path.latest_rtt));
        }
    }

    fn on_loss(&mut self, path: &PathView, loss: &Loss) {
        self.link.estimator().lost(path.now, loss.bytes);
    }

    fn follows_sending(&self) -> bool {
        self.counts
    }

    fn on_sent(&mut self, path: &PathView, sent: &Sent) {
        if self.counts {
            self.link.sent(path.now, sent.bytes, sent.bytes);
        }
    }

    fn on_signal(&mut self, _path: &PathView, signal: &Signal) {
        match *signal {
            Signal::EcnCe => self.link.estimator().marked(),
            Signal::LinkRate(rate) => self.link.set_rate(rate),
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        let link = self.link.estimator();
        let bdp = link.carried().bytes_in(self.srtt);
        // Before the first measurement nothing but the buffers bounds it.
        let window = if self.srtt.is_zero() { self.most } else { bdp * WINDOW };
        let window = window.max(self.floor_window).min(self.most);
        Limits { window: Some(window), pacing: Some(link.pace()), ..Limits::default() }
    }

    fn snapshot(&self) -> Snapshot {
        let rate = self.link.carried().as_bps() as f64;
        Snapshot {
            phase: Phase::CongestionAvoidance,
            cwnd: self.limits().window,
            ssthresh: None,
            gauges: vec![Gauge { name: "rate_bps", value: rate }],
        }
    }
}
