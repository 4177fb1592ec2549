//! What each chunk of a packet does.

use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::Ecn;
use bentpipe_wire::sctp::{
    self as wire, Cause, Chunk, Data, DataFlags, Packet, UnknownAction, bytes_of,
};
use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::association::Association;
use super::auth::Auth;
use super::offer::forget_the_rest;
use super::path_ends;
use super::receiver::Arrival;
use super::{State, out_of_the_blue};
use crate::{Failure, PathId};

/// The peer's code is none that this end can check (RFC 4895, section 4.1).
const UNSUPPORTED_CODE: u16 = 0x0105;

/// DATA of one packet.
#[derive(Debug, Default)]
struct DataSeen {
    seen: bool,
    immediately: bool,
    /// Some of it came before.
    duplicate: bool,
    lowest: Option<Seq32>,
}

impl Association {
    /// A packet with another tag. A peer that waits for the end of an older association gets it (RFC
    /// 9260, section 8.5.1 E).
    pub(super) fn handle_other_tag(&mut self, id: PathId, packet: &Packet) {
        self.ignore();
        let opening = matches!(self.state, State::CookieWait | State::CookieEchoed);
        if opening
            && let [Chunk::ShutdownAck] = packet.chunks[..]
            && let Some(answer) = out_of_the_blue(packet)
        {
            self.outbox.send(id, answer);
        }
    }

    /// Takes the chunks of a packet in turn.
    pub(super) fn process(&mut self, now: Instant, id: PathId, packet: &mut Packet) {
        let from = self.source(id);
        let mut data = DataSeen::default();
        let chunks = std::mem::take(&mut packet.chunks);
        let mut genuine = false;
        for chunk in chunks {
            let goes_on = match chunk {
                Chunk::Auth(auth) => {
                    genuine = self.proves(from, &auth);
                    genuine
                }
                Chunk::Asconf(_) | Chunk::AsconfAck(_) if self.ends.auth().is_none() => {
                    self.handle_unknown(from, &bytes_of(&[chunk]))
                }
                Chunk::Asconf(asconf) if genuine => self.handle_asconf(id, &asconf),
                Chunk::AsconfAck(ack) if genuine => self.handle_asconf_ack(now, from, &ack),
                Chunk::Data(chunk) => self.handle_data(from, chunk, &mut data),
                Chunk::Unknown(_) => self.handle_unknown(from, &bytes_of(&[chunk])),
                other => self.handle_control(now, id, from, packet, other),
            };
            if !goes_on || self.state == State::Closed {
                break;
            }
        }
        if data.seen {
            self.data_ended(now, from, &data, packet.ecn);
        }
        self.move_on();
    }

    /// Control chunks. False when the rest of the packet does not count.
    fn handle_control(
        &mut self,
        now: Instant,
        id: PathId,
        from: usize,
        packet: &Packet,
        chunk: Chunk,
    ) -> bool {
        match chunk {
            Chunk::Init(mut init) => {
                forget_the_rest(&mut init);
                self.handle_init(now, id, &init);
            }
            Chunk::InitAck(mut init) => {
                forget_the_rest(&mut init);
                self.handle_init_ack(now, from, &init);
            }
            Chunk::CookieEcho(cookie) => return self.handle_cookie_echo(now, id, packet, &cookie),
            Chunk::CookieAck => self.handle_cookie_ack(now, from),
            Chunk::Sack(sack) if self.state.is_open() => {
                if self.tx.handle_sack(now, &sack).is_err() {
                    self.ignore();
                }
            }
            Chunk::Heartbeat(info) if self.state.is_open() => {
                self.outbox.answer(from, Chunk::HeartbeatAck(info));
            }
            Chunk::HeartbeatAck(info) => self.handle_heartbeat_ack(now, info),
            // It was out of the blue where the peer is closed already: SHUTDOWN COMPLETE was lost, no data.
            Chunk::Abort { reflected: true, .. } if self.state == State::ShutdownAckSent => {
                self.handle_shutdown_complete();
            }
            Chunk::Abort { causes, .. } => {
                let code = causes.first().map_or(0, Cause::code);
                self.drop_all(Some(Failure::PeerAborted(code)));
            }
            Chunk::Error(causes) => self.handle_error(&causes),
            Chunk::Shutdown(tsn) => self.handle_shutdown(now, tsn),
            Chunk::ShutdownAck => self.handle_shutdown_ack(id),
            Chunk::ShutdownComplete { .. } => self.handle_shutdown_complete(),
            Chunk::Ecne(tsn) if self.state.is_open() => {
                self.ecn.reduce(self.tx.handle_ecne(now, tsn));
            }
            Chunk::Cwr(tsn) => self.ecn.answered(tsn),
            Chunk::Pad(_) => {}
            _ => self.ignore(),
        }
        true
    }

