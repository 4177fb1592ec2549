//! One connection inside an association.

use std::vec::Drain;

use bentpipe_transport::xstp::{Session, SharedPath};
use bentpipe_transport::{Endpoint as _, Event, PathId};
use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::{Segment, xstp};
use bytes::Bytes;

use super::memory::{CONNECTION, Memory, SHORT};
use super::names::AssociationId;
use super::object::Object;
use super::shaper::{AHEAD, Member, Shapers};
use crate::stream::{Kept, Stream};

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    association: AssociationId,
    number: u32,
    /// The last number that was received, for compressed headers.
    near: Seq32,
    /// The peer opened it, and the application has not taken it yet.
    unaccepted: bool,
    /// It has something to send.
    busy: bool,
    /// Bytes that it held when they were counted last.
    holds: usize,
    /// Bytes that its reader has read and not passed on.
    kept_read: usize,
    /// Bytes that its writer could not write yet.
    kept_unwritten: usize,
    /// The highest number of those segments for which there was no room when they came.
    lost: Option<Seq32>,
    /// Its writer waits for room in what the connections of the peer may hold.
    waits: bool,
    /// It was changed and is to be drained.
    dirty: bool,
    /// The path that it takes to the peer.
    path: usize,
    /// The link that it keeps to, whether that works or not.
    bound: Option<usize>,
    /// The link on whose shaper of the association it waits for its rounds, and its number there.
    member: Option<(usize, u32)>,
    /// It gets more of a shared window than others.
    ahead: bool,
    object: Object,
}

/// What a connection has told since it was drained before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drained {
    /// It had something to send, and has.
    pub(super) was_busy: bool,
    pub(super) is_busy: bool,
    pub(super) round_trip: Option<Span>,
    /// The short object that is sent now began then.
    pub(super) object_began: Option<Instant>,
}

impl Connection {
    /// One of which nothing was sent or heard.
    pub(super) fn new(
        association: AssociationId,
        number: u32,
        path: usize,
        session: Session,
        near: Option<Seq32>,
    ) -> Self {
        Self {
            stream: Stream::new(session),
            association,
            number,
            near: near.unwrap_or_default(),
            unaccepted: near.is_some(),
            busy: false,
            holds: 0,
            kept_read: 0,
            kept_unwritten: 0,
            lost: None,
            waits: false,
            dirty: false,
            path,
            bound: None,
            member: None,
            ahead: false,
            object: Object::NONE,
        }
    }

    pub(super) const fn association(&self) -> AssociationId {
        self.association
    }

    pub(super) const fn number(&self) -> u32 {
        self.number
    }

    /// The path that it takes to the peer.
    pub(super) const fn path(&self) -> usize {
        self.path
    }

    /// It keeps to this link from now on.
    pub(super) const fn bind(&mut self, link: usize) {
        self.bound = Some(link);
    }

    /// The link that it keeps to.
    pub(super) const fn bound(&self) -> Option<usize> {
        self.bound
    }

    /// Whether it waits for its rounds on a shaper.
    pub(super) const fn is_shaped(&self) -> bool {
        self.member.is_some()
    }

    /// Whether it does so on that of this link.
    pub(super) fn is_shaped_on(&self, link: usize) -> bool {
        self.member.is_some_and(|(joined, _)| joined == link)
    }

    /// Whether it had something to send when it was drained last.
    pub(super) const fn is_busy(&self) -> bool {
        self.busy
    }

