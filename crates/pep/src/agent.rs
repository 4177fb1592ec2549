//! What looks at packets in passing.
//!
//! An agent stands at a node before one of its links and sees every segment of TCP that passes the
//! node and this link, in both directions. It may change a segment, hold one back and send others. Like an
//! endpoint it is told the time and has one deadline. It is no end of a connection: what it sends
//! goes in the name of one of the ends.

use std::fmt::Debug;

use bentpipe_units::Instant;
use bentpipe_wire::tcp;

/// Number of a host, whatever its owner tells hosts apart by: an IPv6 address fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(pub u128);

/// The hosts of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    /// Who sent it.
    pub from: Address,
    /// Whom it is for.
    pub to: Address,
}

impl Ends {
    /// Those of a packet in the other direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { from: self.to, to: self.from }
    }
}

/// The direction in which a packet passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Out over the agent's link.
    Out,
    /// In from the agent's link.
    In,
}

/// A packet that passes.
#[derive(Debug)]
pub struct Packet<'a> {
    /// Its hosts.
    pub ends: Ends,
    /// In which direction it goes.
    pub direction: Direction,
    /// What it carries; the agent may change it.
    pub segment: &'a mut tcp::Segment,
}

/// What becomes of a packet that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Forward,
    /// It ends here.
    Suppress,
}

/// A packet that an agent sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emission {
    /// In whose name, and to whom.
    pub ends: Ends,
    /// On which way it leaves the agent.
    pub direction: Direction,
    /// What it carries.
    pub segment: tcp::Segment,
    /// It goes before what waits for the link, and finds room in a full queue.
    pub first: bool,
}

/// Looks at the packets of one link at one of its nodes.
///
/// Emissions are sent after the packet that was asked about, in their order. They do not come back
/// to the agent.
pub trait Agent: Debug + Send {
    /// A packet passes.
    fn handle_packet(
        &mut self,
        now: Instant,
        packet: Packet<'_>,
        out: &mut Vec<Emission>,
    ) -> Verdict;

    /// The queue of the agent's link had no room for a packet that was to go out.
    fn handle_drop(&mut self, now: Instant, ends: Ends, segment: &tcp::Segment);

    /// The deadline of [`Agent::poll_timeout`] has come. Too early does no harm.
    fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Emission>);

    /// When [`Agent::handle_timeout`] must be called; `None` when the agent waits for nothing.
    fn poll_timeout(&self) -> Option<Instant>;
}
