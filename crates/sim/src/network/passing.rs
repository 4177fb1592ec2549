//! Packets that pass an agent.

use bentpipe_pep::{Direction, Emission, Verdict};
use bentpipe_record::AgentSummary;
use bentpipe_units::Instant;
use bentpipe_wire::Segment;

use super::Network;
use crate::agents::ends;
use crate::events::Slot;
use crate::packet::PacketId;

impl Network<'_> {
    /// A packet goes on from a node at which an agent may stand. Damaged ones are not looked at: their
    /// checksum is wrong.
    #[inline(never)]
    pub(super) fn pass_agent(&mut self, now: Instant, node: u16, id: PacketId) {
        let packet = self.arena.get_mut(id);
        let (from, to, label) = (packet.from, packet.to, packet.label(id));
        let (next, back) = (self.routes.next(node, to), self.routes.next(node, from));
        let found = self.agents.find(node, next, back).filter(|_| !packet.corrupt);
        let (Some((agent, direction)), Segment::Tcp(segment)) = (found, &mut packet.segment) else {
            return self.enter(now, node, label);
        };
        let hosts = ends(from, to);
        match self.agents.show(now, agent, direction, hosts, segment) {
            Verdict::Suppress => self.arena.release(id),
            Verdict::Forward => {
                let seen = (direction == Direction::Out).then(|| segment.clone());
                let label = self.seal(id);
                let channel = self.agents.channel(agent) as usize;
                let before = self.channels[channel].turned_away();
                self.enter(now, node, label);
                if let Some(segment) = seen
                    && self.channels[channel].turned_away() > before
                {
                    self.agents.notify_drop(now, agent, hosts, &segment);
                }
            }
        }
        self.send_emissions(now, node, agent);
    }

    /// Sends what an agent at a node wants to send, and sets its timer.
    fn send_emissions(&mut self, now: Instant, node: u16, agent: usize) {
        let mut emissions = self.agents.take_emissions(agent);
        for Emission { ends, segment, first, .. } in emissions.drain(..) {
            *self.place() = Segment::Tcp(segment);
            self.goes_first = first;
            self.launch(now, node, ends.from.0 as u16, ends.to.0 as u16);
        }
        self.goes_first = false;
        self.agents.put_back(emissions);
        self.agents.set_timer(now, agent, &mut self.queue);
    }

    /// The timer of an agent fired. Returns false when there was nothing to do yet.
    pub(crate) fn fire_agent(&mut self, now: Instant, slot: Slot) -> bool {
        self.queue.clear(slot);
        let agent = self.agents.index(slot);
        let due = self.agents.let_time_pass(now, agent);
        let node = self.agents.node(agent);
        self.send_emissions(now, node, agent);
        due
    }

    /// What the agents did.
    pub(crate) fn agents(&self) -> Vec<AgentSummary> {
        self.agents.summaries()
    }
}
