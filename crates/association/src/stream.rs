//! What the application does with a connection, whatever carries its segments.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll, Waker};

use bentpipe_record::TransportCounters;
use bentpipe_transport::xstp::Session;
use bentpipe_transport::{Endpoint, Event, Failure, Inspect, SenderState};
use bentpipe_units::Instant;
use bytes::{Buf as _, Bytes};

/// Which connection of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub usize);

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
            StreamError::Failed(
                Failure::Reset(_)
                | Failure::ResetByPeer
                | Failure::PeerAborted(_)
                | Failure::PeerBrokeRules
                | Failure::PeerRestarted,
            ) => io::ErrorKind::ConnectionReset,
            StreamError::Failed(Failure::Aborted) => io::ErrorKind::ConnectionAborted,
            StreamError::Closed => io::ErrorKind::BrokenPipe,
        };
        Self::new(kind, error)
    }
}

/// A connection between its state machine and the application.
#[derive(Debug)]
pub struct Stream<E = Session> {
    /// The state machine.
    pub endpoint: E,
    /// Whether it is open, and how it ended.
    pub status: ConnectionStatus,
    /// The application has let go of it.
    pub dropped: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Bytes in the hands of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// So many were read, and not passed on yet.
    Read(usize),
    /// So many are to be written, and could not be taken yet.
    Unwritten(usize),
}

/// What the state machine has said so far, for the application.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionStatus {
    /// Both ends know the connection.
    pub connected: bool,
    /// The peer has written everything, and all of it has come.
    pub peer_closed: bool,
    /// It has ended at both ends.
    pub closed: bool,
    /// Why it ended before that.
    pub failed: Option<Failure>,
}

impl<E> Stream<E> {
    /// A connection of which nothing has been heard yet.
    pub fn new(endpoint: E) -> Self {
        Self {
            endpoint,
            status: ConnectionStatus::default(),
            dropped: false,
            reader: None,
            writer: None,
        }
    }

    /// Takes note of what the state machine says and wakes who waits for it.
    pub fn note(&mut self, event: Event) {
        match event {
            Event::Connected => self.status.connected = true,
            Event::PeerClosed => self.status.peer_closed = true,
            Event::Closed => self.status.closed = true,
            // The first failure is the reason for the others.
            Event::Failed(failure) => self.status.failed = self.status.failed.or(Some(failure)),
            Event::Readable | Event::Writable => {}
        }
        let wakes_reader = !matches!(event, Event::Writable);
        let wakes_writer = !matches!(event, Event::Readable | Event::PeerClosed);
        if wakes_reader && let Some(waker) = self.reader.take() {
            waker.wake();
        }
        if wakes_writer && let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }
}

impl<E> Stream<E> {
    /// Wakes this task when something can be read.
    pub fn wait_to_read(&mut self, cx: &Context<'_>) {
        self.reader = Some(cx.waker().clone());
    }

    /// Wakes this task when something can be written, or the connection has changed.
    pub fn wait_to_write(&mut self, cx: &Context<'_>) {
        self.writer = Some(cx.waker().clone());
    }
}

/// Connections that peers opened and the application has not taken yet.
#[derive(Debug, Default)]
pub struct Accepted {
    ids: VecDeque<usize>,
    waiting: Option<Waker>,
}