    fn handle_data(&mut self, from: usize, mut chunk: Data, seen: &mut DataSeen) -> bool {
        if !self.state.receives() {
            self.ignore();
            return true;
        }
        let tsn = chunk.tsn;
        if chunk.payload.is_empty() {
            self.give_up(Cause::NoUserData(tsn), Failure::PeerBrokeRules);
            return false;
        }
        seen.lowest = Some(
            seen.lowest.map_or(tsn, |lowest| if tsn.is_before(lowest) { tsn } else { lowest }),
        );
        seen.seen = true;
        seen.immediately |= chunk.flags.contains(DataFlags::IMMEDIATE);
        if chunk.stream >= self.ends.inbound() {
            self.rx.discard(tsn);
            self.outbox.answer(from, Chunk::Error(vec![Cause::InvalidStream(chunk.stream)]));
            return true;
        }
        match self.rx.handle_data(&mut chunk) {
            Arrival::New => {}
            Arrival::Duplicate => {
                self.counters.duplicate_segments += 1;
                seen.duplicate = true;
            }
            Arrival::Refused => self.ignore(),
        }
        true
    }

    fn data_ended(&mut self, now: Instant, from: usize, seen: &DataSeen, ecn: Ecn) {
        self.report_path.data_came(from, seen.duplicate, || self.tx.other_than(from));
        let shutting_down = self.state == State::ShutdownSent;
        self.rx.packet_ended(now, seen.immediately || shutting_down);
        if shutting_down {
            self.closing.start();
        }
        if ecn == Ecn::Congestion && self.tx.ecn {
            self.ecn.marked(seen.lowest);
            self.rx.sack_now();
        }
    }

    /// RFC 9260, section 3.2. False when the rest of the packet does not count.
    fn handle_unknown(&mut self, from: usize, whole: &Bytes) -> bool {
        let &[kind, _, high, low, ..] = &whole[..] else { return false };
        let action = UnknownAction::of_chunk(kind);
        if action.report && self.state.is_open() {
            // An answer must fit into a packet.
            let most = self.config.room(self.tx.paths[from].mtu) - 8;
            let length = usize::from(u16::from_be_bytes([high, low]));
            let told = whole.slice(..length.min(most));
            self.outbox.answer(from, Chunk::Error(vec![Cause::UnrecognizedChunk(told)]));
        }
        !action.stop
    }

    /// Whether what is behind an AUTH is genuine; where not, the rest of the packet does not count (RFC 4895, section 6.3).
    fn proves(&mut self, from: usize, auth: &wire::Auth) -> bool {
        let Some(own) = self.ends.auth() else {
            self.ignore();
            return false;
        };
        let genuine = own.proves(auth);
        if !genuine {
            if !Auth::knows(auth) {
                let value = Bytes::copy_from_slice(&auth.algorithm.to_be_bytes());
                let cause = Cause::Other { code: UNSUPPORTED_CODE, value };
                self.outbox.answer(from, Chunk::Error(vec![cause]));
            }
            self.ignore();
        }
        genuine
    }

