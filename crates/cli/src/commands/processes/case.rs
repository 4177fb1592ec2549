//! A scenario that three processes can be.

use std::sync::Arc;

use bentpipe_net::qlp;
use bentpipe_record::LinkSummary;
use bentpipe_scenario::Scenario;
use bentpipe_sim::{Encapsulation, FlowSpec, Protocol, RunSpec};
use bentpipe_transport::xstp::Config;

use crate::commands::emulate::{Links, OneWay};
use crate::failure::Failure;

/// A file that XSTP carries over some links.
pub(super) struct Case {
    pub(super) spec: RunSpec,
    pub(super) sender: Arc<Config>,
    pub(super) receiver: Arc<Config>,
    path: Links,
}

impl Case {
    /// That of a scenario.
    pub(super) fn of(scenario: &Scenario, seed: u64) -> Result<Self, Failure> {
        let wrong = |message: &str| {
            Failure::Input(format!("{}: with --via mqueue {message}", scenario.source()))
        };
        if !scenario.reads().is_empty() {
            return Err(wrong("a scenario reads no other files, such as traces"));
        }
        let spec = scenario.run_spec(Some(seed), false)?;
        if spec.links.iter().any(|link| link.mtu.is_some()) {
            return Err(wrong("links have no `mtu`"));
        }
        if spec.encapsulation != Encapsulation::Qlp {
            return Err(wrong("`encapsulation` is \"qlp\", as message queues are"));
        }
        let [flow] = &spec.flows[..] else {
            return Err(wrong("a scenario has one flow"));
        };
        let Protocol::Xstp { sender, receiver } = &flow.protocol else {
            return Err(wrong("the flow is of XSTP: TCP and SCTP are in the simulator"));
        };
        let (sender, receiver) = (sender.clone(), receiver.clone());
        let is_plain = flow.traffic.is_none()
            && flow.request.is_none()
            && flow.proxies.is_empty()
            && flow.gateways.is_none()
            && flow.source.rate.is_none();
        if !is_plain || flow.source.size.is_none() {
            return Err(wrong(
                "the flow sends one file as fast as it may: `size`, and no `rate`, `request`, `traffic`, proxies and gateways",
            ));
        }
        if ![&sender, &receiver].iter().all(|config| qlp::fits(config)) {
            return Err(wrong("segments are shorter: 2,048 bytes with all that may be in one"));
        }
        let path = Links::of(&spec)
            .ok_or_else(|| wrong("links lead from the flow's sender to its receiver"))?;
        if path.have_agents() {
            return Err(wrong("there are no agents: they see packets of IP"));
        }
        Ok(Self { spec, sender, receiver, path })
    }

    /// The flow.
    pub(super) fn flow(&self) -> &FlowSpec {
        &self.spec.flows[0]
    }

    /// The links that the router emulates.
    pub(super) const fn path(&self) -> &Links {
        &self.path
    }

    /// What all links together carried, forward and in return.
    pub(super) fn links(&self, [forward, returned]: [&OneWay; 2]) -> Vec<LinkSummary> {
        let flow = self.flow();
        let [from, to] = [flow.from, flow.to].map(|node| &self.spec.nodes[node]);
        let ways = [(forward, from, to), (returned, to, from)];
        let summary = |(way, from, to): (&OneWay, &String, &String)| LinkSummary {
            name: self.path.names(),
            from: from.clone(),
            to: to.clone(),
            packets: way.packets,
            bytes: way.bytes,
            delivered: way.delivered,
            lost_queue_full: way.lost_queue_full,
            lost_early: way.lost_early,
            lost_channel: way.lost,
            marked: way.marked,
            ..LinkSummary::default()
        };
        ways.into_iter().map(summary).collect()
    }
}
