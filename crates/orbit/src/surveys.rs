//! Several routes over the same time: the satellites move once for all of them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::ControlFlow;

use bentpipe_units::{Instant, Span};

use crate::survey::{Handover, Report, Sample, Spread};
use crate::{Change, Network, Node, OrbitError, Route, Routes};

/// What is sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surveys {
    /// Stations at which routes begin and end, by their places in the list.
    pub pairs: Vec<(u32, u32)>,
    /// Time of the first sample.
    pub first: Instant,
    /// Samples are before this.
    pub end: Instant,
    /// The time from one sample to the next; more than zero.
    pub step: Span,
}

impl Surveys {
    /// Takes a network that has just been made through the time and tells `see` the samples of each
    /// moment, one of each pair and in their order. So are the reports.
    ///
    /// # Errors
    /// When the step is zero or a satellite is no longer in orbit.
    pub fn run(
        &self,
        network: &mut Network,
        mut see: impl FnMut(&[Sample]),
    ) -> Result<Vec<Report>, OrbitError> {
        self.run_while(network, |samples| {
            see(samples);
            ControlFlow::Continue(())
        })
    }

    /// The same until `see` breaks off; the reports are of what was seen until then.
    ///
    /// # Errors
    /// When the step is zero or a satellite is no longer in orbit.
    pub fn run_while(
        &self,
        network: &mut Network,
        mut see: impl FnMut(&[Sample]) -> ControlFlow<()>,
    ) -> Result<Vec<Report>, OrbitError> {
        if self.step.is_zero() {
            return Err(OrbitError::invalid("step", "it must be more than 0 s, such as 1 s"));
        }
        let mut tallies = vec![Tally::default(); self.pairs.len()];
        let mut at = self.first;
        while at < self.end {
            network.advance(at, |at, change| {
                if let Change::Handover { station, from, to } = change {
                    for (pair, tally) in self.pairs.iter().zip(&mut tallies) {
                        if station == pair.0 || station == pair.1 {
                            tally.report.handovers.push(Handover { at, station, from, to });
                        }
                    }
                }
            })?;
            let samples = self.samples(network, at)?;
            let seen = see(&samples);
            for (tally, sample) in tallies.iter_mut().zip(samples) {
                tally.add(sample.route);
            }
            if seen.is_break() {
                break;
            }
            at += self.step;
        }
        Ok(tallies.into_iter().map(Tally::report).collect())
    }

    fn samples(&self, network: &mut Network, at: Instant) -> Result<Vec<Sample>, OrbitError> {
        let mut shared: BTreeMap<u32, Routes> = BTreeMap::new();
        let mut samples = Vec::with_capacity(self.pairs.len());
        for (from, to) in &self.pairs {
            let (start, end) = (Node::Station(*from), Node::Station(*to));
            // One search is enough for all ways to a place; for one way it need not go everywhere.
            let alone = self.pairs.iter().filter(|pair| pair.1 == *to).count() == 1;
            let route = if alone {
                network.route(start, end, at)?
            } else {
                let ways = match shared.entry(*to) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => place.insert(network.routes_to(end, at)?),
                };
                ways.route(start)
            };
            samples.push(Sample { at, route });
        }
        Ok(samples)
    }
}

/// A report on its way.
#[derive(Clone, Debug, Default)]
struct Tally {
    report: Report,
    delays: Vec<Span>,
    nodes: Option<Vec<Node>>,
}

impl Tally {
    fn add(&mut self, route: Option<Route>) {
        let report = &mut self.report;
        report.samples += 1;
        let Some(Route { delay, nodes: now }) = route else { return };
        report.connected += 1;
        self.delays.push(delay);
        let hops = now.len() - 1;
        let (least, most) = report.hops.unwrap_or((hops, hops));
        report.hops = Some((least.min(hops), most.max(hops)));
        if let Some(before) = self.nodes.take().filter(|before| *before != now) {
            report.route_changes += 1;
            report.seen[0] += u64::from(before[1] != now[1]);
            report.seen[1] += u64::from(before[before.len() - 2] != now[hops - 1]);
        }
        self.nodes = Some(now);
    }

    fn report(mut self) -> Report {
        Report { delay: Spread::of(&mut self.delays), ..self.report }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Constellation, Station, Survey, known};

    fn network(places: &[&str]) -> Network {
        let spec = known("iridium").expect("known").expect("a constellation");
        let constellation = Constellation::new(&spec).expect("a constellation");
        let station = |name: &&str| Station::terminal(*name, name.parse().expect("a city"));
        let stations = places.iter().map(station).collect();
        Network::new(constellation, stations, &[], Span::from_secs(10)).expect("a network")
    }

    #[test]
    fn several_pairs_at_once_come_to_what_each_comes_to_alone() {
        let places = ["Berkeley", "Boston", "London", "Lima"];
        let (first, step) = (Instant::ZERO, Span::from_secs(7));
        let end = first + Span::from_secs(3600);
        let pairs = vec![(0, 1), (2, 1), (0, 3), (3, 0)];
        let together = Surveys { pairs: pairs.clone(), first, end, step };
        let mut routes = vec![Vec::new(); pairs.len()];
        let reports = together
            .run(&mut network(&places), |samples| {
                for (all, sample) in routes.iter_mut().zip(samples) {
                    all.push(sample.route.clone());
                }
            })
            .expect("in orbit");
        for (number, (from, to)) in pairs.into_iter().enumerate() {
            let mut alone = Vec::new();
            let survey = Survey { from, to, first, end, step };
            let report = survey.run(&mut network(&places), |s| alone.push(s.route.clone()));
            assert_eq!(report.expect("in orbit"), reports[number]);
            assert_eq!(alone, routes[number]);
        }
        assert!(reports.iter().all(|report| report.connected > 500 && report.route_changes > 5));
    }
    #[test]
    fn who_has_seen_enough_breaks_off_and_has_the_reports_until_then() {
        let pairs = vec![(0, 1)];
        let (first, step) = (Instant::ZERO, Span::from_secs(7));
        let surveys = Surveys { pairs, first, end: first + Span::from_secs(3600), step };
        let mut seen = 0;
        let reports = surveys
            .run_while(&mut network(&["Berkeley", "Boston"]), |_| {
                seen += 1;
                if seen < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
            .expect("in orbit");
        assert_eq!((seen, reports.len()), (3, 1));
        assert!(reports[0].connected <= 3);
    }
}
