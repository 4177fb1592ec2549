//! What flows need, before anything is built: ends and ports.

use std::collections::BTreeSet;

use crate::FlowSpec;

/// Port of the first flow's listener; the others follow.
const SERVER_PORT: u16 = 5002;
/// Port of the first flow's client; the others follow.
const CLIENT_PORT: u16 = 49_152;
/// Port of the first flow of datagrams at both ends; the others follow. Connections have others.
pub(crate) const DATAGRAM_PORT: u16 = 40_000;

/// Ends of all flows, those of proxies included.
pub(crate) fn count_ends(flows: &[FlowSpec]) -> usize {
    let gateways = |flow: &FlowSpec| usize::from(flow.gateways.is_some());
    flows.iter().map(|flow| 2 * pairs_of(flow) * (1 + flow.proxies.len() + gateways(flow))).sum()
}

/// Pairs of ends that a flow needs; datagrams need none.
pub(crate) fn pairs_of(flow: &FlowSpec) -> usize {
    if flow.is_datagrams() {
        return 0;
    }
    flow.traffic.as_ref().map_or(1, |traffic| traffic.connections() as usize)
}

/// The ports of flows of low priority: those of listeners and of datagrams.
pub(crate) fn low_ports(flows: &[FlowSpec]) -> BTreeSet<u16> {
    let pairs = flows.iter().flat_map(|flow| (0..pairs_of(flow)).map(|_| flow.low_priority));
    let low = pairs.enumerate().filter(|(_, low)| *low);
    let listening = low.map(|(pair, _)| SERVER_PORT.wrapping_add(pair as u16));
    let datagrams = datagram_flows(flows).filter(|(_, _, flow)| flow.low_priority);
    listening.chain(datagrams.map(|(port, ..)| port)).collect()
}

/// The ports of connection `index` of all: the client's and the server's.
pub(crate) const fn ports(index: usize) -> (u16, u16) {
    (CLIENT_PORT.wrapping_add(index as u16), SERVER_PORT.wrapping_add(index as u16))
}

/// The ports of all flows of datagrams, in order, with the flow of each.
pub(crate) fn datagram_flows(flows: &[FlowSpec]) -> impl Iterator<Item = (u16, usize, &FlowSpec)> {
    let datagrams = flows.iter().enumerate().filter(|(_, flow)| flow.is_datagrams());
    datagrams
        .enumerate()
        .map(|(n, (index, flow))| (DATAGRAM_PORT.wrapping_add(n as u16), index, flow))
}
