//! The connections of a bond and its machine, driven by whoever has it.

use std::collections::BTreeMap;
use std::io;
use std::task::{Context, Poll, Waker};

use bentpipe_bond::Bond;
use bentpipe_units::{ByteCount, Instant, Span};
use bytes::Bytes;

use super::member::{Joining, LOOK, Member};
use crate::stream::{Kept, Streams as _};

/// Bytes that wait for a link before a writer waits.
const PENDING: usize = 256 * 1024;
/// With less memory than this connections keep what comes, each within its bounds, and none joins.
pub(super) const SCARCE: usize = 64 * 1024;
/// Where memory is scarce a writer waits for what the peer does not say to have come. An honest one says so but for a part of a
/// chunk and 16 kB.
const UNTOLD: usize = 160 * 1024;
/// A stream that has carried less takes one link: for an object that is short a second one is not worth its opening.
const JOIN_AFTER: u64 = 256 * 1024;
/// Time until another connection is tried by a link by which none could be opened.
const RETRY: Span = Span::from_secs(10);
/// Time between two looks while nothing is under way.
const IDLE: Span = Span::from_secs(1);
/// Shortest time between two looks.
const SOON: Span = Span::from_millis(1);

/// What is behind all clones of a bonded stream.
#[derive(Debug)]
pub(super) struct State {
    pub(super) bond: Bond,
    pub(super) members: Vec<Member>,
    /// The number of the next member.
    next: usize,
    /// Bytes that the reader has, and has not come back for more.
    with_reader: usize,
    /// Links by which no connection could be opened, and until when none is tried.
    refused: BTreeMap<usize, Instant>,
    failed: Option<io::ErrorKind>,
    /// Everything has come at both ends: how connections end tells nothing any more.
    pub(super) is_over: bool,
    pub(super) reader: Option<Waker>,
    pub(super) writer: Option<Waker>,
    pub(super) watcher: Option<Waker>,
    driver: Option<Waker>,
}

impl State {
    /// A bond without connections, which takes so much beyond what was read.
    pub(super) fn new(window: ByteCount) -> Self {
        Self {
            bond: Bond::new(window),
            members: Vec::new(),
            next: 0,
            with_reader: 0,
            refused: BTreeMap::new(),
            failed: None,
            is_over: false,
            reader: None,
            writer: None,
            watcher: None,
            driver: None,
        }
    }

    /// A connection that the peer has as one of the bond, and has brought this.
    pub(super) fn join(&mut self, joining: Joining, came: Bytes) -> io::Result<()> {
        let carries = joining.carries;
        let number = self.add(joining);
        self.bond.join(number, carries);
        self.wake();
        self.bond.handle_bytes(number, came).map_err(io::Error::other)
    }

    /// A connection that this end has opened.
    pub(super) fn open(&mut self, joining: Joining) {
        let carries = joining.carries;
        let number = self.add(joining);
        self.bond.open(number, carries);
        self.wake();
    }

    /// Nothing more is written to the connections by these links, if others go on: what they have goes by those.
    pub(super) fn quit(&mut self, links: &[usize]) {
        let is_barred = |member: &Member| links.contains(&member.link);
        let goes_on = |member: &Member| !is_barred(member) && self.bond.goes_by(member.number);
        if !self.members.iter().any(goes_on) {
            return;
        }
        let barred = self.members.iter_mut().filter(|member| is_barred(member));
        for member in barred.filter(|member| !member.is_retired) {
            member.retire();
            self.bond.retire(member.number);
        }
    }

    /// Whether no connection goes by one of these links, which may be used.
    pub(super) fn is_stranded(&self, open: &[usize]) -> bool {
        let goes = |member: &Member| !member.is_retired && open.contains(&member.link);
        self.goes_on() && !self.members.iter().any(goes)
    }

    fn add(&mut self, joining: Joining) -> usize {
        let number = self.next;
        self.next += 1;
        self.members.push(Member::new(number, joining));
        number
    }

    /// Whoever waits looks again.
    pub(super) fn wake(&mut self) {
        for waiting in [&mut self.reader, &mut self.writer, &mut self.watcher, &mut self.driver] {
            if let Some(waker) = waiting.take() {
                waker.wake();
            }
        }
    }

