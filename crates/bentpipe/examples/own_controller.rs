//! A congestion controller of one's own beside CUBIC and BBR on a geostationary link.

use std::error::Error;

use bentpipe::cc::{
    Ack, Build, Controller, Limits, Loss, Parameter, PathView, Phase, Registry, Row, Snapshot,
};
use bentpipe::experiments::compare::{CompareOptions, Variant, compare};
use bentpipe::scenario::{Extensions, Scenario};
use bentpipe::units::ByteCount;

/// What scenarios and comparisons know of it.
static DOUBLING: Row = Row {
    name: "doubling",
    summary: "one byte more for each byte that arrived; a loss takes a part",
    citation: "this file",
    parameters: &[Parameter {
        name: "keep",
        unit: "1",
        default: 0.8,
        range: (0.1, 1.0),
        summary: "what a loss leaves of the window",
    }],
    build: &|build: &Build<'_>| {
        Box::new(Doubling { window: build.cwnd_init, keep: build.parameter(&DOUBLING, "keep") })
    },
};

#[derive(Debug)]
struct Doubling {
    window: ByteCount,
    keep: f64,
}

impl Controller for Doubling {
    fn on_ack(&mut self, path: &PathView, ack: &Ack) {
        if path.cwnd_limited && !ack.in_recovery {
            self.window += ack.bytes;
        }
    }

    fn on_loss(&mut self, path: &PathView, loss: &Loss) {
        if loss.new_episode {
            let kept = ByteCount::new((self.window.get() as f64 * self.keep) as u64);
            self.window = kept.max(path.mss * 2);
        }
    }

    fn limits(&self) -> Limits {
        Limits { window: Some(self.window), ..Limits::default() }
    }

    fn snapshot(&self) -> Snapshot {
        let (cwnd, ssthresh) = (Some(self.window), None);
        Snapshot { phase: Phase::Other("doubling"), cwnd, ssthresh, gauges: Vec::new() }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let registry = Registry::built_in().with(&DOUBLING)?;
    let extensions = Extensions::default().with_controllers(registry.clone());
    let scenario = Scenario::open_with("geo", &extensions)?;
    let names = ["tcp-doubling", "tcp-cubic", "tcp-bbr"];
    let variants: Result<Vec<_>, _> =
        names.iter().map(|name| Variant::of(name, &registry)).collect();
    let options = CompareOptions { seeds: (1..=3).collect(), ..CompareOptions::default() };
    let compared = compare(&scenario, &variants?, &options, &())?;
    for row in &compared.ranking().rows {
        println!("{:12} {:6.2} Mbit/s", row.variant, row.goodput.mean / 1e6);
    }
    Ok(())
}
