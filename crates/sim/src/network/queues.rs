//! What waits before links, for who looks on.

use std::collections::BTreeMap;

use bentpipe_units::{ByteCount, Instant};

use super::Network;

/// Tells the observer of a network what waits now, if it wants to know.
pub(crate) fn show_queues(network: &mut Network<'_>, now: Instant) {
    if !network.observer.wants_queues() {
        return;
    }
    for number in 0..network.channels.len() {
        let waiting = match network.macs.before(number as u32) {
            Some((mac, line)) => Some(network.macs.waiting(mac, line).0.bytes),
            None => network.channels[number].standing(now),
        };
        if let Some(waiting) = waiting {
            network.observer.queue(now, number, waiting);
        }
    }
    let mut moving: BTreeMap<usize, ByteCount> = BTreeMap::new();
    for link in network.topology.iter_mut().flat_map(|topology| &mut topology.links) {
        if let Some(waiting) = link.channel.standing(now) {
            *moving.entry(link.class).or_default() += waiting;
        }
    }
    for (class, waiting) in moving {
        network.observer.queue(now, class, waiting);
    }
}
