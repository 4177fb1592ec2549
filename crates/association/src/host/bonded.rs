//! A byte stream over connections by several links ([`bentpipe_bond`]).

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use bentpipe_bond::{Bond, Observed, Transmit};
use bentpipe_transport::Inspect as _;
use bentpipe_units::{ByteCount, Instant, Span};
use bytes::Bytes;

use super::connection::Connection;
use super::runtime::Runtime;
use super::shared::lock;
use crate::endpoint::ConnectionRef;
use crate::stream::{Kept, Streams as _};

/// Bytes that wait for a link before a writer waits.
const PENDING: usize = 256 * 1024;
/// Bytes that wait in a connection at least, if there are some.
const READY: usize = 64 * 1024;
/// With less memory than this connections keep what comes, each within its bounds, and none joins.
const SCARCE: usize = 64 * 1024;
/// A stream that has carried less takes one link: for an object that is short a second one is not worth its opening.
const JOIN_AFTER: u64 = 256 * 1024;
/// Time until another connection is tried by a link by which none could be opened.
const RETRY: Span = Span::from_secs(10);
/// Time between two looks while something is under way, and while nothing is.
const LOOK: Span = Span::from_millis(20);
const IDLE: Span = Span::from_secs(1);
/// Shortest time between two looks.
const SOON: Span = Span::from_millis(1);

/// A byte stream to a peer over connections that are bound to a link each. Clones are the same one.
///
/// Somebody has to poll [`Bonded::drive`] while it is used. When the last clone is gone all connections are closed; what was
/// written is still delivered.
#[derive(Clone, Debug)]
pub struct Bonded {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    bond: Bond,
    members: Vec<Member>,
    /// The number of the next member.
    next: usize,
    /// Links by which no connection could be opened, and until when none is tried.
    refused: BTreeMap<usize, Instant>,
    failed: Option<io::ErrorKind>,
    /// Everything has come at both ends: how connections end tells nothing any more.
    is_over: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
    watcher: Option<Waker>,
    driver: Option<Waker>,
}

#[derive(Debug)]
struct Member {
    number: usize,
    link: usize,
    connection: Connection,
    /// Frames that the connection has not yet, and of the first one what it has not.
    backlog: VecDeque<[Bytes; 2]>,
    has_begun: bool,
    /// The peer has closed it.
    has_ended: bool,
}

/// A connection more, over a link.
#[derive(Debug)]
pub struct Joining {
    /// The connection.
    pub connection: Connection,
    /// The link.
    pub link: usize,
    /// What is written to it first.
    pub greeting: Bytes,
}

impl State {
    /// A connection that the peer has as one of the bond, and has brought this.
    fn join(&mut self, joining: Joining, came: Bytes) -> io::Result<()> {
        let number = self.add(joining);
        self.bond.join(number);
        self.wake();
        self.bond.handle_bytes(number, came).map_err(io::Error::other)
    }

    /// A connection that this end has opened.
    fn open(&mut self, joining: Joining) {
        let number = self.add(joining);
        self.bond.open(number);
        self.wake();
    }

    fn add(&mut self, joining: Joining) -> usize {
        let Joining { connection, link, greeting } = joining;
        connection.bind(link);
        let (number, backlog) = (self.next, VecDeque::from([[greeting, Bytes::new()]]));
        self.next += 1;
        self.members.push(Member {
            number,
            link,
            connection,
            backlog,
            has_begun: true,
            has_ended: false,
        });
        number
    }

    /// Whoever waits looks again.
    fn wake(&mut self) {
        for waiting in [&mut self.reader, &mut self.writer, &mut self.watcher, &mut self.driver] {
            if let Some(waker) = waiting.take() {
                waker.wake();
            }
        }
    }

    fn wake_driver(&mut self) {
        if let Some(waker) = self.driver.take() {
            waker.wake();
        }
    }

    /// It ends before its end.
    fn fail(&mut self, why: io::ErrorKind) {
        if self.is_over {
            return;
        }
        self.failed = self.failed.or(Some(why));
        for member in self.members.drain(..) {
            member.connection.abort();
        }
        self.wake();
    }

    /// A connection has failed. Where nobody answered, or none more may be opened, the others go on without it.
    fn member_failed(&mut self, now: Instant, at: usize, why: io::ErrorKind) {
        let member = &self.members[at];
        let goes_on = why == io::ErrorKind::TimedOut || !member.connection.has_opened();
        if !self.is_over && (self.members.len() == 1 || !goes_on) {
            return self.fail(why);
        }
        let member = self.members.remove(at);
        self.refused.insert(member.link, now + RETRY);
        self.bond.leave(member.number);
        self.wake();
    }

