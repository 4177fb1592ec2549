//! What leaves, and what leaves together: control chunks first, then DATA (RFC 9260, section 6.10).

use bentpipe_units::Instant;
use bentpipe_wire::Ecn;
use bentpipe_wire::sctp::{Chunk, Data, Packet};

use super::State;
use super::association::Association;
use super::mtu::PathSearch;
use super::path::Path;
use super::sending::{Next, Outgoing};
use crate::PathId;

/// Length of the header of PAD.
const PAD_HEADER: usize = 4;

/// A packet in the making.
struct Draft<'a> {
    place: &'a mut Packet,
    room: usize,
}

impl Draft<'_> {
    /// Appends a chunk if it fits.
    fn push(&mut self, chunk: Chunk) -> bool {
        let length = chunk.padded_len();
        let fits = length <= self.room;
        if fits {
            self.room -= length;
            self.place.chunks.push(chunk);
        }
        fits
    }
}

impl Association {
    /// Writes the next packet over what is in `place` and gives its path.
    pub(super) fn transmit(&mut self, now: Instant, place: &mut Packet) -> Option<PathId> {
        if let Some((path, packet)) = self.outbox.next_packet() {
            *place = packet;
            return Some(path);
        }
        if self.state == State::Closed {
            return None;
        }
        place.chunks.clear();
        let ports = self.ends.ports();
        (place.source_port, place.destination_port) = (ports.local, ports.peer);
        (place.ecn, place.may_fragment) = (Ecn::NotCapable, false);
        if self.opening.init.wanted {
            place.tag = 0;
            return Some(self.write_init(now, place));
        }
        place.tag = self.ends.peer_tag();
        if self.opening.echo.wanted {
            return Some(self.write_cookie_echo(now, place));
        }
        if !self.state.is_open() {
            return None;
        }
        // First the application hears of what arrived: a SACK tells the room that reading leaves.
        if self.rx.is_readable() {
            return None;
        }
        if self.state.heart_beats() {
            self.want_heartbeats(now);
            if let Some((path, probe)) = self.next_mtu_probe(now) {
                *place = probe;
                return Some(path);
            }
        }
        if let Some((path, packet)) = self.next_asconf(now) {
            *place = packet;
            return Some(path);
        }
        let waits = self.outbox.path().unwrap_or(self.report_path.get());
        if !self.tx.paths[waits].may_talk() {
            self.leave_gone_paths();
        }
        let next = if self.state.sends() { self.tx.next(now) } else { None };
        let path = self.next_path(next)?;
        let room = self.config.room(self.tx.paths[path].mtu);
        let next = next.filter(|(data_path, _)| *data_path == path);
        let beside = self.write_control(path, next.is_some(), &mut Draft { place, room });
        if let Some((_, next)) = next.filter(|_| beside) {
            self.write_data(now, path, next, place);
        }
        self.write_closing(now, path, place);
        self.tell_mark(room, place);
        (!place.chunks.is_empty()).then(|| self.tx.paths[path].id)
    }

    /// The path of the next packet, which is that of the first thing there is to send.
    fn next_path(&self, next: Option<(usize, Next)>) -> Option<usize> {
        if let Some(path) = self.outbox.path() {
            return Some(path);
        }
        // From an address that the peer does not know yet nothing leaves: it would be a stray there.
        let talks = |path: &usize| self.tx.paths[*path].may_talk();
        let report = (self.cookie_ack || self.rx.is_due()).then(|| self.report_path.get());
        let closing = self.closing.is_due().then(|| self.closing_path());
        let cwr = self.ecn.has_answer().then(|| self.tx.data_path());
        let data = next.map(|(path, _)| path);
        [report, closing, data, cwr].into_iter().flatten().find(talks)
    }

    /// Control chunks of a packet, in the order of their urgency. False when DATA must wait for the next
    /// packet.
    fn write_control(&mut self, path: usize, with_data: bool, draft: &mut Draft<'_>) -> bool {
        let mut beside = with_data;
        let at_data = path == self.report_path.get();
        if self.cookie_ack && at_data {
            self.cookie_ack = !draft.push(Chunk::CookieAck);
        }
        let sack = at_data && (self.rx.is_due() || with_data && self.rx.is_pending());
        if sack {
            if let Some(tsn) = self.ecn.echo() {
                draft.push(Chunk::Ecne(tsn));
            }
            // A gap block that is left out says that its chunks were thrown away: a report that would
            // take the place of DATA leaves alone, and whole.
            beside &= self.rx.report_len() <= SACK_WITH_DATA;
            let most = if beside { draft.room.min(SACK_WITH_DATA) } else { draft.room };
            self.report_path.sent(path);
            let sack = self.rx.sack(most);
            draft.push(Chunk::Sack(sack));
        }
        if let Some(tsn) = self.ecn.take_answer() {
            draft.push(Chunk::Cwr(tsn));
        }
        while let Some(chunk) = self.outbox.next_on(path) {
            draft.push(chunk);
        }
        beside
    }

    /// A mark is told in every packet that has room for it, until the peer has answered.
    fn tell_mark(&self, room: usize, place: &mut Packet) {
        let Some(tsn) = self.ecn.echo() else { return };
        let chunk = Chunk::Ecne(tsn);
        let used: usize = place.chunks.iter().map(Chunk::padded_len).sum();
        if used > 0 && used + chunk.padded_len() <= room && !place.chunks.contains(&chunk) {
            place.chunks.insert(0, chunk);
        }
    }

