//! The state of the first link, for ends whose host is beside it.

use bentpipe_transport::NetworkFeedback;
use bentpipe_units::Instant;

use super::Network;

impl Network<'_> {
    /// The link that packets from a node to another one leave by.
    pub(crate) fn first_link(&self, [node, peer]: [u16; 2]) -> Option<u32> {
        self.routes.next(node, peer).map(|channel| channel / 2)
    }

    /// Tells an end of a node that has just been made when the link that it uses first is down.
    pub(crate) fn tell_if_down(
        &self,
        now: Instant,
        endpoint: &mut dyn NetworkFeedback,
        [node, peer]: [u16; 2],
    ) {
        let way = self.routes.next(node, peer);
        if way.is_some_and(|channel| self.outages.is_down(channel)) {
            endpoint.handle_link_state(now, false);
        }
    }

    /// The links that went down or came up now, and whether they are up.
    pub(crate) fn turn_links(&mut self, now: Instant) -> Vec<(u32, bool)> {
        self.outages.turn(now)
    }

    /// When a link goes down or comes up next.
    pub(crate) fn next_turn(&self, now: Instant) -> Option<Instant> {
        self.outages.next(now)
    }

    /// A link is down and hosts will be told when it is up.
    pub(crate) fn awaits_link(&self) -> bool {
        self.outages.any_down()
    }
}
