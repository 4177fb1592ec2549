//! What looks at the packets of a path in passing.

use std::fmt::Debug;

use bentpipe_units::Instant;

/// On which way a packet passes an agent, which stands at a node before one of its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Out over the agent's link.
    Out,
    /// In from the agent's link.
    In,
}

/// A packet that an agent sends.
#[derive(Debug)]
pub struct Emission<P> {
    /// On which way it leaves the agent.
    pub side: Side,
    /// The packet.
    pub packet: P,
    /// It goes before what waits for the link, and finds room in a full queue.
    pub first: bool,
}

/// Looks at the packets of type `P` that pass a node of a path. It may change a packet, hold it back and send others;
/// what it sends does not come back to it.
pub trait PathAgent<P>: Debug + Send {
    /// A packet passes. False when it ends here.
    fn handle_packet(&mut self, now: Instant, side: Side, packet: &mut P) -> bool;

    /// The queue of the agent's link had no room for a packet that was to go out.
    fn handle_drop(&mut self, now: Instant, packet: &P);

    /// The deadline of [`PathAgent::poll_timeout`] has come. Too early does no harm.
    fn handle_timeout(&mut self, now: Instant);

    /// When [`PathAgent::handle_timeout`] must be called; `None` when the agent waits for nothing.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The next packet that it sends.
    fn poll_emission(&mut self) -> Option<Emission<P>>;
}
