//! Snoop (Balakrishnan, Seshan, Amir and Katz, "Improving TCP/IP Performance over Wireless
//! Networks", MobiCom 1995): losses of a noisy link are repaired at the link, out of sight of the
//! sender.
//!
//! The agent keeps a copy of the data that go out over its link. Duplicate acknowledgements for what
//! it has lost there end here, and the copy is retransmitted; so is what stays unacknowledged for a
//! timeout of the link's own round trip. The agent acknowledges nothing by itself: the ends agree
//! between themselves on what has arrived.
//!
//! What was lost before the agent is the network's: the sender's repair passes, and so do the
//! duplicates that ask for it. For data that come in over the link, the agent can but tell: it notes
//! which never came, and marks the duplicates that ask for them as those of a corrupt path
//! ([`CORRUPTION_EXPERIENCED`](bentpipe_wire::tcp::Scps::CORRUPTION_EXPERIENCED), explicit loss
//! notification).

mod cache;
mod connection;
mod holes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bentpipe_units::{Instant, Span};
use bentpipe_wire::tcp::{Flags, Scps, Segment};

use self::connection::Connection;
use self::holes::Holes;
use crate::{Agent, Direction, Emission, Ends, Packet, Verdict};

/// Connections that are followed at the same time; others pass as if there were no agent.
const MOST_CONNECTIONS: usize = 4096;

/// Settings of the agent. The defaults are those of ns-2.35's `tcp/snoop.h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Segments that are kept for each connection, at least 1.
    pub cache: usize,
    /// When the cache is full, the oldest copy makes room; otherwise the newcomer passes without one.
    pub drop_oldest: bool,
    /// Duplicates beyond those that were to be expected that pass before the agent acts.
    pub threshold: u32,
    /// Round trip between agent and receiver before it was measured.
    pub srtt: Span,
    /// Its mean deviation before it was measured.
    pub rttvar: Span,
    /// Shortest timeout of a repair, above zero.
    pub min_timeout: Span,
    /// Repairs of one segment after which the agent leaves it to the sender, at least 1.
    pub most_repairs: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            cache: 100,
            drop_oldest: false,
            threshold: 1,
            srtt: Span::from_millis(100),
            rttvar: Span::from_millis(250),
            min_timeout: Span::from_millis(100),
            most_repairs: 10,
        }
    }
}

/// A copy that goes out again.
const fn repaired(ends: Ends, segment: Segment) -> Emission {
    Emission { ends, direction: Direction::Out, segment, first: true }
}

/// A direction of a connection: the hosts and ports of the data.
type Key = (Ends, u16, u16);

/// The agent.
#[derive(Debug)]
pub struct Snoop {
    config: Config,
    /// Connections by the hosts and ports of the data that go out.
    out: BTreeMap<Key, Connection>,
    /// What is missing of the data that come in, by their hosts and ports.
    inward: BTreeMap<Key, Holes>,
}

impl Snoop {
    /// An agent that has seen nothing.
    pub const fn new(config: Config) -> Self {
        Self { config, out: BTreeMap::new(), inward: BTreeMap::new() }
    }

    /// A segment goes out: data, and acknowledgements of data that come in.
    fn goes_out(&mut self, now: Instant, ends: Ends, segment: &mut Segment) {
        let (source, destination) = (segment.source_port, segment.destination_port);
        let inward = self.inward.get(&(ends.reversed(), destination, source));
        if inward.is_some_and(|holes| holes.explains(segment)) {
            segment.scps = segment.scps.with(Scps::CORRUPTION_EXPERIENCED);
        }
        let key = (ends, source, destination);
        let room = self.out.len() < MOST_CONNECTIONS;
        if let Some(connection) = self.out.get_mut(&key) {
            connection.on_data(now, segment, &self.config);
        } else if room && segment.seq_len() > 0 {
            let mut connection = Connection::new(segment, &self.config);
            connection.on_data(now, segment, &self.config);
            self.out.insert(key, connection);
        }
    }

    /// A segment comes in: acknowledgements, and data that go the other way.
    fn comes_in(
        &mut self,
        now: Instant,
        ends: Ends,
        segment: &Segment,
        out: &mut Vec<Emission>,
    ) -> Verdict {
        let (source, destination) = (segment.source_port, segment.destination_port);
        if segment.seq_len() > 0 {
            let room = self.inward.len() < MOST_CONNECTIONS;
            let key = (ends, source, destination);
            if let Some(holes) = self.inward.get_mut(&key) {
                holes.on_data(segment);
            } else if room {
                self.inward.insert(key, Holes::new(segment));
            }
        }
        let key = (ends.reversed(), destination, source);
        let Some(connection) = self.out.get_mut(&key) else { return Verdict::Forward };
        let (verdict, repair) = connection.on_ack(now, segment, &self.config);
        out.extend(repair.map(|segment| repaired(ends.reversed(), segment)));
        if connection.is_over() {
            self.out.remove(&key);
        }
        verdict
    }

    /// Nothing of a connection is known any more, either way.
    fn forget(&mut self, ends: Ends, segment: &Segment) {
        let (source, destination) = (segment.source_port, segment.destination_port);
        for key in [(ends, source, destination), (ends.reversed(), destination, source)] {
            self.out.remove(&key);
            self.inward.remove(&key);
        }
    }
}

impl Agent for Snoop {
    fn handle_packet(
        &mut self,
        now: Instant,
        packet: Packet<'_>,
        out: &mut Vec<Emission>,
    ) -> Verdict {
        let Packet { ends, direction, segment } = packet;
        if segment.opens() || segment.flags.contains(Flags::RST) {
            self.forget(ends, segment);
        }
        if segment.flags.contains(Flags::RST) {
            return Verdict::Forward;
        }
        match direction {
            Direction::Out => {
                self.goes_out(now, ends, segment);
                Verdict::Forward
            }
            Direction::In => self.comes_in(now, ends, segment, out),
        }
    }

    fn handle_drop(&mut self, _now: Instant, ends: Ends, segment: &Segment) {
        let key = (ends, segment.source_port, segment.destination_port);
        if let Some(connection) = self.out.get_mut(&key) {
            connection.on_drop(segment);
        }
    }

    fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Emission>) {
        for ((ends, ..), connection) in &mut self.out {
            if let Some(segment) = connection.on_timeout(now, &self.config) {
                out.push(repaired(*ends, segment));
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.out.values().filter_map(|connection| connection.deadline(&self.config)).min()
    }
}
