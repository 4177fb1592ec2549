//! The link between a station and its satellite, which is another one after each handover.

use std::collections::VecDeque;

use bentpipe_link::{Fate, HandoverSpec, LossCause, Model, ModelSpec, Passing, Series, Streams};
use bentpipe_orbit::{Change, Network};
use bentpipe_units::Instant;

/// Of what finds no link.
pub(super) const LOST: Fate = Fate::Lost(LossCause::Blackout);

/// One direction of the link between a station and its satellite. What waits for it while the station gives its
/// satellite up is lost.
#[derive(Debug)]
pub(super) struct Line {
    network: Network,
    station: u32,
    models: Vec<ModelSpec>,
    handover: HandoverSpec,
    /// What its random streams are called, and which direction it is.
    names: [&'static str; 2],
    streams: Streams,
    series: Series,
    /// How many satellites the station gave up; each of the links has draws of its own.
    given_up: u32,
    /// When it gave one up, as far as no packet came after that.
    handovers: VecDeque<Instant>,
}

impl Line {
    pub(super) fn new(
        network: &Network,
        handover: &HandoverSpec,
        station: u32,
        models: &[ModelSpec],
        names: [&'static str; 2],
        streams: Streams,
    ) -> Self {
        let mut line = Self {
            network: network.clone(),
            station,
            models: models.to_vec(),
            handover: handover.clone(),
            names,
            streams,
            series: Series::default(),
            given_up: 0,
            handovers: VecDeque::new(),
        };
        line.series = line.build(&line.models);
        line
    }

    /// An idle link of these models.
    fn build(&self, models: &[ModelSpec]) -> Series {
        let [place, direction] = self.names;
        let name = format!("{place}/{}", self.given_up);
        ModelSpec::build_series(models, &self.streams, &name, direction)
    }

    /// The link as it is after a handover at `at`.
    fn renew(&mut self, at: Instant) {
        // Both directions of a station draw the same.
        let name = format!("handover/{}/{}", self.station, self.given_up);
        let mut stream = self.streams.stream(&name);
        let holds = self.network.stations().get(self.station as usize);
        self.series = if holds.is_some_and(|station| station.policy.holds()) {
            self.build(&self.handover.models(&self.models, at, &mut stream))
        } else {
            self.build(&self.models)
        };
    }

    /// How many satellites the station gave up.
    #[cfg(test)]
    pub(super) const fn handovers_passed(&self) -> u32 {
        self.given_up
    }

    /// Makes the checks up to and including `to`. A satellite that came down ends them; whoever looks for routes tells.
    fn advance(&mut self, to: Instant) {
        if to < self.network.next_check() {
            return;
        }
        let (own, handovers) = (self.station, &mut self.handovers);
        let _ = self.network.advance(to, |at, change| {
            if let Change::Handover { station, from: Some(_), .. } = change
                && station == own
            {
                handovers.push_back(at);
            }
        });
    }
}

impl Model for Line {
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        self.advance(at);
        let last = self.handovers.iter().copied().filter(|handover| *handover <= at).max();
        self.handovers.retain(|handover| *handover > at);
        if let Some(last) = last {
            self.given_up += 1;
            self.renew(last);
        }
        let fate = self.series.pass(at, packet);
        let (Fate::Leaves(leaves) | Fate::LeavesCorrupt(leaves)) = fate else { return fate };
        self.advance(leaves);
        if self.handovers.front().is_some_and(|first| *first < leaves) {
            return LOST;
        }
        fate
    }

    fn forget_before(&mut self, now: Instant) {
        self.advance(now);
        self.series.forget_before(now);
    }
}