impl Accepted {
    /// One more; whoever waits for it is woken.
    pub fn push(&mut self, id: usize) {
        self.ids.push_back(id);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    /// The next one. Wakes the task when there is one.
    pub fn poll(&mut self, cx: &Context<'_>) -> Poll<ConnectionId> {
        if let Some(id) = self.ids.pop_front() {
            return Poll::Ready(ConnectionId(id));
        }
        self.waiting = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// The connections of a host. After a change, whoever drives the host has to be told.
pub trait Streams: Debug + Send + 'static {
    /// The state machine of a connection.
    type Endpoint: Inspect;

    /// A connection.
    fn stream(&self, id: ConnectionId) -> &Stream<Self::Endpoint>;

    /// A connection, to be changed.
    fn stream_mut(&mut self, id: ConnectionId) -> &mut Stream<Self::Endpoint>;

    /// A connection was changed and has to be drained.
    fn changed(&mut self, id: ConnectionId);

    /// Waits until a connection is open.
    fn poll_connected(
        &mut self,
        id: ConnectionId,
        cx: &Context<'_>,
    ) -> Poll<Result<(), StreamError>> {
        let stream = self.stream_mut(id);
        if let Some(failure) = stream.status.failed {
            return Poll::Ready(Err(failure.into()));
        }
        if stream.status.connected {
            return Poll::Ready(Ok(()));
        }
        stream.wait_to_write(cx);
        Poll::Pending
    }

    /// The next bytes that arrived; `None` at their end.
    fn poll_read(
        &mut self,
        now: Instant,
        id: ConnectionId,
        cx: &Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamError>> {
        let stream = self.stream_mut(id);
        if let Some(bytes) = stream.endpoint.read(now) {
            return Poll::Ready(Ok(Some(bytes)));
        }
        if stream.status.peer_closed {
            return Poll::Ready(Ok(None));
        }
        if let Some(failure) = stream.status.failed {
            return Poll::Ready(Err(failure.into()));
        }
        stream.wait_to_read(cx);
        Poll::Pending
    }

    /// Bytes of a connection were read. True when there is something to be sent for that.
    fn was_read(&mut self, _id: ConnectionId) -> bool {
        false
    }

    /// The application has this for a connection, which counts as held by it.
    fn keeps(&mut self, _id: ConnectionId, _kept: Kept) {}

    /// Bytes that the host lets a connection take from its writer, who is told when there is room again.
    fn room(&mut self, _id: ConnectionId) -> usize {
        usize::MAX
    }

    /// How many peers' connections are short of memory, to be looked at without the host.
    fn shortages(&self) -> Arc<AtomicUsize> {
        Arc::default()
    }

    /// Waits until the host lets a connection take something from its writer, and says how much. What else stops
    /// a writer shows when it writes.
    fn poll_room(&mut self, id: ConnectionId, cx: &Context<'_>) -> Poll<usize> {
        let room = self.room(id);
        let stream = self.stream_mut(id);
        if room > 0 || stream.status.failed.is_some() {
            return Poll::Ready(room.max(1));
        }
        stream.wait_to_write(cx);
        Poll::Pending
    }

    /// Bytes were written to a connection.
    fn was_written(&mut self, _id: ConnectionId) {}

    /// Takes from the front of `data` what fits; waits when nothing does.
    fn poll_write(
        &mut self,
        now: Instant,
        id: ConnectionId,
        data: &mut Bytes,
        cx: &Context<'_>,
    ) -> Poll<Result<usize, StreamError>> {
        let stream = self.stream_mut(id);
        if let Some(failure) = stream.status.failed {
            return Poll::Ready(Err(failure.into()));
        }
        let room = self.room(id);
        let stream = self.stream_mut(id);
        if room == 0 && !data.is_empty() {
            stream.wait_to_write(cx);
            return Poll::Pending;
        }
        let written = if data.len() <= room {
            stream.endpoint.write(now, data)
        } else {
            let written = stream.endpoint.write(now, &mut data.slice(..room));
            written.inspect(|len| data.advance(*len))
        };
        match written {
            Err(_) => Poll::Ready(Err(StreamError::Closed)),
            Ok(0) if !data.is_empty() => {
                stream.wait_to_write(cx);
                Poll::Pending
            }
            Ok(len) => {
                self.was_written(id);
                self.changed(id);
                Poll::Ready(Ok(len))
            }
        }
    }

    /// No more writes: once everything was delivered, the peer is told.
    fn close(&mut self, now: Instant, id: ConnectionId) {
        self.stream_mut(id).endpoint.close(now);
        self.changed(id);
    }

    /// Waits until both ends have closed and everything was delivered.
    fn poll_closed(&mut self, id: ConnectionId, cx: &Context<'_>) -> Poll<Result<(), StreamError>> {
        let stream = self.stream_mut(id);
        if stream.status.closed {
            return Poll::Ready(Ok(()));
        }
        if let Some(failure) = stream.status.failed {
            return Poll::Ready(Err(failure.into()));
        }
        stream.wait_to_write(cx);
        Poll::Pending
    }

    /// Waits until a connection has failed.
    fn poll_failed(&mut self, id: ConnectionId, cx: &Context<'_>) -> Poll<StreamError> {
        let stream = self.stream_mut(id);
        if let Some(failure) = stream.status.failed {
            return Poll::Ready(failure.into());
        }
        stream.wait_to_write(cx);
        Poll::Pending
    }

    /// Gives a connection up at once and tells the peer.
    fn abort(&mut self, now: Instant, id: ConnectionId) {
        self.stream_mut(id).endpoint.abort(now);
        self.changed(id);
    }

    /// The application lets go of a connection: it is closed, what still arrives is thrown away, and
    /// once it has ended it is forgotten.
    fn release(&mut self, now: Instant, id: ConnectionId) {
        let stream = self.stream_mut(id);
        stream.dropped = true;
        while stream.endpoint.read(now).is_some() {}
        stream.endpoint.close(now);
        self.changed(id);
    }

    /// Bytes that were written to a connection and not sent yet.
    fn unsent(&self, id: ConnectionId) -> usize {
        self.stream(id).endpoint.unsent()
    }

    /// What its sender and counters say.
    fn state(&self, id: ConnectionId) -> (SenderState, TransportCounters) {
        let endpoint = &self.stream(id).endpoint;
        (endpoint.sender_state(), endpoint.counters())
    }
}
