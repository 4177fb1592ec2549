//! The first link of a host, for ends that are told of it: whether it is up, and how full its queue is.

use bentpipe_link::QueueLimit;
use bentpipe_transport::{LocalQueue, NetworkFeedback};
use bentpipe_units::Instant;

use super::Network;

/// The queue before a channel, and what it had turned away before the end was drained.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnQueue {
    channel: u32,
    turned_away: u64,
}

impl Network<'_> {
    /// The link that packets from a node to another one leave by.
    pub(crate) fn first_link(&self, [node, peer]: [u16; 2]) -> Option<u32> {
        self.routes.next(node, peer).map(|channel| channel / 2)
    }

    /// Tells an end of a node that has just been made when the link that it uses first is down.
    pub(crate) fn notify_if_down(
        &self,
        now: Instant,
        endpoint: &mut dyn NetworkFeedback,
        [node, peer]: [u16; 2],
    ) {
        let channel = self.routes.next(node, peer);
        if channel.is_some_and(|channel| self.outages.is_down(channel)) {
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

    /// Tells an end of a node that follows the queue of its host how full that is; `None` when it follows
    /// none, or has none with a limit. Afterwards it is to be drained, and then [`Network::notify_overflow`].
    #[inline]
    pub(crate) fn notify_queue(
        &self,
        now: Instant,
        endpoint: &mut impl NetworkFeedback,
        [node, peer]: [u16; 2],
    ) -> Option<OwnQueue> {
        if !endpoint.follows_queue() || self.topology.is_some() {
            return None;
        }
        let channel = self.routes.next(node, peer)?;
        let turned_away = self.channels[channel as usize].turned_away();
        endpoint.handle_queue(now, &self.local_queue(now, channel)?);
        Some(OwnQueue { channel, turned_away })
    }

    /// Tells an end of a segment that its queue had no room for while it was drained.
    pub(crate) fn notify_overflow(
        &self,
        now: Instant,
        endpoint: &mut impl NetworkFeedback,
        own: OwnQueue,
    ) {
        let overflowed = self.channels[own.channel as usize].turned_away() > own.turned_away;
        if let Some(queue) = self.local_queue(now, own.channel).filter(|_| overflowed) {
            endpoint.handle_queue(now, &LocalQueue { overflowed, ..queue });
        }
    }

    fn local_queue(&self, now: Instant, channel: u32) -> Option<LocalQueue> {
        let (waiting, limit) = match self.macs.before(channel) {
            Some((station, line)) => self.macs.waiting(station, line),
            None => self.channels[channel as usize].waiting(now)?,
        };
        let (waiting, limit) = match limit {
            QueueLimit::Packets(limit) => (waiting.packets as u64, u64::from(limit)),
            QueueLimit::Bytes(limit) => (waiting.bytes.get(), limit.get()),
            QueueLimit::Unlimited => return None,
        };
        Some(LocalQueue { waiting, limit, overflowed: false })
    }
}
