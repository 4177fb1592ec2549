//! Messages of ICMP that a packet met congestion (BECN).

use bentpipe_units::Instant;
use bentpipe_wire::Segment;
use bentpipe_wire::icmp::{Message, News};

use super::Network;
use crate::RunSpec;
use crate::held::Quench;

/// For each channel the node before it, where that tells senders of congestion; empty when none does.
pub(super) fn tellers(spec: &RunSpec) -> Vec<Option<u16>> {
    if spec.constellation.is_some() || spec.links.iter().all(|link| !link.becn) {
        return Vec::new();
    }
    let before = |link: &crate::LinkSpec| link.ends.map(|node| link.becn.then_some(node as u16));
    spec.links.iter().flat_map(before).collect()
}

impl Network<'_> {
    /// Sends what queues had to tell.
    #[inline]
    pub(super) fn send_quenches(&mut self, now: Instant) {
        while let Some(Quench { nodes: [teller, sender], packet }) = self.quenches.pop() {
            *self.place() = Segment::Icmp(Message { news: News::Congestion, packet });
            let _ = self.launch(now, teller, teller, sender);
        }
    }
}