    /// Reads what connections brought. True if there was something.
    fn poll_read(&mut self, now: Instant, cx: &Context<'_>) -> bool {
        let (mut came, mut at) = (false, 0);
        // Of several connections each may have what all wait for.
        if self.members.len() == 1 && self.bond.is_readable() && self.room() < SCARCE {
            return false;
        }
        while at < self.members.len() {
            let member = &mut self.members[at];
            at += 1;
            while !member.has_ended {
                match member.connection.poll_read_bytes(cx) {
                    Poll::Pending => break,
                    Poll::Ready(Ok(Some(bytes))) => {
                        came = true;
                        if self.bond.handle_bytes(member.number, bytes).is_err() {
                            self.fail(io::ErrorKind::InvalidData);
                            return true;
                        }
                    }
                    Poll::Ready(Ok(None)) => {
                        member.has_ended = true;
                        // It takes nothing any more either.
                        self.bond.leave(member.number);
                        self.refused.insert(member.link, now + RETRY);
                    }
                    Poll::Ready(Err(error)) => {
                        self.member_failed(now, at - 1, error.kind());
                        // Whoever has its place now is looked at as well.
                        at -= 1;
                        came = true;
                        break;
                    }
                }
            }
        }
        let are_gone = self.members.iter().all(|member| member.has_ended);
        if are_gone && self.failed.is_none() {
            match (self.bond.is_complete(), self.bond.has_closed()) {
                // It closes all of them when it has everything, and nothing tells so better.
                (true, true) => self.is_over = true,
                (true, false) => self.fail(io::ErrorKind::ConnectionReset),
                (false, _) => self.fail(io::ErrorKind::UnexpectedEof),
            }
        } else {
            // The peer has no memory for it.
            self.members.retain(|member| !member.has_ended);
        }
        came
    }

    /// Writes what is to be written.
    fn transmit(&mut self, now: Instant, cx: &Context<'_>) {
        // What waits is in pieces, each of which takes a little more.
        self.bond.set_room(ByteCount::new(self.room() as u64 / 8 * 7));
        for member in &mut self.members {
            member.write(cx);
            self.bond.observe(now, member.number, member.observed());
        }
        while let Some(transmit) = self.bond.poll_transmit(now) {
            let member = self.members.iter_mut().find(|known| known.number == transmit.member);
            if let Some(member) = member {
                member.put(transmit);
                member.write(cx);
            }
        }
        if let Some(first) = self.members.first() {
            first.connection.endpoint().keeps(first.connection.id(), Kept::Read(self.bond.held()));
        }
        if self.bond.is_delivered() && self.bond.is_complete() && !self.is_over {
            self.is_over = self.bond.has_closed();
        }
    }

    /// Reads and writes, and returns when to look again; what connections tell before wakes the task.
    fn step(&mut self, now: Instant, cx: &Context<'_>) -> Instant {
        self.driver = Some(cx.waker().clone());
        let before = (self.bond.is_delivered(), self.is_over);
        let came = self.poll_read(now, cx);
        self.transmit(now, cx);
        let may_write = self.may_write();
        let is_news = before != (self.bond.is_delivered(), self.is_over);
        for (waiting, is_woken) in
            [(&mut self.reader, came), (&mut self.writer, may_write), (&mut self.watcher, is_news)]
        {
            if is_woken && let Some(waker) = waiting.take() {
                waker.wake();
            }
        }
        let waits = self.members.iter().any(|member| !member.backlog.is_empty());
        let pause = match (waits, self.bond.is_delivered()) {
            (true, _) => LOOK / 4,
            (false, true) => IDLE,
            (false, false) => LOOK,
        };
        self.bond.deadline().map_or(now + pause, |due| due.clamp(now + SOON, now + pause))
    }

    /// Whether the stream is long enough for another connection, and there is memory for its chunks to wait.
    fn is_long(&self) -> bool {
        let goes_on = !self.is_over && self.failed.is_none();
        goes_on && self.bond.carried() >= JOIN_AFTER && self.room() >= SCARCE
    }

    /// Whether a writer may go on: where memory is scarce only once connections have all that was written.
    fn may_write(&self) -> bool {
        let waits = self.members.iter().any(|member| !member.backlog.is_empty());
        match (self.bond.pending(), waits) {
            (0, false) => true,
            (pending, _) => pending < PENDING && self.room() >= SCARCE,
        }
    }

