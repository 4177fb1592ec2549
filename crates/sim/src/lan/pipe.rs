//! TCP on a local network, as a gateway sees it: bytes in order, an end or a reset, and room that ends.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use bentpipe_association::host::lock;
use bentpipe_gateway::{Tcp, TcpReader};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that one direction holds.
const ROOM: usize = 64 * 1024;

/// One direction.
#[derive(Debug, Default)]
struct OneDirection {
    bytes: VecDeque<u8>,
    /// Bytes that were read and have not reached the host.
    pending: usize,
    has_ended: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

#[derive(Debug, Default)]
struct State {
    directions: [OneDirection; 2],
    is_reset: bool,
}

impl State {
    fn wake(&mut self) {
        for half in &mut self.directions {
            half.reader.take().into_iter().chain(half.writer.take()).for_each(Waker::wake);
        }
    }
}

/// One end of a TCP connection. When it is dropped the other end sees an end, or a reset where it is guarded.
#[derive(Debug)]
pub(crate) struct Pipe {
    state: Arc<Mutex<State>>,
    side: usize,
    guarded: Mutex<bool>,
}

/// What a read came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Bytes(Vec<u8>),
    Nothing,
    End,
    Reset,
}

impl Pipe {
    /// Both ends of a connection.
    pub(crate) fn pair() -> [Self; 2] {
        let state = Arc::<Mutex<State>>::default();
        [0, 1].map(|side| Self { state: state.clone(), side, guarded: Mutex::new(false) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Bytes that a write would take.
    pub(crate) fn room(&self) -> usize {
        let state = self.state();
        if state.is_reset { 0 } else { ROOM - state.directions[self.side].bytes.len() }
    }

    /// Writes what there is room for. `None` after a reset.
    pub(crate) fn write(&self, bytes: &[u8]) -> Option<usize> {
        let mut state = self.state();
        if state.is_reset {
            return None;
        }
        let half = &mut state.directions[self.side];
        let len = bytes.len().min(ROOM - half.bytes.len());
        half.bytes.extend(&bytes[..len]);
        if len > 0 {
            state.wake();
        }
        Some(len)
    }

    /// Reads at most so many bytes.
    pub(crate) fn read(&self, most: usize) -> Read {
        let mut state = self.state();
        if state.is_reset {
            return Read::Reset;
        }
        let half = &mut state.directions[1 - self.side];
        if half.bytes.is_empty() {
            return if half.has_ended { Read::End } else { Read::Nothing };
        }
        let len = half.bytes.len().min(most);
        let bytes = half.bytes.drain(..len).collect();
        state.wake();
        Read::Bytes(bytes)
    }

    /// Wakes this task when something can be read or written.
    pub(crate) fn watch(&self, waker: &Waker) {
        let mut state = self.state();
        state.directions[1 - self.side].reader = Some(waker.clone());
        state.directions[self.side].writer = Some(waker.clone());
    }

    /// So many bytes that were read from here wait elsewhere until the host has them.
    pub(crate) fn note_pending(&self, bytes: usize) {
        self.state().directions[1 - self.side].pending = bytes;
    }

    /// Nothing more is written.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.directions[self.side].has_ended = true;
        state.wake();
    }

    /// Both directions are over, and what was not read is lost.
    pub(crate) fn reset(&self) {
        let mut state = self.state();
        state.is_reset = true;
        state.wake();
    }

    fn poll_read(&self, cx: &Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.read(buffer.remaining()) {
            Read::Bytes(bytes) => buffer.put_slice(&bytes),
            Read::End => {}
            Read::Reset => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            Read::Nothing => {
                self.state().directions[1 - self.side].reader = Some(cx.waker().clone());
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write(&self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.write(bytes) {
            None => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            Some(0) if !bytes.is_empty() => {
                self.state().directions[self.side].writer = Some(cx.waker().clone());
                Poll::Pending
            }
            Some(len) => Poll::Ready(Ok(len)),
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        if *lock(&self.guarded) {
            self.reset();
        } else {
            self.end();
        }
    }
}

/// One half of an end.
#[derive(Debug)]
pub(crate) struct Half<'a>(&'a Pipe);

impl Tcp for Pipe {
    type Reader<'a> = Half<'a>;
    type Writer<'a> = Half<'a>;

    fn split(&mut self) -> (Half<'_>, Half<'_>) {
        (Half(self), Half(self))
    }

    fn prepare(&self) -> io::Result<()> {
        Ok(())
    }

    fn guard(&self) -> io::Result<()> {
        *lock(&self.guarded) = true;
        Ok(())
    }

    fn complete(&self) -> io::Result<()> {
        *lock(&self.guarded) = false;
        Ok(())
    }

    fn queued(&self) -> usize {
        let state = self.state();
        let half = &state.directions[self.side];
        half.bytes.len() + half.pending
    }
}

impl TcpReader for Half<'_> {
    async fn readable(&self) -> io::Result<()> {
        std::future::poll_fn(|cx| {
            let mut state = self.0.state();
            let is_reset = state.is_reset;
            let half = &mut state.directions[1 - self.0.side];
            if is_reset || half.has_ended || !half.bytes.is_empty() {
                return Poll::Ready(Ok(()));
            }
            half.reader = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl AsyncRead for Half<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.poll_read(cx, buffer)
    }
}

impl AsyncWrite for Half<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.end();
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        (*self).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        (*self).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end();
        Poll::Ready(Ok(()))
    }
}
