//! What waits before links, for who looks on.

use bentpipe_units::Instant;

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
    let moving = network.topology.as_mut().map(|topology| topology.standing(now));
    for (class, waiting) in moving.into_iter().flatten() {
        network.observer.queue(now, class, waiting);
    }
}