    /// Bytes that the host has memory for.
    fn room(&self) -> usize {
        let Some(first) = self.members.first() else { return usize::MAX };
        first.connection.endpoint().room_to_hold(first.connection.id())
    }

    /// Whether a connection by this link may be tried.
    fn is_free(&self, now: Instant, link: usize) -> bool {
        let is_refused = self.refused.get(&link).is_some_and(|until| *until > now);
        !is_refused && self.members.iter().all(|member| member.link != link)
    }

    fn error(&self) -> Option<io::Error> {
        self.failed.map(io::Error::from)
    }
}

impl Member {
    /// A frame waits for the connection.
    fn put(&mut self, transmit: Transmit) {
        let ahead = usize::from(self.has_begun).min(self.backlog.len());
        let at = if transmit.is_urgent { ahead } else { self.backlog.len() };
        self.backlog.insert(at, transmit.bytes);
    }

    /// The connection takes of the backlog what it needs to go on: what it has nothing can go ahead of.
    fn write(&mut self, cx: &Context<'_>) {
        while !self.backlog.is_empty() {
            let may_go_on = self.has_begun || self.connection.unsent() < self.ready();
            let Some([header, body]) = self.backlog.front_mut().filter(|_| may_go_on) else {
                break;
            };
            if header.is_empty() && body.is_empty() {
                self.backlog.pop_front();
                self.has_begun = false;
                continue;
            }
            let part = if header.is_empty() { body } else { header };
            match self.connection.poll_write_bytes(cx, part) {
                Poll::Ready(Ok(_)) => self.has_begun = true,
                // Its reader is told of failures.
                Poll::Ready(Err(_)) | Poll::Pending => break,
            }
        }
    }

    /// Bytes that are to wait in the connection: what it may send until it is looked after again.
    fn ready(&self) -> usize {
        let state = self.connection.state().0;
        let window = state.cwnd.zip(state.srtt).map_or(0, |(cwnd, round_trip)| {
            (cwnd.get() as f64 * LOOK.as_secs_f64() / round_trip.as_secs_f64().max(1e-3)) as usize
        });
        window.max(READY)
    }

    fn observed(&self) -> Observed {
        let backlog: usize = self.backlog.iter().flatten().map(Bytes::len).sum();
        let endpoint = self.connection.endpoint();
        let connection = &endpoint.stream(self.connection.id()).endpoint;
        let state = connection.sender_state();
        Observed {
            round_trip: state.srtt,
            cwnd: state.cwnd,
            unsent: endpoint.unsent(self.connection.id()) + backlog,
            waiting: backlog,
            in_flight: state.in_flight.get() as usize,
        }
    }
}

impl Bonded {
    /// A stream over this connection, bound to a link, which has brought `first` already. This end takes so much of the stream
    /// beyond what was read.
    ///
    /// # Errors
    /// When what came is nothing that a peer may send.
    pub fn new(first: Joining, came: Bytes, window: ByteCount) -> io::Result<Self> {
        let mut state = State {
            bond: Bond::new(window),
            members: Vec::new(),
            next: 0,
            refused: BTreeMap::new(),
            failed: None,
            is_over: false,
            reader: None,
            writer: None,
            watcher: None,
            driver: None,
        };
        state.join(first, came)?;
        Ok(Self { state: Arc::new(Mutex::new(state)) })
    }

    /// A connection more, which has brought `came` already. It is closed where there is no memory for another one.
    ///
    /// # Errors
    /// When what came is nothing that a peer may send.
    pub fn join(&self, joining: Joining, came: Bytes) -> io::Result<()> {
        let mut state = self.lock();
        if state.room() < SCARCE || state.is_over { Ok(()) } else { state.join(joining, came) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Carries what is written and brings what comes, for ever. `join` opens a connection by a link that has none, once the
    /// stream is long enough; `links` are those that work.
    pub async fn drive(
        &self,
        runtime: &impl Runtime,
        links: impl Fn() -> Vec<usize>,
        join: impl Fn(usize) -> Option<Joining>,
    ) {
        loop {
            let due = poll_fn(|cx| Poll::Ready(self.lock().step(runtime.now(), cx))).await;
            if self.lock().is_long() {
                let free =
                    links().into_iter().find(|link| self.lock().is_free(runtime.now(), *link));
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
            chunks.extend(std::iter::from_fn(|| state.bond.read()).take(most));
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
