//! A class that is told of whole round trips: between them the window grows by a rule that the class sets.

use std::mem;

use bentpipe_cc::{Controller, Limits, PathView, Snapshot};
use bentpipe_units::{ByteCount, Instant};
use pyo3::intern;
use pyo3::prelude::*;

use super::each::snapshot;
use super::{Path, Round, Told};
use crate::error::error;

/// The controller.
#[derive(Debug)]
pub(super) struct Rounds {
    told: Told,
    /// The window in bytes, of which a byte may not be whole yet; none where only the pace holds back the sender.
    window: Option<f64>,
    /// Bytes by which it grows for each byte that is acknowledged.
    growth: f64,
    /// The round trip under way, and when the class was told last.
    number: u64,
    since: Instant,
    round: Round,
}

impl Rounds {
    pub(super) fn new(told: Told) -> Self {
        let window = bytes(told.limits.window);
        let round = Round::default();
        let mut new = Self { told, window, growth: 0.0, number: 0, since: Instant::ZERO, round };
        new.tell(|_| Ok(()));
        new
    }

    /// Ends the round trip.
    fn end(&mut self, path: &PathView) {
        let mut round = mem::take(&mut self.round);
        round.seconds = path.now.since(self.since).as_secs_f64();
        self.since = path.now;
        let window = self.window;
        self.tell(|object| {
            object.setattr(intern!(object.py(), "cwnd"), window)?;
            let name = intern!(object.py(), "on_round");
            object.call_method1(name, (Path::from(path), round)).map(drop)
        });
    }

    fn tell(&mut self, what: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        let mut growth = self.growth;
        self.told.tell(|object| {
            what(object)?;
            growth = object.getattr(intern!(object.py(), "growth"))?.extract()?;
            if !(0.0..=16.0).contains(&growth) {
                return Err(error(format!("growth: {growth} does not lie in 0..=16")));
            }
            Ok(())
        });
        self.growth = growth;
        self.window = bytes(self.told.limits.window);
    }
}

fn bytes(window: Option<ByteCount>) -> Option<f64> {
    window.map(|window| window.get() as f64)
}

impl Controller for Rounds {
    fn on_ack(&mut self, path: &PathView, ack: &bentpipe_cc::Ack) {
        self.round.add(path, ack);
        if let Some(window) = self.window.as_mut().filter(|_| path.cwnd_limited && !ack.in_recovery)
        {
            let (least, most) = self.told.range;
            *window = (*window + self.growth * ack.bytes.get() as f64).min(most.get() as f64);
            let whole = ByteCount::new(*window as u64).clamp(least, most);
            self.told.limits.window = Some(whole);
        }
        if path.round != self.number {
            self.number = path.round;
            self.end(path);
        }
    }

    fn on_loss(&mut self, path: &PathView, loss: &bentpipe_cc::Loss) {
        self.round.lost_bytes += loss.bytes.get();
        if loss.new_episode {
            self.round.loss = Some(super::facts::cause(loss.cause));
            self.end(path);
        }
    }

    fn limits(&self) -> Limits {
        self.told.limits
    }

    fn snapshot(&self) -> Snapshot {
        snapshot(self.told.limits.window)
    }
}