    /// HEARTBEATs that are due become answers to be sent.
    fn want_heartbeats(&mut self, now: Instant) {
        while let Some(index) = self.tx.next_heartbeat(now) {
            let nonce = self.tx.nonce();
            let path = &mut self.tx.paths[index];
            path.heartbeat.asked = Some((nonce, now + path.rto()));
            path.heartbeat.since = now;
            let info = self.heartbeat_info(now, index, nonce);
            self.outbox.ask(index, Chunk::Heartbeat(info));
        }
    }

    /// The path of SHUTDOWN or SHUTDOWN ACK: another one each further time.
    fn closing_path(&self) -> usize {
        let first = self.tx.data_path();
        let other = self.tx.other_than(first).filter(|_| self.closing.takes_other_path());
        other.unwrap_or(first)
    }

    /// Writes SHUTDOWN or SHUTDOWN ACK if it is to leave on this path.
    fn write_closing(&mut self, now: Instant, path: usize, place: &mut Packet) {
        if !self.closing.is_due() || path != self.closing_path() {
            return;
        }
        let chunk = match self.state {
            State::ShutdownSent => Chunk::Shutdown(self.rx.cumulative()),
            State::ShutdownAckSent => Chunk::ShutdownAck,
            _ => return self.closing.stop(),
        };
        place.chunks.push(chunk);
        self.closing.sent(now, self.tx.paths[path].rto());
    }

    /// The next probe that is to be sent, and its path.
    fn next_mtu_probe(&mut self, now: Instant) -> Option<(PathId, Packet)> {
        let is_due = |path: &Path| path.search.as_ref().is_some_and(PathSearch::is_due);
        let index = self.tx.paths.iter().position(is_due)?;
        let nonce = self.tx.nonce();
        let path = &mut self.tx.paths[index];
        let (id, length) = (path.id, path.search.as_mut()?.probe(nonce)?);
        let question = Chunk::Heartbeat(self.heartbeat_info(now, index, nonce));
        let rest = self.config.room(length) / 4 * 4 - question.padded_len();
        let padding = Chunk::Pad(rest.saturating_sub(PAD_HEADER) as u16); // less than `length`
        let mut packet = self.ends.packet(self.ends.peer_tag());
        packet.chunks.extend([question, padding]);
        Some((id, packet))
    }

    /// The next packet that tells a change of this end's addresses, and its path.
    fn next_asconf(&mut self, now: Instant) -> Option<(PathId, Packet)> {
        let auth = self.ends.auth().filter(|_| self.changes.is_due())?;
        let (index, asconf) = self.changes.next(now, &self.tx)?;
        let mut packet = self.ends.packet(self.ends.peer_tag());
        packet.chunks.extend(auth.seal(Chunk::Asconf(Box::new(asconf))));
        Some((self.tx.paths[index].id, packet))
    }

    /// DATA of a packet.
    pub(super) fn write_data(&mut self, now: Instant, path: usize, next: Next, place: &mut Packet) {
        let room = self.config.room(self.tx.paths[path].mtu);
        let used: usize = place.chunks.iter().map(Chunk::padded_len).sum();
        let counters = &mut self.counters;
        let (mut new, mut again) = (0, false);
        let room_left = (room.saturating_sub(used), used == 0);
        self.tx.fill(now, path, next, room_left, |outgoing| {
            let Outgoing { chunk, again: before } = outgoing;
            let length = chunk.padded_len();
            if before {
                counters.retransmitted_segments += 1;
                counters.retransmitted_bytes += length as u64;
            } else {
                new += 1;
                counters.data_segments += 1;
                counters.payload_bytes += payload_len(&chunk) as u64;
                counters.first_header_bytes += (length - payload_len(&chunk)) as u64;
            }
            again |= before;
            place.chunks.push(chunk);
        });
        let length = place.chunks.iter().map(Chunk::padded_len).sum();
        place.may_fragment = length > room;
        self.tx.packet_left(now, length);
        if new > 0 && !again {
            self.counters.first_header_bytes += Packet::HEADER as u64;
            // Retransmissions are not marked, like those of TCP (RFC 3168, section 6.1.5).
            if self.tx.ecn {
                place.ecn = Ecn::Capable0;
            }
        }
    }

    /// The packet with INIT.
    fn write_init(&mut self, now: Instant, place: &mut Packet) -> PathId {
        let path = self.opening_path();
        let wait = self.opening_wait(path, self.opening.init);
        self.opening.init.sent(now, wait);
        place.chunks.push(Chunk::Init(Box::new(self.init())));
        self.tx.paths[path].id
    }

    /// The packet with COOKIE ECHO and, as far as there is room, DATA (RFC 9260, section 5.1 C).
    fn write_cookie_echo(&mut self, now: Instant, place: &mut Packet) -> PathId {
        let path = self.opening_path();
        let wait = self.opening_wait(path, self.opening.echo);
        self.opening.echo.sent(now, wait);
        place.chunks.push(Chunk::CookieEcho(self.opening.cookie.clone()));
        if let Some((data_path, next)) = self.tx.next(now)
            && data_path == path
        {
            self.write_data(now, path, next, place);
        }
        self.tx.paths[path].id
    }
}

/// Longest SACK beside DATA in bytes.
const SACK_WITH_DATA: usize = 64;

fn payload_len(chunk: &Chunk) -> usize {
    match chunk {
        Chunk::Data(Data { payload, .. }) => payload.len(),
        _ => 0,
    }
}
