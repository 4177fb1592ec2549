//! A class that is told of each acknowledgement.

use bentpipe_cc::{Controller, Limits, PathView, Phase, Signal, Snapshot};
use bentpipe_units::ByteCount;
use pyo3::intern;
use pyo3::prelude::*;

use super::{Ack, Loss, Path, Told};

/// The controller.
#[derive(Debug)]
pub(super) struct Each {
    told: Told,
    signals: bool,
}

impl Each {
    pub(super) const fn new(told: Told, signals: bool) -> Self {
        Self { told, signals }
    }
}

impl Controller for Each {
    fn on_ack(&mut self, path: &PathView, ack: &bentpipe_cc::Ack) {
        self.told.tell(|object| {
            let name = intern!(object.py(), "on_ack");
            object.call_method1(name, (Path::from(path), Ack::from(ack))).map(drop)
        });
    }

    fn on_loss(&mut self, path: &PathView, loss: &bentpipe_cc::Loss) {
        self.told.tell(|object| {
            let name = intern!(object.py(), "on_loss");
            object.call_method1(name, (Path::from(path), Loss::from(loss))).map(drop)
        });
    }

    fn on_signal(&mut self, path: &PathView, signal: &Signal) {
        let Some((signal, value)) = told(signal).filter(|_| self.signals) else { return };
        self.told.tell(|object| {
            let name = intern!(object.py(), "on_signal");
            object.call_method1(name, (Path::from(path), signal, value)).map(drop)
        });
    }

    fn limits(&self) -> Limits {
        self.told.limits
    }

    fn snapshot(&self) -> Snapshot {
        snapshot(self.told.limits.window)
    }
}

/// What is recorded of a class.
pub(super) const fn snapshot(cwnd: Option<ByteCount>) -> Snapshot {
    Snapshot { phase: Phase::Other("python"), cwnd, ssthresh: None, gauges: Vec::new() }
}

/// A signal in a word, with its value; nothing for those that a class is not told.
fn told(signal: &Signal) -> Option<(&'static str, Option<f64>)> {
    Some(match signal {
        Signal::EcnCe => ("ecn_ce", None),
        Signal::SpuriousLoss => ("spurious_loss", None),
        Signal::RecoveryDone => ("recovery_done", None),
        Signal::Idle { .. } => ("idle", None),
        Signal::MtuChanged { mss } => ("mss", Some(mss.get() as f64)),
        Signal::LinkRate(rate) => ("link_rate", Some(rate.as_bps() as f64)),
        Signal::LinkState { up } => ("link_up", Some(f64::from(u8::from(*up)))),
        Signal::Explicit { .. }
        | Signal::Available(_)
        | Signal::ProbeAcked { .. }
        | Signal::LocalQueue(_)
        | Signal::Begins
        | Signal::AppLimited(_)
        | Signal::Resume { .. }
        | Signal::Capacity(_)
        | Signal::LowLatency { .. }
        | Signal::Weight(_) => return None,
    })
}
