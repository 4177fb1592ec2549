//! What is recorded of a constellation.

use bentpipe_orbit::{Change, Network, Node, Route};
use bentpipe_record::{ConstellationSummary, HandoverRecord, RouteChange, RouteSummary};
use bentpipe_units::{Instant, Span};

use crate::FlowSpec;

/// The record of a constellation while it is made.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) summary: ConstellationSummary,
    flows: Vec<Flow>,
}

/// The route of a flow.
#[derive(Debug)]
struct Flow {
    ends: (u16, u16),
    /// At the last check; `None` before the first one.
    nodes: Option<Vec<Node>>,
    delay: Option<Span>,
    /// Sum of the delays, in nanoseconds.
    sum: u128,
    least: Span,
    most: Span,
}

impl Log {
    /// A record without checks.
    pub(crate) fn new(network: &Network, flows: &[FlowSpec]) -> Self {
        let constellation = network.constellation();
        let named =
            |flow: &FlowSpec| RouteSummary { flow: flow.name.clone(), ..Default::default() };
        let summary = ConstellationSummary {
            name: constellation.name().to_owned(),
            satellites: constellation.satellites() as u64,
            routes: flows.iter().map(named).collect(),
            ..ConstellationSummary::default()
        };
        let flow = |flow: &FlowSpec| Flow {
            ends: (flow.from as u16, flow.to as u16),
            nodes: None,
            delay: None,
            sum: 0,
            least: Span::from_nanos(u64::MAX),
            most: Span::ZERO,
        };
        Self { summary, flows: flows.iter().map(flow).collect() }
    }

    /// A check at `at` changed this.
    pub(crate) fn changed(&mut self, at: Instant, network: &Network, change: Change) {
        match change {
            Change::IslUp { .. } | Change::IslDown { .. } => self.summary.isl_changes += 1,
            Change::Handover { station, from, to } => {
                let name = |number: u32| network.constellation().satellite_name(number);
                let station = network.stations().get(station as usize);
                self.summary.handovers.push(HandoverRecord {
                    at: at.as_secs_f64(),
                    station: station.map(|station| station.name.clone()).unwrap_or_default(),
                    from: from.map(name),
                    to: to.map(name),
                });
            }
        }
    }

    /// A check at `at` is done; `route` says the route between two stations.
    pub(crate) fn checked(
        &mut self,
        at: Instant,
        mut route: impl FnMut(u16, u16) -> Option<Route>,
    ) {
        self.summary.checks += 1;
        for (flow, summary) in self.flows.iter_mut().zip(&mut self.summary.routes) {
            let route = route(flow.ends.0, flow.ends.1);
            flow.delay = route.as_ref().map(|route| route.delay);
            if let Some(delay) = flow.delay {
                summary.connected += 1;
                flow.sum += u128::from(delay.as_nanos());
                (flow.least, flow.most) = (flow.least.min(delay), flow.most.max(delay));
            }
            let nodes = route.map(|route| route.nodes).unwrap_or_default();
            if flow.nodes.as_ref() != Some(&nodes) {
                summary.changes.push(RouteChange {
                    at: at.as_secs_f64(),
                    delay: flow.delay.map(Span::as_secs_f64),
                    hops: nodes.len().saturating_sub(1) as u64,
                });
                flow.nodes = Some(nodes);
            }
        }
    }

    /// The delay of a flow's route at the last check.
    pub(crate) fn delay(&self, flow: usize) -> Option<Span> {
        self.flows.get(flow)?.delay
    }

    /// The record.
    pub(crate) fn finish(&self) -> ConstellationSummary {
        let mut summary = self.summary.clone();
        for (flow, route) in self.flows.iter().zip(&mut summary.routes) {
            if route.connected > 0 {
                let mean = Span::from_nanos((flow.sum / u128::from(route.connected)) as u64);
                route.least_delay = Some(flow.least.as_secs_f64());
                route.mean_delay = Some(mean.as_secs_f64());
                route.most_delay = Some(flow.most.as_secs_f64());
            }
        }
        summary
    }
}
