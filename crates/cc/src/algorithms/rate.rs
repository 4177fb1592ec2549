//! A given rate: for a link whose capacity is known and that nobody shares.
//!
//! Segments are paced from the first one on, losses of single segments change nothing, and the window only bounds
//! what the sender remembers. What the link really carries, and how long its path is, an estimator finds out from what
//! arrives; connections over the same link have one together ([`DedicatedLink`]).

mod base;
mod estimator;
mod link;
mod samples;
mod sent;

use bentpipe_units::{BitRate, ByteCount, Span};

pub use self::link::DedicatedLink;
use crate::row::{Build, Parameter, Row};
use crate::{Ack, Controller, Gauge, Limits, Loss, PathView, Phase, Sent, Signal, Snapshot};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "rate",
    summary: "a given rate, paced from the first segment on; follows what the link carries of it",
    citation: "rate-based sending over a dedicated satellite link, as in RFC 2488, section 5, and \
               hysteria's \"brutal\"; what the link carries is found out in this project's way",
    parameters: &[Parameter {
        name: "rate",
        unit: "bit/s",
        default: 10e6,
        range: (1e3, 1e12),
        summary: "rate of whole segments, headers of the transport included",
    }],
    build: |build| Box::new(Rate::new(build)),
};

/// The window in bandwidth-delay products: room for repairs of repairs.
const WINDOW: u64 = 4;

/// A connection's controller.
#[derive(Debug)]
struct Rate {
    link: DedicatedLink,
    floor_window: ByteCount,
    most: ByteCount,
    srtt: Span,
    /// Nobody else counts what leaves.
    counts: bool,
}

impl Rate {
    /// The only connection over a link.
    fn new(build: &Build<'_>) -> Self {
        let rate = BitRate::from_bps(build.parameter(&ROW, "rate") as u64);
        Self::on(DedicatedLink::alone(rate), build.mss, build.cwnd_max, true)
    }

    fn on(link: DedicatedLink, mss: ByteCount, most: ByteCount, counts: bool) -> Self {
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
            self.link.sent(path.now, sent.bytes);
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

#[cfg(test)]
mod tests;
