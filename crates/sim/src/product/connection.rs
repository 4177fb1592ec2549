//! A connection inside an association, as the end of a flow.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use bentpipe_association::endpoint::{self, ConnectionId};
use bentpipe_association::host::{Shared, lock};
use bentpipe_association::stream::{ConnectionStatus, Streams as _};
use bentpipe_record::{ProbingSummary, TransportCounters};
use bentpipe_transport::{
    Endpoint, Event, Inspect, NetworkFeedback, PathId, ProxyLeg, Readiness, SenderState, WriteError,
};
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::Segment;
use bytes::Bytes;

/// Ends of flows whose connections have news.
#[derive(Debug, Default)]
pub(super) struct Woken {
    ends: Mutex<Vec<u32>>,
    any: AtomicBool,
}

impl Woken {
    /// True when there are some.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// All of them, once.
    pub(super) fn take(&self) -> Vec<u32> {
        self.any.store(false, Ordering::Relaxed);
        std::mem::take(&mut *lock(&self.ends))
    }

    fn tell(&self, end: u32) {
        self.any.store(true, Ordering::Relaxed);
        let mut ends = lock(&self.ends);
        if !ends.contains(&end) {
            ends.push(end);
        }
    }

    /// Tells of an end.
    pub(super) fn waker(self: &Arc<Self>, end: u32) -> Waker {
        Waker::from(Arc::new(LinkStates { woken: self.clone(), end }))
    }
}

struct LinkStates {
    woken: Arc<Woken>,
    end: u32,
}

impl Wake for LinkStates {
    fn wake(self: Arc<Self>) {
        self.woken.tell(self.end);
    }
}

/// What woke an end since it was looked at.
#[derive(Debug)]
struct News {
    end: u32,
    readable: AtomicBool,
    writable: AtomicBool,
    woken: Arc<Woken>,
}

impl News {
    fn tell(&self, what: &AtomicBool) {
        what.store(true, Ordering::Relaxed);
        self.woken.tell(self.end);
    }
}

struct Reader(Arc<News>);
struct Writer(Arc<News>);

impl Wake for Reader {
    fn wake(self: Arc<Self>) {
        self.0.tell(&self.0.readable);
    }
}

impl Wake for Writer {
    fn wake(self: Arc<Self>) {
        self.0.tell(&self.0.writable);
    }
}

/// One end. Its segments and its timers are those of the host that it belongs to, which has to be run after each change.
#[derive(Debug)]
pub(crate) struct Hosted {
    shared: Arc<Shared<endpoint::Endpoint>>,
    id: ConnectionId,
    news: Arc<News>,
    reader: Waker,
    writer: Waker,
    /// What the application was told so far.
    status: ConnectionStatus,
}

impl Hosted {
    /// A connection of a host that is end number `end` of the run.
    pub(super) fn new(
        shared: Arc<Shared<endpoint::Endpoint>>,
        id: ConnectionId,
        end: u32,
        woken: Arc<Woken>,
    ) -> Self {
        let (readable, writable) = (AtomicBool::new(true), AtomicBool::new(false));
        let news = Arc::new(News { end, readable, writable, woken });
        let reader = Waker::from(Arc::new(Reader(news.clone())));
        let writer = Waker::from(Arc::new(Writer(news.clone())));
        Self { shared, id, news, reader, writer, status: ConnectionStatus::default() }
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut bentpipe_transport::xstp::Session) -> T) -> T {
        let mut endpoint = self.shared.endpoint();
        let done = act(&mut endpoint.stream_mut(self.id).endpoint);
        endpoint.changed(self.id);
        done
    }

    fn look<T>(&self, look: impl FnOnce(&bentpipe_transport::xstp::Session) -> T) -> T {
        look(&self.shared.endpoint().stream(self.id).endpoint)
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        self.shared.endpoint().release(self.shared.now(), self.id);
    }
}

impl Endpoint for Hosted {
    fn handle_segment(&mut self, _: Instant, _: PathId, _: &mut Segment) {}

    fn handle_timeout(&mut self, _: Instant) {}

    fn write(&mut self, now: Instant, data: &mut Bytes) -> Result<usize, WriteError> {
        let mut endpoint = self.shared.endpoint();
        let mut written = 0;
        while !data.is_empty() {
            match endpoint.poll_write(now, self.id, data, &Context::from_waker(&self.writer)) {
                Poll::Ready(Ok(len)) => written += len,
                Poll::Ready(Err(_)) => return Err(WriteError::Closed),
                Poll::Pending => break,
            }
        }
        Ok(written)
    }

    fn read(&mut self, now: Instant) -> Option<Bytes> {
        let mut endpoint = self.shared.endpoint();
        match endpoint.poll_read(now, self.id, &Context::from_waker(&self.reader)) {
            Poll::Ready(Ok(bytes)) => {
                let _ = endpoint.was_read(self.id);
                bytes
            }
            Poll::Ready(Err(_)) | Poll::Pending => None,
        }
    }

    fn close(&mut self, now: Instant) {
        self.shared.endpoint().close(now, self.id);
    }

    fn abort(&mut self, now: Instant) {
        self.shared.endpoint().abort(now, self.id);
    }

    fn poll_transmit(&mut self, _: Instant, _: &mut Segment) -> Option<PathId> {
        None
    }

    fn poll_event(&mut self) -> Option<Event> {
        let mut endpoint = self.shared.endpoint();
        let stream = endpoint.stream_mut(self.id);
        let is = stream.status;
        if let Some(failure) = is.failed.filter(|_| self.status.failed.is_none()) {
            self.status.failed = Some(failure);
            return Some(Event::Failed(failure));
        }
        if is.connected && !std::mem::replace(&mut self.status.connected, is.connected) {
            return Some(Event::Connected);
        }
        if self.news.readable.swap(false, Ordering::Relaxed) {
            return Some(Event::Readable);
        }
        if self.news.writable.swap(false, Ordering::Relaxed) {
            return Some(Event::Writable);
        }
        if is.peer_closed && !std::mem::replace(&mut self.status.peer_closed, true) {
            return Some(Event::PeerClosed);
        }
        if is.closed && !std::mem::replace(&mut self.status.closed, true) {
            return Some(Event::Closed);
        }
        // Whatever comes next is told, however the application waits for it.
        stream.wait_to_read(&Context::from_waker(&self.reader));
        stream.wait_to_write(&Context::from_waker(&self.writer));
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn is_closed(&self) -> bool {
        self.status.closed || self.status.failed.is_some()
    }

    fn readiness(&self) -> Readiness {
        Readiness { may_transmit: false, is_quiet: false }
    }
}

impl ProxyLeg for Hosted {
    fn reserve_receive_buffer(&mut self, now: Instant, bytes: ByteCount) {
        self.with(|session| session.reserve_receive_buffer(now, bytes));
    }

    fn unacknowledged(&self) -> ByteCount {
        self.look(ProxyLeg::unacknowledged)
    }
}

impl NetworkFeedback for Hosted {}

impl Inspect for Hosted {
    fn unsent(&self) -> usize {
        self.shared.endpoint().unsent(self.id)
    }

    fn sender_state(&self) -> SenderState {
        self.look(Inspect::sender_state)
    }

    fn counters(&self) -> TransportCounters {
        self.look(Inspect::counters)
    }

    fn probing_summary(&self) -> Option<ProbingSummary> {
        self.look(Inspect::probing_summary)
    }

    fn controller_name(&self) -> &'static str {
        self.look(Inspect::controller_name)
    }
}
