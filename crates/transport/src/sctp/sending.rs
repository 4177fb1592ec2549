//! Which chunks leave, and on which path: lost ones first, then new data.

use bentpipe_cc as cc;
use bentpipe_units::{ByteCount, Instant, Seq32};
use bentpipe_wire::sctp::{Chunk, Data};

use super::RtxPolicy;
use super::flight::Sent;
use super::sender::Sender;

/// What leaves next and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The lost chunk at this place.
    Again(usize),
    /// New data.
    New,
}

/// A chunk that leaves, and whether it left before.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) chunk: Chunk,
    pub(super) again: bool,
}

impl Sender {
    /// The path for a retransmission.
    fn path_again(&self, chunk: &Sent) -> usize {
        let alternate = match self.config.rtx_policy {
            RtxPolicy::AltAll => true,
            RtxPolicy::AltTimeout => chunk.timed_out,
            RtxPolicy::Same => false,
        };
        if !alternate && self.paths[chunk.path].is_usable() {
            return chunk.path;
        }
        let other = self.other_than(chunk.path).unwrap_or(chunk.path);
        if self.paths[other].carries() { other } else { self.data_path() }
    }

    /// What may leave next, and its path. Nothing new leaves before what is lost, be it on another path
    /// (RFC 9260, section 6.1 C).
    pub(super) fn next(&mut self, now: Instant) -> Option<(usize, Next)> {
        if let Some(index) = self.flight.next_lost(0)
            && let Some(chunk) = self.flight.get(index)
        {
            let path = self.path_again(chunk);
            let may = self.rush && self.paths[path].carries() || self.paths[path].may_send(now);
            return may.then_some((path, Next::Again(index)));
        }
        let path = self.data_path();
        let may = self.may_send_new(0) && self.paths[path].may_send(now);
        may.then_some((path, Next::New))
    }

    /// New data may leave besides `chunks` others of the same packet, as far as the peer is concerned
    /// and the wish for full packets.
    fn may_send_new(&self, chunks: usize) -> bool {
        let full = self.payload();
        let length = self.queue.next_len(full);
        if length == 0 {
            return false;
        }
        let waits = chunks == 0
            && self.config.nagle
            && !self.flushing
            && self.queue.len() < full
            && self.flight.in_flight() > 0;
        if waits {
            return false;
        }
        // RFC 9260, section 6.1 A: one chunk asks a peer without room whether it has some again.
        length <= self.peer_room() || self.flight.len() == 0
    }

    /// Bytes that the peer has room for besides those on their way.
    fn peer_room(&self) -> usize {
        self.peer_window.saturating_sub(self.flight.in_flight())
    }

    /// Takes chunks for a packet on `path` with so much room, in which nothing stands yet if it is
    /// `empty`. `next` is what [`Sender::next`] said.
    pub(super) fn fill(
        &mut self,
        now: Instant,
        path: usize,
        next: Next,
        (mut room, empty): (usize, bool),
        mut take: impl FnMut(Outgoing),
    ) {
        let mut count = 0;
        let (mut from, mut rushing) = (0, false);
        if let Next::Again(index) = next {
            from = index;
            rushing = self.rush;
        }
        while let Some(index) = self.flight.next_lost(from) {
            from = index + 1;
            let Some(chunk) = self.flight.get(index) else { break };
            let length = Data::padded_len(chunk.fragment.payload.len());
            // A chunk made for a longer MTU leaves all the same, alone.
            let fits = length <= room || count == 0 && empty;
            if !fits
                || self.path_again(chunk) != path
                || !(rushing || self.paths[path].may_send(now))
            {
                break;
            }
            room = room.saturating_sub(length);
            count += 1;
            self.rush = false;
            let Some(chunk) = self.send_again(now, index, path) else { break };
            take(Outgoing { chunk, again: true });
        }
        let new = self.data_path() == path && !self.flight.has_lost();
        while new && self.may_send_new(count) {
            let length = Data::padded_len(self.queue.next_len(self.payload()));
            if length > room || !self.paths[path].may_send(now) {
                break;
            }
            room -= length;
            count += 1;
            let Some(chunk) = self.send_new(now, path) else { break };
            take(Outgoing { chunk, again: false });
        }
    }

    fn send_again(&mut self, now: Instant, index: usize, path: usize) -> Option<Chunk> {
        let tsn = self.flight.tsn(index);
        for path in &mut self.paths {
            // Karn: what was sent twice is not measured.
            if path.timed.is_some_and(|(timed, _)| timed == tsn) {
                path.timed = None;
            }
        }
        let chunk = self.flight.again(now, index, path)?;
        let data = chunk_of(tsn, chunk);
        let length = chunk.fragment.payload.len();
        let restart = index == 0;
        self.leaves(now, path, length, restart);
        Some(data)
    }

    fn send_new(&mut self, now: Instant, path: usize) -> Option<Chunk> {
        let payload = self.payload();
        if self.paths[path].flight == 0 {
            let view = self.view(now, path, false);
            self.paths[path].wake(&view);
        }
        let room = self.peer_room();
        let fragment = self.queue.take(payload)?;
        let length = fragment.payload.len();
        let tsn = self.flight.push(now, fragment, path);
        if length > room {
            self.probe = Some(tsn);
        }
        let timed = &mut self.paths[path].timed;
        if timed.is_none() {
            *timed = Some((tsn, now));
        }
        self.leaves(now, path, length, false);
        self.flight.of(tsn).map(|chunk| chunk_of(tsn, chunk))
    }

    /// A chunk leaves on a path: counts it and sets the timer.
    fn leaves(&mut self, now: Instant, index: usize, length: usize, restart: bool) {
        let charge = self.config.charge();
        let path = &mut self.paths[index];
        path.flight += length + charge;
        path.last_data = Some(now);
        path.heartbeat.since = now;
        path.pace(now, length + charge);
        if restart || path.t3.is_none() {
            path.t3 = Some(now + path.rto());
        }
        if self.follows_sending {
            let view = self.view(now, index, false);
            let bytes = ByteCount::new(length as u64);
            let sent = cc::Sent { bytes, retransmission: restart, probe: false };
            self.paths[index].controller.on_sent(&view, &sent);
        }
    }

    /// A packet with chunks of this length left. As all paths have chunks of one length, a full one makes
    /// it worth to search all that work.
    pub(super) fn packet_left(&mut self, now: Instant, chunks: usize) {
        if self.config.mtu_most.is_none() || chunks < self.payload() {
            return;
        }
        for path in self.paths.iter_mut().filter(|path| path.is_usable()) {
            if let Some(search) = &mut path.search {
                search.full_packet_left(now);
            }
        }
    }
}

fn chunk_of(tsn: Seq32, sent: &Sent) -> Chunk {
    let fragment = &sent.fragment;
    Chunk::Data(Data {
        tsn,
        stream: fragment.stream,
        ssn: fragment.ssn,
        ppid: fragment.ppid,
        flags: fragment.flags,
        payload: fragment.payload.clone(),
    })
}