    pub(super) const fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) const fn session(&self) -> &Session {
        &self.stream.endpoint
    }

    /// For [`Connections::stream_mut`](super::connections::Connections::stream_mut) alone: who changes a session marks
    /// it dirty.
    pub(super) const fn stream_mut(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// What is needed to drain it.
    pub(super) const fn drain_parts(&mut self) -> (&mut Session, &mut Object) {
        (&mut self.stream.endpoint, &mut self.object)
    }

    /// It was changed. True if it was not so already.
    pub(super) const fn mark_dirty(&mut self) -> bool {
        !std::mem::replace(&mut self.dirty, true)
    }

    /// Whether it is to be drained; true once.
    pub(super) const fn take_dirty(&mut self) -> bool {
        std::mem::replace(&mut self.dirty, false)
    }

    /// Reads a segment of this connection.
    pub(super) fn decode(&self, plain: Bytes) -> Option<xstp::Segment> {
        let session = self.session();
        let ports = session.ports();
        let context = xstp::Context {
            source_port: ports.peer,
            destination_port: ports.local,
            sq: session.sq(),
            near: self.near,
        };
        xstp::decode_compact(plain, &context).ok()
    }

    /// Takes a segment that came. False if there was no room for what it carries: it counts as lost.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        mut segment: xstp::Segment,
        memory: &Memory,
    ) -> bool {
        let tight = memory.is_tight();
        let carries = segment.payload_len();
        if (tight || carries < SHORT)
            && let xstp::Body::Flow(flow) = &mut segment.body
            && carries > 0
        {
            // It would hold what arrived beside it as well.
            flow.payload = Bytes::copy_from_slice(&flow.payload);
        }
        // What it waits for most it gets in any case, or it would hold what follows for ever.
        if tight && carries > memory.room(self.holds) && !self.session().waits_for(segment.seq) {
            self.lost = Some(self.lost.map_or(segment.seq, |lost| lost.latest(segment.seq)));
            return false;
        }
        self.near = segment.seq;
        self.stream.endpoint.handle_segment(now, PathId(0), &mut Segment::Xstp(segment));
        true
    }

    /// The application has this. True if it is not what it had before.
    pub(super) const fn keep(&mut self, kept: Kept) -> bool {
        let (place, bytes) = match kept {
            Kept::Read(bytes) => (&mut self.kept_read, bytes),
            Kept::Unwritten(bytes) => (&mut self.kept_unwritten, bytes),
        };
        std::mem::replace(place, bytes) != bytes
    }

    /// Counts what it holds. True when writers may have to be woken.
    #[inline]
    pub(super) fn count(&mut self, memory: &mut Memory) -> bool {
        let kept = self.kept_read + self.kept_unwritten;
        let holds = self.stream.endpoint.held() + CONNECTION + kept;
        memory.change(std::mem::replace(&mut self.holds, holds), holds);
        if let Some(lost) = self.lost {
            // Until it has come: nothing more is retransmitted than there is room for.
            let is_late = self.stream.endpoint.has_received(lost);
            let room = if is_late { usize::MAX } else { memory.room(holds) };
            self.stream.endpoint.limit_room(room);
            self.lost = Some(lost).filter(|_| !is_late);
        }
        self.waits || memory.has_waiting()
    }

    /// Wakes its writer if there is room. It keeps its place among those that wait: it may have to wait again.
    pub(super) fn wake_writer(&mut self, memory: &Memory) {
        if self.waits && self.room_to_send(memory) > 0 {
            self.stream.note(Event::Writable);
        }
    }

    /// Its place among those that wait has come.
    pub(super) fn end_wait(&mut self) {
        // It may have found room in the meantime, or another one has its place.
        if std::mem::take(&mut self.waits) {
            self.stream.note(Event::Writable);
        }
    }

    /// How much it may take from its writer; one that may take nothing is told when it may.
    pub(super) fn room(&mut self, id: usize, memory: &mut Memory) -> usize {
        let room = self.room_to_send(memory);
        if room == 0 && !std::mem::replace(&mut self.waits, true) {
            memory.wait(id);
        }
        room
    }

    /// How much more it may hold.
    pub(super) fn room_to_hold(&self, memory: &Memory) -> usize {
        memory.room(self.holds)
    }

    fn room_to_send(&self, memory: &Memory) -> usize {
        // What its writer has already is held: it may move.
        memory.room_to_send(self.holds, self.session().held_to_send()).max(self.kept_unwritten)
    }

    /// What it holds is nobody's any more.
    pub(super) fn release(&self, id: usize, memory: &mut Memory) {
        memory.change(self.holds, 0);
        if self.waits {
            memory.forget(id);
        }
    }

    /// It was drained and has told this.
    pub(super) fn drained(&mut self, events: Drain<'_, Event>) -> Drained {
        for event in events {
            self.stream.note(event);
        }
        let session = &self.stream.endpoint;
        let is_busy = session.has_unsent();
        let was_busy = std::mem::replace(&mut self.busy, is_busy);
        let has_ended = was_busy && !is_busy;
        let object_began = self.object.began_short().filter(|_| has_ended);
        Drained { was_busy, is_busy, round_trip: session.round_trip(), object_began }
    }

    /// Whether it is open and the application is to have it; true once if there `are_keys`.
    pub(super) fn take_unaccepted(&mut self, are_keys: bool) -> bool {
        let status = &self.stream.status;
        let is_open = status.connected && status.failed.is_none();
        let takes = self.unaccepted && is_open && are_keys;
        self.unaccepted &= !takes;
        takes
    }

    /// Whether it has ended and nobody will ask for it: an application that has it may still want to know why.
    pub(super) fn is_over(&self) -> bool {
        self.session().is_closed() && (self.stream.dropped || self.unaccepted)
    }

    /// Takes part in the shaper of its association over this link, and in no other. False if there is none.
    pub(super) fn join_shaper(
        &mut self,
        now: Instant,
        id: usize,
        link: usize,
        shapers: &mut Shapers,
    ) -> bool {
        if self.member.is_some_and(|(joined, _)| joined != link) {
            self.leave_shaper(shapers);
        }
        let Some(own) = &mut shapers[link] else { return false };
        let session = &mut self.stream.endpoint;
        if self.member.is_none() {
            self.member = Some((link, own.join(Member::Connection(id), AHEAD)));
            if session.config().controller.name() == "rate" {
                session.share_link(own.link());
            }
        }
        session.handle_link_rate(now, own.link().rate());
        true
    }

    /// Takes no part in a shaper any more.
    pub(super) fn leave_shaper(&mut self, shapers: &mut Shapers) {
        if let Some((link, member)) = self.member.take()
            && let Some(own) = &mut shapers[link]
        {
            own.leave(member);
        }
    }

    /// It has something to send: it waits for its round. Returns the link, if it is on a shaper.
    pub(super) fn wake(&self, shapers: &mut Shapers) -> Option<usize> {
        let (link, member) = self.member?;
        shapers[link].as_mut()?.wake(member);
        Some(link)
    }

    /// How much ahead of bulk its next round is.
    pub(super) fn round_weight(&self) -> u32 {
        if self.session().has_retransmissions() || self.object.is_short() { AHEAD } else { 1 }
    }

    /// Sends within this window, which it shares with others.
    pub(super) fn share_window(&mut self, now: Instant, window: &SharedPath) {
        self.stream.endpoint.share_path(now, window);
        self.ahead = false;
        self.update_window_weight(now);
    }

    /// While it sends a short object it gets more of a shared window than bulk.
    pub(super) fn update_window_weight(&mut self, now: Instant) {
        let ahead = self.object.is_short();
        if std::mem::replace(&mut self.ahead, ahead) != ahead {
            self.stream.endpoint.weigh(now, if ahead { AHEAD } else { 1 });
        }
    }

    /// Goes by this path from now on.
    pub(super) fn take_path(&mut self, now: Instant, path: usize) {
        self.path = path;
        self.stream.endpoint.handle_new_path(now);
    }

    /// Its segments carry so many bytes at most.
    pub(super) fn limit_payload(&mut self, most: u16) {
        self.stream.endpoint.limit_payload(most);
    }
}
