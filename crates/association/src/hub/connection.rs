//! One connection inside an association.

use bentpipe_units::Seq32;

use super::AssociationId;
use super::object::Object;
use crate::stream::Stream;

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: Stream,
    pub(super) association: AssociationId,
    pub(super) number: u32,
    /// The last number that was received, for compressed headers.
    pub(super) near: Seq32,
    /// The peer opened it, and the application has not taken it yet.
    pub(super) unaccepted: bool,
    /// It has something to send.
    pub(super) busy: bool,
    /// Bytes that it held when they were counted last.
    pub(super) holds: usize,
    /// The highest number of those segments for which there was no room when they came.
    pub(super) lost: Option<Seq32>,
    /// Its writer waits for room in what the connections of the peer may hold.
    pub(super) waits: bool,
    /// It was changed and is to be drained.
    pub(super) stirred: bool,
    /// The way that it takes to the peer.
    pub(super) way: usize,
    /// Its number on the line of the association over the link of that way.
    pub(super) member: Option<u32>,
    /// It gets more of a shared window than others.
    pub(super) ahead: bool,
    pub(super) object: Object,
}
