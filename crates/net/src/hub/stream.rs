//! What the application does with a connection.

use std::io;
use std::task::{Context, Poll};

use bentpipe_record::TransportCounters;
use bentpipe_transport::{Endpoint as _, Failure, SenderState};
use bentpipe_units::Instant;
use bytes::Bytes;

use super::Hub;
use crate::key::PublicKey;

/// Which connection of a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub(super) usize);

/// Why a stream ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The connection failed.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// This side has closed it for writing.
    #[error("the connection is closed for writing")]
    Closed,
}

impl From<StreamError> for io::Error {
    fn from(error: StreamError) -> Self {
        let kind = match error {
            StreamError::Failed(Failure::NoAnswer | Failure::NoResponse) => io::ErrorKind::TimedOut,
            StreamError::Failed(Failure::Reset(_) | Failure::PeerRestarted) => {
                io::ErrorKind::ConnectionReset
            }
            StreamError::Failed(Failure::Aborted) => io::ErrorKind::ConnectionAborted,
            StreamError::Closed => io::ErrorKind::BrokenPipe,
        };
        Self::new(kind, error)
    }
}

impl Hub {
    /// The next connection that a peer opened.
    pub fn poll_accept(&mut self, cx: &Context<'_>) -> Poll<ConnectionId> {
        if let Some(id) = self.accepted.pop_front() {
            return Poll::Ready(ConnectionId(id));
        }
        self.acceptor = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Waits until a connection is open.
    pub fn poll_connected(
        &mut self,
        id: ConnectionId,
        cx: &Context<'_>,
    ) -> Poll<Result<(), StreamError>> {
        let connection = &mut self.connections[id.0];
        if let Some(failure) = connection.told.failed {
            return Poll::Ready(Err(failure.into()));
        }
        if connection.told.connected {
            return Poll::Ready(Ok(()));
        }
        connection.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The next bytes that arrived; `None` at their end.
    pub fn poll_read(
        &mut self,
        now: Instant,
        id: ConnectionId,
        cx: &Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamError>> {
        let connection = &mut self.connections[id.0];
        if let Some(bytes) = connection.session.read(now) {
            return Poll::Ready(Ok(Some(bytes)));
        }
        if connection.told.peer_closed {
            return Poll::Ready(Ok(None));
        }
        if let Some(failure) = connection.told.failed {
            return Poll::Ready(Err(failure.into()));
        }
        connection.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Takes from the front of `data` what fits; waits when nothing does.
    pub fn poll_write(
        &mut self,
        now: Instant,
        id: ConnectionId,
        data: &mut Bytes,
        cx: &Context<'_>,
    ) -> Poll<Result<usize, StreamError>> {
        let connection = &mut self.connections[id.0];
        if let Some(failure) = connection.told.failed {
            return Poll::Ready(Err(failure.into()));
        }
        match connection.session.write(now, data) {
            Err(_) => Poll::Ready(Err(StreamError::Closed)),
            Ok(0) if !data.is_empty() => {
                connection.writer = Some(cx.waker().clone());
                Poll::Pending
            }
            Ok(len) => {
                self.stir(id.0);
                Poll::Ready(Ok(len))
            }
        }
    }

    /// No more writes: once everything was delivered, the peer is told.
    pub fn close(&mut self, now: Instant, id: ConnectionId) {
        self.connections[id.0].session.close(now);
        self.stir(id.0);
    }

    /// Waits until both ends have closed and everything was delivered.
    pub fn poll_closed(
        &mut self,
        id: ConnectionId,
        cx: &Context<'_>,
    ) -> Poll<Result<(), StreamError>> {
        let connection = &mut self.connections[id.0];
        if connection.told.closed {
            return Poll::Ready(Ok(()));
        }
        if let Some(failure) = connection.told.failed {
            return Poll::Ready(Err(failure.into()));
        }
        connection.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Gives a connection up at once and tells the peer.
    pub fn abort(&mut self, now: Instant, id: ConnectionId) {
        self.connections[id.0].session.abort(now);
        self.stir(id.0);
    }

    /// The application lets go of a connection: it is closed, what still arrives is thrown away, and
    /// once it has ended it is forgotten.
    pub fn release(&mut self, now: Instant, id: ConnectionId) {
        let connection = &mut self.connections[id.0];
        connection.dropped = true;
        while connection.session.read(now).is_some() {}
        connection.session.close(now);
        self.stir(id.0);
    }

    /// Whose connection it is.
    pub fn peer(&self, id: ConnectionId) -> PublicKey {
        self.associations[self.connections[id.0].association].peer
    }

    /// Bytes that were written to a connection and not sent yet.
    pub fn unsent(&self, id: ConnectionId) -> usize {
        self.connections[id.0].session.unsent()
    }

    /// What its sender and counters say.
    pub fn state(&self, id: ConnectionId) -> (SenderState, TransportCounters) {
        let session = &self.connections[id.0].session;
        (session.sender_state(), session.counters())
    }
}
