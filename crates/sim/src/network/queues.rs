//! What waits before links, for who looks on.

use std::collections::BTreeMap;

use bentpipe_units::{ByteCount, Instant};

use super::Network;

impl Network<'_> {
    /// Tells the observer what waits now, if it wants to know.
    pub(crate) fn show_queues(&mut self, now: Instant) {
        if !self.observer.wants_queues() {
            return;
        }
        for number in 0..self.channels.len() {
            let waiting = match self.macs.before(number as u32) {
                Some((mac, line)) => Some(self.macs.waiting(mac, line).0.bytes),
                None => self.channels[number].standing(now),
            };
            if let Some(waiting) = waiting {
                self.observer.queue(now, number, waiting);
            }
        }
        let mut moving: BTreeMap<usize, ByteCount> = BTreeMap::new();
        for link in self.topology.iter_mut().flat_map(|topology| &mut topology.links) {
            if let Some(waiting) = link.channel.standing(now) {
                *moving.entry(link.class).or_default() += waiting;
            }
        }
        for (class, waiting) in moving {
            self.observer.queue(now, class, waiting);
        }
    }
}
