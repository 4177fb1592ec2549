//! A connection as an asynchronous stream.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};

use bentpipe_record::TransportCounters;
use bentpipe_transport::SenderState;
use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::shared::{Handle, lock};
use crate::endpoint::{ConnectionRef, Endpoint};
use crate::key::PublicKey;
use crate::stream::{ConnectionId, Kept, Stream, Streams};

/// A reliable byte stream to a peer. Implements [`AsyncRead`] and [`AsyncWrite`].
///
/// Dropping it closes it: what was written is still delivered as long as a [`Host`](super::Host) or another
/// connection of it exists, what arrives is thrown away. [`Connection::finish`] waits for the end.
#[derive(Debug)]
pub struct Connection<S: Streams = Endpoint> {
    handle: Arc<Handle<S>>,
    id: ConnectionId,
    /// Bytes that arrived and found no room in the reader's buffer.
    unread: Mutex<Bytes>,
}

impl Connection {
    /// Whom it leads to.
    pub fn peer(&self) -> PublicKey {
        self.handle.shared.endpoint().peer(self.id)
    }

    /// What is sent goes by this link, 0 or 1, and by no other one, whether it works or not.
    pub fn bind(&self, link: usize) {
        let shared = &self.handle.shared;
        shared.endpoint().bind(shared.now(), self.id, link);
        shared.changed.notify_one();
    }

    /// A reference to it, for those who look on.
    pub fn reference(&self) -> ConnectionRef {
        self.handle.shared.endpoint().reference(self.id)
    }

    /// Asks how many bytes of what was written the peer has acknowledged, for those who look on.
    pub fn acknowledged(&self) -> impl Fn() -> u64 + Send + Sync + use<> {
        let (handle, connection) = (self.handle.clone(), self.reference());
        move || {
            let known = handle.shared.endpoint().look(connection);
            known.map_or(0, |(sender, counters)| {
                counters.payload_bytes.saturating_sub(sender.in_flight.get())
            })
        }
    }
}

impl<S: Streams> Connection<S> {
    /// The connection of this number, of the host that the handle leads to.
    pub fn new(handle: Arc<Handle<S>>, id: ConnectionId) -> Self {
        Self { handle, id, unread: Mutex::new(Bytes::new()) }
    }

    /// Whether the peer has answered.
    pub(super) fn has_opened(&self) -> bool {
        self.endpoint().stream(self.id).status.connected
    }

    /// Waits until the peer has answered.
    ///
    /// # Errors
    /// When it does not, or refuses.
    pub async fn opened(&self) -> io::Result<()> {
        let endpoint = &self.handle.shared;
        Ok(poll_fn(|cx| endpoint.endpoint().poll_connected(self.id, cx)).await?)
    }

    /// The sender's state and what was sent and received so far.
    pub fn state(&self) -> (SenderState, TransportCounters) {
        self.handle.shared.endpoint().state(self.id)
    }

    /// Bytes that were written and not sent yet.
    pub fn unsent(&self) -> usize {
        self.handle.shared.endpoint().unsent(self.id)
    }

    /// Writes a piece of bytes without copying it.
    ///
    /// # Errors
    /// When the connection failed or is closed for writing.
    pub async fn write_bytes(&self, mut bytes: Bytes) -> io::Result<()> {
        let mut waited = false;
        while !bytes.is_empty() {
            poll_fn(|cx| {
                let polled = self.poll_write_bytes(cx, &mut bytes);
                if waited || !bytes.is_empty() {
                    waited = true;
                    self.endpoint().keeps(self.id, Kept::Unwritten(bytes.len()));
                }
                polled
            })
            .await?;
        }
        Ok(())
    }

    /// The next piece of bytes, without copying it; `None` at the end.
    ///
    /// # Errors
    /// When the connection failed.
    pub async fn read_bytes(&self) -> io::Result<Option<Bytes>> {
        let unread = std::mem::take(&mut *self.unread());
        if !unread.is_empty() {
            return Ok(Some(unread));
        }
        poll_fn(|cx| self.poll_read_bytes(cx)).await
    }

    /// Appends the chunks of bytes that have arrived, at least one and at most `most`; false at the end. Until the next
    /// call they count as held by the connection.
    ///
    /// # Errors
    /// When the connection failed.
    pub async fn read_chunks(&self, chunks: &mut Vec<Bytes>, most: usize) -> io::Result<bool> {
        let unread = std::mem::take(&mut *self.unread());
        if !unread.is_empty() {
            chunks.push(unread);
            return Ok(true);
        }
        let shared = &self.handle.shared;
        poll_fn(|cx| {
            let mut endpoint = shared.endpoint();
            let now = shared.now();
            let (mut kept, mut read) = (0, Poll::Pending);
            for count in 0..most {
                read = match endpoint.poll_read(now, self.id, cx) {
                    Poll::Ready(Ok(Some(bytes))) => {
                        kept += bytes.len();
                        chunks.push(bytes);
                        Poll::Ready(Ok(true))
                    }
                    Poll::Ready(Ok(None)) if count == 0 => Poll::Ready(Ok(false)),
                    Poll::Ready(Err(error)) if count == 0 => Poll::Ready(Err(error.into())),
                    _ => break,
                };
                if !matches!(read, Poll::Ready(Ok(true))) {
                    break;
                }
            }
            endpoint.keeps(self.id, Kept::Read(kept));
            if kept > 0 && endpoint.was_read(self.id) {
                shared.changed.notify_one();
            }
            read
        })
        .await
    }

