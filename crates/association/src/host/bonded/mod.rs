//! A byte stream over connections by several links ([`bentpipe_bond`]).

mod member;
mod state;

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use bentpipe_units::ByteCount;
use bytes::Bytes;

use self::state::{SCARCE, State};
use super::runtime::Runtime;
use super::shared::lock;
use crate::endpoint::{ConnectionRef, Links};

pub use self::member::Joining;

/// A byte stream to a peer over connections that are bound to a link each. Clones are the same one.
///
/// Somebody has to poll [`Bonded::drive`] while it is used. When the last clone is gone all connections are closed; what was
/// written is still delivered.
#[derive(Clone, Debug)]
pub struct Bonded {
    state: Arc<Mutex<State>>,
}

impl Bonded {
    /// A stream over this connection, bound to a link, which has brought `first` already. This end takes so much of the stream
    /// beyond what was read.
    ///
    /// # Errors
    /// When what came is nothing that a peer may send.
    pub fn new(first: Joining, came: Bytes, window: ByteCount) -> io::Result<Self> {
        let mut state = State::new(window);
        state.join(first, came)?;
        Ok(Self { state: Arc::new(Mutex::new(state)) })
    }

    /// A connection more, which has brought `came` already. It is closed where there is no memory for another one.
    ///
    /// # Errors
    /// When what came is nothing that a peer may send.
    pub fn join(&self, joining: Joining, came: Bytes) -> io::Result<()> {
        let mut state = self.lock();
        if state.room() < SCARCE || !state.goes_on() { Ok(()) } else { state.join(joining, came) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Carries what is written and brings what comes, for ever. `join` opens a connection by a link that has none, once the
    /// stream is long enough or where none of its links may be used, and those by links that are barred end.
    pub async fn drive(
        &self,
        runtime: &impl Runtime,
        links: impl Fn() -> Links,
        join: impl Fn(usize) -> Option<Joining>,
    ) {
        loop {
            let due = poll_fn(|cx| Poll::Ready(self.lock().step(runtime.now(), cx))).await;
            let Links { open, barred } = links();
            self.lock().quit(&barred);
            let wants_more = self.lock().is_long() || self.lock().is_stranded(&open);
            if wants_more {
                let free = open.into_iter().find(|link| self.lock().is_free(runtime.now(), *link));
                if let Some(joining) = free.and_then(&join) {
                    self.lock().open(joining);
                    continue;
                }
            }
            let mut sleep = pin!(runtime.sleep(due.since(runtime.now())));
            let mut is_registered = false;
            poll_fn(|cx| {
                if std::mem::replace(&mut is_registered, true) {
                    return Poll::Ready(());
                }
                sleep.as_mut().poll(cx)
            })
            .await;
        }
    }

    /// Writes a piece of bytes without copying it.
    ///
    /// # Errors
    /// When all connections failed, or the stream is closed.
    pub async fn write_bytes(&self, bytes: Bytes) -> io::Result<()> {
        let mut bytes = Some(bytes);
        poll_fn(|cx| {
            let mut state = self.lock();
            if let Some(error) = state.error() {
                return Poll::Ready(Err(error));
            }
            if state.bond.has_closed() {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            if !state.may_write() {
                state.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            state.bond.write(bytes.take().unwrap_or_default());
            state.wake_driver();
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Appends the chunks of bytes that have arrived, at least one and at most `most`; false at the end.
    ///
    /// # Errors
    /// When all connections failed.
    pub async fn read_chunks(&self, chunks: &mut Vec<Bytes>, most: usize) -> io::Result<bool> {
        poll_fn(|cx| {
            let mut state = self.lock();
            let before = chunks.len();
            state.read(most, chunks);
            if chunks.len() > before {
                // The peer may send more.
                state.wake_driver();
                return Poll::Ready(Ok(true));
            }
            if state.bond.has_ended() {
                return Poll::Ready(Ok(false));
            }
            if let Some(error) = state.error() {
                return Poll::Ready(Err(error));
            }
            state.reader = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// What was read is kept no more.
    pub fn has_passed_on(&self) {
        self.lock().has_passed_on();
    }

    /// Nobody reads any more: what comes is dropped, and the peer is given no more room for it.
    pub fn refuse(&self) {
        self.lock().refuse();
    }

    /// A reference to its first connection, for those who look on.
    pub fn reference(&self) -> Option<ConnectionRef> {
        self.lock().members.first().map(|member| member.connection.reference())
    }

    /// No more writes: once everything was delivered, the peer is told.
    pub fn close(&self) {
        let mut state = self.lock();
        state.bond.close();
        state.wake_driver();
    }

    /// Waits until all connections have failed.
    pub async fn failed(&self) -> io::Error {
        poll_fn(|cx| {
            let mut state = self.lock();
            state.watcher = Some(cx.waker().clone());
            state.error().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Waits until everything that was written is delivered.
    ///
    /// # Errors
    /// When all connections failed before.
    pub async fn delivered(&self) -> io::Result<()> {
        self.until(|state| state.bond.is_delivered()).await
    }

    /// Closes for writing and waits until both ends are closed and everything was delivered.
    ///
    /// # Errors
    /// When all connections failed before.
    pub async fn finish(self) -> io::Result<()> {
        self.close();
        self.until(|state| state.is_over).await
    }

    async fn until(&self, holds: impl Fn(&State) -> bool) -> io::Result<()> {
        poll_fn(|cx| {
            let mut state = self.lock();
            if let Some(error) = state.error() {
                return Poll::Ready(Err(error));
            }
            if holds(&state) {
                return Poll::Ready(Ok(()));
            }
            state.watcher = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Waits until the host has memory for something to be written, and says for how much.
    pub fn poll_room(&self, cx: &Context<'_>) -> Poll<usize> {
        let state = self.lock();
        state
            .members
            .first()
            .map_or(Poll::Ready(usize::MAX), |first| first.connection.poll_room(cx))
    }

    /// Gives up at once and tells the peer.
    pub fn abort(self) {
        self.lock().fail(io::ErrorKind::ConnectionAborted);
    }
}