    /// The addresses of the peer change. The answer goes back to where the question came from, whatever path there is.
    fn handle_asconf(&mut self, id: PathId, asconf: &wire::Asconf) -> bool {
        if !self.state.is_open() {
            self.ignore();
            return true;
        }
        let (tx, ends) = (&mut self.tx, &mut self.ends);
        // It may come from an address to which no path leads.
        let source = tx.index_of(id).and_then(|from| tx.paths[from].ends.peer);
        let answer = self.peer_changes.handle(source, asconf, tx, ends, &mut self.notices);
        self.leave_gone_paths();
        match (answer, self.ends.auth()) {
            (Some(answer), Some(auth)) => {
                let mut packet = self.ends.packet(self.ends.peer_tag());
                packet.chunks.extend(auth.seal(Chunk::AsconfAck(Box::new(answer))));
                self.outbox.send(id, packet);
            }
            _ => self.ignore(),
        }
        true
    }

    /// The peer has answered a change of this end's addresses.
    fn handle_asconf_ack(&mut self, now: Instant, from: usize, ack: &wire::AsconfAck) -> bool {
        match self.changes.handle_ack(now, from, ack, &mut self.tx) {
            Some(notice) => {
                self.tell(notice);
                self.leave_gone_paths();
                if path_ends::alive(&self.tx).next().is_none() {
                    // It has taken away the old address and refused the new one.
                    self.give_up(Cause::UserAbort(Bytes::new()), Failure::PeerBrokeRules);
                    return false;
                }
            }
            None => self.ignore(),
        }
        true
    }

    /// The information of a HEARTBEAT: path, nonce and time.
    pub(super) fn heartbeat_info(&self, now: Instant, path: usize, nonce: u64) -> Bytes {
        let mut info = BytesMut::with_capacity(20);
        info.put_u32(self.tx.paths[path].id.0);
        info.put_u64(nonce);
        info.put_u64(now.as_nanos());
        info.freeze()
    }

    fn handle_heartbeat_ack(&mut self, now: Instant, mut info: Bytes) {
        let mut answered = || {
            let id = PathId(info.try_get_u32().ok()?);
            let (nonce, sent_at) = (info.try_get_u64().ok()?, info.try_get_u64().ok()?);
            let (index, sent_at) = (self.tx.index_of(id)?, Instant::from_nanos(sent_at));
            Some(self.tx.heartbeat_answered(now, index, nonce, sent_at))
        };
        if answered() != Some(true) {
            self.ignore();
        }
    }

    /// Takes the steps of closing for which everything is ready.
    pub(super) fn move_on(&mut self) {
        let next = self.closing.next(self.state, self.tx.is_idle());
        if next != self.state && next != State::ShutdownPending {
            self.closing.start();
        }
        self.state = next;
    }

    /// The peer will send no more and has everything up to this TSN.
    pub(super) fn handle_shutdown(&mut self, now: Instant, tsn: Seq32) {
        match self.state {
            State::Established | State::ShutdownPending => {
                self.state = State::ShutdownReceived;
                self.tx.flushing = true;
                self.pending.peer_close();
            }
            State::ShutdownReceived => {}
            // Both ends close at once.
            State::ShutdownSent => {
                self.state = State::ShutdownAckSent;
                self.closing.start();
                self.pending.peer_close();
            }
            State::ShutdownAckSent => self.closing.again(),
            State::Closed | State::CookieWait | State::CookieEchoed => return self.ignore(),
        }
        // It would ignore a SACK (RFC 9260, section 6), and where it is gone its host would answer ABORT.
        self.rx.stop();
        if self.tx.handle_cumulative(now, tsn).is_err() {
            self.ignore();
        }
    }

    /// The peer has nothing outstanding either.
    pub(super) fn handle_shutdown_ack(&mut self, id: PathId) {
        match self.state {
            State::ShutdownSent => self.pending.peer_close(),
            State::ShutdownAckSent => {}
            _ => return self.ignore(),
        }
        self.send_packet(id, self.ends.peer_tag(), Chunk::ShutdownComplete { reflected: false });
        self.pending.close();
        self.drop_all(None);
    }

    /// The peer knows that both ends have closed.
    pub(super) fn handle_shutdown_complete(&mut self) {
        if self.state != State::ShutdownAckSent {
            return self.ignore();
        }
        self.pending.close();
        self.drop_all(None);
    }
}