    pub(super) fn wake_driver(&mut self) {
        if let Some(waker) = self.driver.take() {
            waker.wake();
        }
    }

    /// It ends before its end.
    pub(super) fn fail(&mut self, why: io::ErrorKind) {
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
        let is_lost = why == io::ErrorKind::TimedOut || !member.connection.has_opened();
        let goes_on = member.is_retired || is_lost;
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
        // Of several connections each may have what all wait for. By a single one what this end waits for comes behind what
        // nobody has read yet.
        if !self.makes_place() && self.members.len() == 1 && self.bond.is_readable() {
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
                        // What was acknowledged before has arrived.
                        self.bond.observe(now, member.number, member.observed());
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
        self.count();
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
        self.count();
        if self.bond.is_delivered() && self.bond.is_complete() && !self.is_over {
            self.is_over = self.bond.has_closed();
        }
    }

    /// Whether what may come has place, before a writer fills it.
    fn makes_place(&mut self) -> bool {
        self.count();
        let room = ByteCount::new(self.room() as u64);
        let has_place = self.bond.makes_place(room);
        self.count();
        has_place
    }

    /// What is kept here, and what the reader has not passed on, counts as the first connection's.
    fn count(&self) {
        if let Some(first) = self.members.first() {
            let kept = self.bond.held() + self.with_reader;
            first.connection.endpoint().keeps(first.connection.id(), Kept::Read(kept));
        }
    }

    /// The next chunks in order, at most so many, for a reader who has passed on what he had.
    pub(super) fn read(&mut self, most: usize, chunks: &mut Vec<Bytes>) {
        let before = chunks.len();
        chunks.extend(std::iter::from_fn(|| self.bond.read()).take(most));
        self.with_reader = chunks[before..].iter().map(Bytes::len).sum();
        self.count();
    }

    /// Nobody reads any more.
    pub(super) fn refuse(&mut self) {
        self.bond.refuse();
        self.has_passed_on();
        self.wake_driver();
    }

    /// The reader has passed on what he had.
    pub(super) fn has_passed_on(&mut self) {
        self.with_reader = 0;
        self.count();
    }

    /// Reads and writes, and returns when to look again; what connections tell before wakes the task.
    pub(super) fn step(&mut self, now: Instant, cx: &Context<'_>) -> Instant {
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
        let waits = self.members.iter().any(Member::has_backlog);
        let pause = match (waits, self.bond.is_delivered()) {
            (true, _) => LOOK / 4,
            (false, true) => IDLE,
            (false, false) => LOOK,
        };
        self.bond.deadline().map_or(now + pause, |due| due.clamp(now + SOON, now + pause))
    }

    /// It has neither ended nor failed.
    pub(super) const fn goes_on(&self) -> bool {
        !self.is_over && self.failed.is_none()
    }

    /// Whether the stream is long enough for another connection, and there is memory for its chunks to wait.
    pub(super) fn is_long(&self) -> bool {
        self.goes_on() && self.bond.carried() >= JOIN_AFTER && self.room() >= SCARCE
    }

    /// Whether a writer may go on: where memory is scarce only once connections have all that was written, and the peer
    /// says what came.
    pub(super) fn may_write(&self) -> bool {
        let waits = self.members.iter().any(Member::has_backlog);
        match (self.bond.pending(), waits) {
            (0, false) if self.bond.untold() < UNTOLD => true,
            (pending, _) => pending < PENDING && self.room() >= SCARCE,
        }
    }

    /// Bytes that the host has memory for.
    pub(super) fn room(&self) -> usize {
        let Some(first) = self.members.first() else { return usize::MAX };
        first.connection.endpoint().room_to_hold(first.connection.id())
    }

    /// Whether a connection by this link may be tried.
    pub(super) fn is_free(&self, now: Instant, link: usize) -> bool {
        let is_refused = self.refused.get(&link).is_some_and(|until| *until > now);
        !is_refused && self.members.iter().all(|member| member.link != link)
    }

    pub(super) fn error(&self) -> Option<io::Error> {
        self.failed.map(io::Error::from)
    }
}
