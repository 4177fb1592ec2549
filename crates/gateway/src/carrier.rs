//! What carries a flow between the gateways: one connection, or a bond of connections over several links.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::task::{Context, Poll};

use bentpipe_association::endpoint::ConnectionRef;
use bentpipe_association::host::{Bonded, Connection, Runtime, lock};
use bentpipe_units::Span;
use bytes::Bytes;

/// Time between two looks whether everything was delivered.
const LOOK: Span = Span::from_millis(20);

/// What carries a flow.
#[derive(Debug)]
pub(crate) enum Carrier {
    /// One connection.
    Single(Connection),
    /// A bond, and the number of its first connection, by which both gateways name it.
    Bonded(Bonded, u32),
}

/// Bonds of flows that a remote gateway has begun, by the number of their first connection.
#[derive(Debug, Default)]
pub(crate) struct Bonds {
    open: Mutex<BTreeMap<u32, Bonded>>,
}

impl Bonds {
    /// A bond is open until what is returned is dropped.
    pub(crate) fn add(&self, carrier: &Carrier) -> Option<Listed<'_>> {
        let Carrier::Bonded(bonded, number) = carrier else { return None };
        lock(&self.open).insert(*number, bonded.clone());
        Some(Listed { bonds: self, number: *number })
    }

    /// The bond of this number.
    pub(crate) fn find(&self, number: u32) -> Option<Bonded> {
        lock(&self.open).get(&number).cloned()
    }
}

/// A bond among those that others may join.
#[derive(Debug)]
pub(crate) struct Listed<'a> {
    bonds: &'a Bonds,
    number: u32,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        lock(&self.bonds.open).remove(&self.number);
    }
}

impl Carrier {
    /// The bond and its name, if it is one.
    pub(crate) fn bonded(&self) -> Option<(Bonded, u32)> {
        match self {
            Self::Single(_) => None,
            Self::Bonded(bonded, number) => Some((bonded.clone(), *number)),
        }
    }

    /// The connection that a flow began with; none where that is gone.
    pub(crate) fn reference(&self) -> Option<ConnectionRef> {
        match self {
            Self::Single(connection) => Some(connection.reference()),
            Self::Bonded(bonded, _) => bonded.reference(),
        }
    }

    /// See [`Connection::read_bytes`].
    pub(crate) async fn read_bytes(&self) -> io::Result<Option<Bytes>> {
        match self {
            Self::Single(connection) => connection.read_bytes().await,
            Self::Bonded(bonded, _) => {
                let mut chunks = Vec::new();
                bonded.read_chunks(&mut chunks, 1).await?;
                Ok(chunks.pop())
            }
        }
    }

    /// See [`Connection::write_bytes`].
    pub(crate) async fn write_bytes(&self, bytes: Bytes) -> io::Result<()> {
        match self {
            Self::Single(connection) => connection.write_bytes(bytes).await,
            Self::Bonded(bonded, _) => bonded.write_bytes(bytes).await,
        }
    }

    /// See [`Connection::read_chunks`].
    pub(crate) async fn read_chunks(
        &self,
        chunks: &mut Vec<Bytes>,
        most: usize,
    ) -> io::Result<bool> {
        match self {
            Self::Single(connection) => connection.read_chunks(chunks, most).await,
            Self::Bonded(bonded, _) => bonded.read_chunks(chunks, most).await,
        }
    }

    /// Nobody takes what comes any more. See [`Bonded::refuse`]; what one connection writes waits for nothing that comes by it.
    pub(crate) fn refuse(&self) {
        if let Self::Bonded(bonded, _) = self {
            bonded.refuse();
        }
    }

    /// See [`Connection::has_passed_on`].
    pub(crate) fn has_passed_on(&self) {
        match self {
            Self::Single(connection) => connection.has_passed_on(),
            Self::Bonded(bonded, _) => bonded.has_passed_on(),
        }
    }

    /// See [`Connection::keeps_nothing`].
    pub(crate) fn keeps_nothing(&self) {
        match self {
            Self::Single(connection) => connection.keeps_nothing(),
            Self::Bonded(bonded, _) => bonded.has_passed_on(),
        }
    }

    /// See [`Connection::poll_room`].
    pub(crate) fn poll_room(&self, cx: &Context<'_>) -> Poll<usize> {
        match self {
            Self::Single(connection) => connection.poll_room(cx),
            Self::Bonded(bonded, _) => bonded.poll_room(cx),
        }
    }

    /// See [`Connection::failed`].
    pub(crate) async fn failed(&self) -> io::Error {
        match self {
            Self::Single(connection) => connection.failed().await,
            Self::Bonded(bonded, _) => bonded.failed().await,
        }
    }

    /// Waits until the remote gateway has everything.
    pub(crate) async fn delivered(&self, runtime: &impl Runtime) {
        match self {
            Self::Single(connection) => {
                while connection.unsent() > 0 || connection.state().0.in_flight.get() > 0 {
                    runtime.sleep(LOOK).await;
                }
            }
            Self::Bonded(bonded, _) => {
                // Whoever waits gives it up next.
                let _ = bonded.delivered().await;
            }
        }
    }

    /// See [`Connection::close`].
    pub(crate) fn close(&self) {
        match self {
            Self::Single(connection) => connection.close(),
            Self::Bonded(bonded, _) => bonded.close(),
        }
    }

    /// See [`Connection::finish`].
    pub(crate) async fn finish(self) -> io::Result<()> {
        match self {
            Self::Single(connection) => connection.finish().await,
            Self::Bonded(bonded, _) => bonded.finish().await,
        }
    }

    /// See [`Connection::abort`].
    pub(crate) fn abort(self) {
        match self {
            Self::Single(connection) => connection.abort(),
            Self::Bonded(bonded, _) => bonded.abort(),
        }
    }
}