    /// What was read last is gone, and counts no more.
    pub fn has_passed_on(&self) {
        self.endpoint().keeps(self.id, Kept::Read(0));
    }

    /// The same, and of what a write that was broken off still had.
    pub fn keeps_nothing(&self) {
        let mut endpoint = self.endpoint();
        endpoint.keeps(self.id, Kept::Read(0));
        endpoint.keeps(self.id, Kept::Unwritten(0));
    }

    /// Waits until the connection has failed. Who reads or writes is told by that; only one task may write and wait for this.
    pub async fn failed(&self) -> io::Error {
        poll_fn(|cx| self.endpoint().poll_failed(self.id, cx)).await.into()
    }

    /// Waits until the host has memory for something to be written, and says for how much.
    pub fn poll_room(&self, cx: &Context<'_>) -> Poll<usize> {
        if self.handle.shared.shortages.load(Ordering::Relaxed) == 0 {
            return Poll::Ready(usize::MAX);
        }
        self.endpoint().poll_room(self.id, cx)
    }

    /// No more writes: once everything was delivered, the peer is told.
    pub fn close(&self) {
        let shared = &self.handle.shared;
        shared.endpoint().close(shared.now(), self.id);
        shared.changed.notify_one();
    }

    /// Closes for writing and waits until both ends are closed and everything was delivered.
    ///
    /// # Errors
    /// When the connection failed before.
    pub async fn finish(self) -> io::Result<()> {
        self.close();
        poll_fn(|cx| self.handle.shared.endpoint().poll_closed(self.id, cx)).await?;
        Ok(())
    }

    /// Does something with what carries the connection.
    pub fn with<T>(&self, act: impl FnOnce(&mut Stream<S::Endpoint>) -> T) -> T {
        act(self.endpoint().stream_mut(self.id))
    }

    /// The host that it belongs to.
    pub fn endpoint(&self) -> MutexGuard<'_, S> {
        self.handle.shared.endpoint()
    }

    /// Its number at this host.
    pub const fn id(&self) -> ConnectionId {
        self.id
    }

    /// The connection was changed and has to be drained.
    pub fn mark_dirty(&self) {
        self.endpoint().changed(self.id);
        self.handle.shared.changed.notify_one();
    }

    /// Something was read.
    pub fn note_read(&self) {
        if self.endpoint().was_read(self.id) {
            self.handle.shared.changed.notify_one();
        }
    }

    fn unread(&self) -> MutexGuard<'_, Bytes> {
        lock(&self.unread)
    }

    /// Gives up at once and tells the peer.
    pub fn abort(self) {
        let shared = &self.handle.shared;
        shared.endpoint().abort(shared.now(), self.id);
        shared.changed.notify_one();
    }

    pub(super) fn poll_write_bytes(
        &self,
        cx: &Context<'_>,
        bytes: &mut Bytes,
    ) -> Poll<io::Result<usize>> {
        let shared = &self.handle.shared;
        let written = ready!(shared.endpoint().poll_write(shared.now(), self.id, bytes, cx));
        shared.changed.notify_one();
        Poll::Ready(written.map_err(io::Error::from))
    }

    pub(super) fn poll_read_bytes(&self, cx: &Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        let shared = &self.handle.shared;
        let read = ready!(shared.endpoint().poll_read(shared.now(), self.id, cx));
        if matches!(read, Ok(Some(_))) {
            self.note_read();
        }
        Poll::Ready(read.map_err(io::Error::from))
    }
}

impl<S: Streams> Drop for Connection<S> {
    fn drop(&mut self) {
        self.keeps_nothing();
        let shared = &self.handle.shared;
        shared.endpoint().release(shared.now(), self.id);
        shared.changed.notify_one();
    }
}

impl<S: Streams> AsyncRead for Connection<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut unread = self.unread();
        if unread.is_empty() {
            match ready!(self.poll_read_bytes(cx))? {
                Some(bytes) => *unread = bytes,
                None => return Poll::Ready(Ok(())),
            }
        }
        let len = unread.len().min(buffer.remaining());
        buffer.put_slice(&unread[..len]);
        unread.advance(len);
        Poll::Ready(Ok(()))
    }
}

impl<S: Streams> AsyncWrite for Connection<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_bytes(cx, &mut Bytes::copy_from_slice(buffer))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close();
        Poll::Ready(Ok(()))
    }
}
