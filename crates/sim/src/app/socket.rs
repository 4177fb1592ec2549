//! The socket of a gateway: what TCP brings goes to the gateway's program, and back.

use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use bentpipe_association::host::lock;
use bentpipe_transport::{Endpoint, Event};
use bentpipe_units::Instant;
use bytes::{Buf as _, Bytes};

use crate::lan::{Pipe, Read};

/// Bytes that are moved at a time.
const MOST: usize = 16 * 1024;

/// A connection that a gateway's program opens, and waits for.
#[derive(Debug, Default)]
pub(crate) struct Dialled(Mutex<(Option<io::ErrorKind>, bool, Option<Waker>)>);

impl Dialled {
    /// It is open, or it failed.
    fn end(&self, error: Option<io::ErrorKind>) {
        let mut state = lock(&self.0);
        if state.1 {
            return;
        }
        (state.0, state.1) = (error, true);
        if let Some(waker) = state.2.take() {
            waker.wake();
        }
    }

    /// Nobody is there.
    pub(crate) fn refuse(&self) {
        self.end(Some(io::ErrorKind::ConnectionRefused));
    }

    /// Waits until it is open.
    pub(crate) async fn opened(&self) -> io::Result<()> {
        std::future::poll_fn(|cx| {
            let mut state = lock(&self.0);
            match (state.1, state.0) {
                (true, None) => Poll::Ready(Ok(())),
                (true, Some(error)) => Poll::Ready(Err(error.into())),
                (false, _) => {
                    state.2 = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

/// An end of TCP at a gateway.
#[derive(Debug)]
pub(crate) struct Socket {
    pipe: Pipe,
    /// Tells that the program has done something.
    waker: Waker,
    /// The program's end of it, until it is accepted.
    offer: Option<Pipe>,
    /// Who waits for it to be open.
    dialled: Option<Arc<Dialled>>,
    is_open: bool,
    /// What was read of TCP and finds no room with the program.
    inward: Bytes,
    peer_closed: bool,
    has_ended: bool,
    /// What the program wrote and TCP does not take yet.
    outward: Bytes,
    has_closed: bool,
}

impl Socket {
    /// A socket that a client opens.
    pub(crate) fn accepting(waker: Waker) -> Self {
        let [pipe, offer] = Pipe::pair();
        Self::new(pipe, waker, Some(offer), None)
    }

    /// A socket that the program opens.
    pub(crate) fn dialling(pipe: Pipe, waker: Waker, dialled: Arc<Dialled>) -> Self {
        Self::new(pipe, waker, None, Some(dialled))
    }

    const fn new(
        pipe: Pipe,
        waker: Waker,
        offer: Option<Pipe>,
        dialled: Option<Arc<Dialled>>,
    ) -> Self {
        Self {
            pipe,
            waker,
            offer,
            dialled,
            is_open: false,
            inward: Bytes::new(),
            peer_closed: false,
            has_ended: false,
            outward: Bytes::new(),
            has_closed: false,
        }
    }

    /// The program's end of a connection that a client has opened, once.
    pub(crate) fn take_offer(&mut self) -> Option<Pipe> {
        self.offer.take_if(|_| self.is_open)
    }

    /// TCP has news.
    pub(super) fn on_event(&mut self, now: Instant, endpoint: &mut impl Endpoint, event: Event) {
        match event {
            Event::Connected => {
                self.is_open = true;
                if let Some(dialled) = self.dialled.take() {
                    dialled.end(None);
                }
                self.waker.wake_by_ref();
            }
            Event::PeerClosed => self.peer_closed = true,
            Event::Failed(_) => {
                if let Some(dialled) = self.dialled.take() {
                    dialled.refuse();
                }
                self.pipe.reset();
            }
            Event::Readable | Event::Writable | Event::Closed => {}
        }
        self.carry(now, endpoint);
    }

    /// Moves what there is room for.
    pub(crate) fn carry(&mut self, now: Instant, endpoint: &mut impl Endpoint) {
        loop {
            if self.inward.is_empty() {
                match endpoint.read(now) {
                    Some(bytes) => self.inward = bytes,
                    None => break,
                }
            }
            match self.pipe.write(&self.inward) {
                Some(len) if len > 0 => self.inward.advance(len),
                _ => break,
            }
        }
        if self.peer_closed
            && self.inward.is_empty()
            && !std::mem::replace(&mut self.has_ended, true)
        {
            self.pipe.end();
        }
        while self.is_open && !self.has_closed {
            if self.outward.is_empty() {
                match self.pipe.read(MOST) {
                    Read::Bytes(bytes) => self.outward = bytes.into(),
                    Read::Nothing => break,
                    Read::End => {
                        self.has_closed = true;
                        endpoint.close(now);
                        break;
                    }
                    Read::Reset => {
                        self.has_closed = true;
                        endpoint.abort(now);
                        break;
                    }
                }
            }
            let _ = endpoint.write(now, &mut self.outward);
            if !self.outward.is_empty() {
                break;
            }
        }
        self.pipe.note_pending(self.outward.len());
        self.pipe.watch(&self.waker);
    }
}
