//! Convergence layers: how bundles are laid into a stream of bytes, and how the other end says that it has them.
//!
//! Each is a machine: bytes that came go in, bundles and answers come out, and bytes to be written. None of them
//! takes a bundle: whoever runs it asks the node, and tells the machine what the node said.

mod buffer;
mod items;
pub mod mtcp;
pub mod tcpcl;
pub mod xstp;

use bentpipe_units::Instant;
use bytes::Bytes;

use crate::{Answer, BundleId};

/// A peer that does not keep to the protocol, or whose end says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProtocolError(pub(crate) String);

impl ProtocolError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// What comes out of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer says which node it is. It comes before bundles, where a layer has it at all.
    Peer(String),
    /// A bundle has come. [`Session::answer`] is to be called for each of them, in order.
    Bundle(Bytes),
    /// The peer answers for a bundle that was sent.
    Answer(BundleId, Answer),
}

/// What is said of this end to the other one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The endpoint ID of this node.
    pub node: String,
    /// Largest bundle that is taken, in bytes.
    pub largest: u64,
}

/// One connection with a peer, in a convergence layer.
pub trait Session: Send + 'static {
    /// Bytes have come.
    ///
    /// # Errors
    /// When the peer does not keep to the protocol: the connection is to be cut.
    fn handle_input(&mut self, now: Instant, input: &[u8]) -> Result<(), ProtocolError>;

    /// Whether more input is welcome: not as long as what was said in answer to it waits to be written, or is not said yet.
    fn wants_input(&self) -> bool;

    /// What has happened.
    fn next_event(&mut self) -> Option<Event>;

    /// What became of the first bundle that came and was not answered. A bundle that is wrong has no name.
    fn answer(&mut self, id: Option<&BundleId>, answer: Answer);

    /// Whether a bundle may be sent, and of how many bytes at most.
    fn room(&self) -> Option<u64>;

    /// Sends a bundle, when there is room.
    fn send(&mut self, id: BundleId, bundle: Vec<u8>);

    /// The next piece to be written. The one before it was written.
    fn next_output(&mut self, now: Instant) -> Option<Bytes>;

    /// When something is to be done by itself.
    fn next_deadline(&self) -> Option<Instant>;

    /// It is that time.
    ///
    /// # Errors
    /// When the peer has not answered for too long.
    fn handle_timeout(&mut self, now: Instant) -> Result<(), ProtocolError>;

    /// Ends it as soon as what is under way is done. [`Session::is_closed`] says when.
    fn close(&mut self);

    /// Whether both ends have ended it.
    fn is_closed(&self) -> bool;

    /// Whether the peer owes something: to say who it is, or an answer for a bundle.
    fn is_waiting(&self) -> bool;
}

#[cfg(test)]
mod tests;
