//! One end of an association.
//!
//! It takes packets apart and hands their chunks to [`Sender`], [`Receiver`] and the rules of opening
//! ([`super::opening`]) and closing ([`super::closing`]).

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use bentpipe_record::TransportCounters;
use bentpipe_units::{ByteCount, Instant, Seq32};
use bentpipe_wire::sctp::{Cause, Chunk, Data, DataFlags, Packet, UnknownAction, UnknownChunk};
use bentpipe_wire::{Ecn, Segment};
use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::draw::Draw;
use super::opening::Opening;
use super::receiver::{Arrival, Receiver};
use super::retry::Retry;
use super::sender::Sender;
use super::{Config, CookieKey, Message, Notice, SendError, State, out_of_the_blue};
use crate::xstp::Ports;
use crate::{Endpoint, Event, Failure, PathId, SenderState, WriteError};

/// Most answers that wait to be sent: what a peer asks beyond them it asks again or not.
const MOST_ANSWERS: usize = 16;

/// Where an association is and what it has to prove itself.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Port of this end and of the peer.
    pub ports: Ports,
    /// The ways to the peer, the primary one first; at least one.
    pub paths: Vec<PathId>,
    /// Addresses of this end to tell the peer; none where the peer sees or knows the only one.
    pub addresses: Vec<IpAddr>,
    /// The host's secret.
    pub key: CookieKey,
    /// What tags and numbers are drawn from, which nobody must guess.
    pub entropy: u64,
}

/// One end of an SCTP association.
#[derive(Debug)]
pub struct Association {
    pub(super) config: Arc<Config>,
    pub(super) key: CookieKey,
    pub(super) state: State,
    pub(super) ports: Ports,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) peer_addresses: Vec<IpAddr>,
    pub(super) local_tag: u32,
    pub(super) peer_tag: u32,
    /// Streams that this end may send on, and those that the peer may.
    pub(super) outbound: u16,
    pub(super) inbound: u16,
    pub(super) tx: Sender,
    pub(super) rx: Receiver,
    pub(super) opening: Opening,
    /// SHUTDOWN and SHUTDOWN ACK.
    pub(super) closing: Retry,
    /// The application wants to close.
    pub(super) wants_close: bool,
    /// COOKIE ACK is to be sent.
    pub(super) cookie_ack: bool,
    /// Path of the last packet with DATA, where SACKs go.
    pub(super) data_from: usize,
    /// The lowest TSN of a marked packet, told until the peer has answered.
    pub(super) ecne: Option<Seq32>,
    /// The answer to a mark that is to be sent.
    pub(super) cwr: Option<Seq32>,
    /// Chunks for packets on a path, together with others.
    pub(super) answers: VecDeque<(usize, Chunk)>,
    /// Whole packets.
    pub(super) packets: VecDeque<(PathId, Packet)>,
    told: Told,
    notices: VecDeque<Notice>,
    pub(super) counters: TransportCounters,
}

/// What the application is still to be told.
#[derive(Debug, Default)]
struct Told {
    connected: bool,
    peer_closed: bool,
    closed: bool,
    failed: Option<Failure>,
}

impl Association {
    /// The end that opens.
    pub fn connect(config: Arc<Config>, now: Instant, identity: Identity) -> Self {
        let mut association = Self::new(config, now, identity);
        association.state = State::CookieWait;
        association.opening.init.start();
        association
    }

    /// An association that is not begun.
    pub(super) fn new(config: Arc<Config>, now: Instant, identity: Identity) -> Self {
        let Identity { ports, paths, addresses, key, entropy } = identity;
        let mut draw = Draw::new(entropy);
        let (local_tag, first) = (draw.tag(), Seq32::new(draw.bits() as u32));
        Self {
            state: State::Closed,
            ports,
            addresses,
            peer_addresses: Vec::new(),
            local_tag,
            peer_tag: 0,
            outbound: config.outbound_streams,
            inbound: config.most_inbound(),
            tx: Sender::new(config.clone(), first, &paths, now, draw),
            rx: Receiver::new(config.clone(), Seq32::default()),
            opening: Opening::new(first),
            closing: Retry::default(),
            wants_close: false,
            cookie_ack: false,
            data_from: 0,
            ecne: None,
            cwr: None,
            answers: VecDeque::new(),
            packets: VecDeque::new(),
            told: Told::default(),
            notices: VecDeque::new(),
            counters: TransportCounters::default(),
            key,
            config,
        }
    }

    /// State of the association.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The ports of the association.
    pub const fn ports(&self) -> Ports {
        self.ports
    }

    /// Streams that this end may send on, once the association is open.
    pub const fn outbound_streams(&self) -> u16 {
        self.outbound
    }

    /// Addresses that the peer named; none where it has only the one that its packets come from.
    pub fn peer_addresses(&self) -> &[IpAddr] {
        &self.peer_addresses
    }

    /// Adds a way to the peer, known from one of its addresses. It carries data once it was tried.
    pub fn add_path(&mut self, now: Instant, id: PathId) {
        if self.tx.index_of(id).is_none() {
            let first = self.tx.flight.next();
            self.tx.paths.push(super::path::Path::new(&self.config, id, first, now));
            if self.state.is_open() {
                self.tx.try_paths();
            }
        }
    }

    /// Makes a path the primary one.
    pub fn set_primary(&mut self, id: PathId) {
        if let Some(index) = self.tx.index_of(id) {
            self.tx.primary = index;
        }
    }

    /// The longest packet of a path is known, IP header included. Chunks that were made before keep
    /// their length.
    pub fn set_path_mtu(&mut self, now: Instant, id: PathId, mtu: u16) {
        if let Some(index) = self.tx.index_of(id) {
            self.tx.set_mtu(now, index, mtu.max(super::config::LEAST_MTU));
        }
    }

    /// Hands over a message. `unordered` ones are delivered as soon as they have arrived.
    ///
    /// # Errors
    /// See [`SendError`]. Nothing is taken then.
    pub fn send(
        &mut self,
        stream: u16,
        ppid: u32,
        unordered: bool,
        data: Bytes,
    ) -> Result<(), SendError> {
        if !self.takes_writes() {
            return Err(SendError::Closed);
        }
        if stream >= self.outbound {
            return Err(SendError::NoSuchStream { stream, last: self.outbound - 1 });
        }
        let (length, most) = (data.len(), self.config.snd_buf.get() as usize);
        if length == 0 || length > most {
            return Err(SendError::Length { length, most });
        }
        let space = self.tx.space();
        if length > space {
            self.tx.writer_waits(length);
            return Err(SendError::NoRoom { length, space });
        }
        self.tx.renew_bursts();
        self.tx.queue.push(stream, ppid, unordered, data);
        Ok(())
    }

    /// The next message that arrived, where the application takes messages.
    pub fn receive(&mut self) -> Option<Message> {
        self.rx.receive()
    }

    /// The next thing that happened to the association or a path.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.extend(self.tx.notices.drain(..));
        self.notices.pop_front()
    }

    fn takes_writes(&self) -> bool {
        self.state.takes_writes() && !self.wants_close
    }

    /// Index of the path that a packet came on; the primary stands for one that is not known.
    fn source(&self, id: PathId) -> usize {
        self.tx.index_of(id).unwrap_or(self.tx.primary)
    }

    pub(super) fn ignore(&mut self) {
        self.counters.ignored_segments += 1;
    }

    /// Queues a chunk for the next packet on a path.
    pub(super) fn answer(&mut self, path: usize, chunk: Chunk) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push_back((path, chunk));
        }
    }

    /// Queues a packet of one chunk.
    pub(super) fn send_packet(&mut self, path: PathId, tag: u32, chunk: Chunk) {
        let packet = Packet {
            source_port: self.ports.local,
            destination_port: self.ports.peer,
            tag,
            ecn: Ecn::NotCapable,
            chunks: [chunk].into_iter().collect(),
        };
        self.send_ready_packet(path, packet);
    }

    /// Queues a packet.
    pub(super) fn send_ready_packet(&mut self, path: PathId, packet: Packet) {
        if self.packets.len() < MOST_ANSWERS {
            self.packets.push_back((path, packet));
        }
    }

    /// The association is open.
    pub(super) fn tell_connected(&mut self) {
        self.told.connected = true;
    }

    pub(super) fn tell_peer_closed(&mut self) {
        self.told.peer_closed = true;
    }

    pub(super) fn tell_closed(&mut self) {
        self.told.closed = true;
    }

    pub(super) fn tell(&mut self, notice: Notice) {
        self.notices.push_back(notice);
    }

    /// Frees everything; with a reason the application is told.
    pub(super) fn drop_all(&mut self, failure: Option<Failure>) {
        if self.state == State::Closed {
            return;
        }
        self.state = State::Closed;
        self.told.failed = failure;
        self.opening.stop();
        self.closing.stop();
        self.tx.clear(self.tx.flight.next());
        self.rx.stop();
        self.answers.clear();
        (self.cookie_ack, self.ecne, self.cwr) = (false, None, None);
    }

    /// Ends the association at once and tells the peer why.
    pub(super) fn give_up(&mut self, cause: Cause, failure: Failure) {
        let path = self.tx.paths[self.tx.data_path()].id;
        let tag = self.peer_tag;
        let known = tag != 0;
        self.drop_all(Some(failure));
        if known {
            self.send_packet(path, tag, Chunk::Abort { reflected: false, causes: vec![cause] });
        }
    }

    /// Whether the verification tag is one that the peer may use (RFC 9260, section 8.5).
    fn is_for_us(&self, packet: &Packet) -> bool {
        match packet.chunks.first() {
            Some(Chunk::Init(_)) => packet.tag == 0,
            // The cookie says which tag it is for.
            Some(Chunk::CookieEcho(_)) => true,
            Some(
                Chunk::Abort { reflected: true, .. } | Chunk::ShutdownComplete { reflected: true },
            ) => packet.tag == self.peer_tag,
            _ => packet.tag == self.local_tag,
        }
    }

    /// A packet with another tag. A peer that waits for the end of an older association gets it (RFC
    /// 9260, section 8.5.1 E).
    fn handle_other_tag(&mut self, id: PathId, packet: &Packet) {
        self.ignore();
        let opening = matches!(self.state, State::CookieWait | State::CookieEchoed);
        if opening
            && let [Chunk::ShutdownAck] = packet.chunks[..]
            && let Some(answer) = out_of_the_blue(packet)
        {
            self.send_ready_packet(id, answer);
        }
    }

    /// Takes the chunks of a packet in turn.
    pub(super) fn process(&mut self, now: Instant, id: PathId, packet: &mut Packet) {
        let from = self.source(id);
        let mut data = DataSeen::default();
        let chunks = std::mem::take(&mut packet.chunks);
        for chunk in chunks {
            let goes_on = match chunk {
                Chunk::Data(chunk) => self.handle_data(from, chunk, &mut data),
                Chunk::Unknown(unknown) => self.handle_unknown(from, unknown),
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
            Chunk::Init(init) => self.handle_init(now, id, &init),
            Chunk::InitAck(init) => self.handle_init_ack(now, from, &init),
            Chunk::CookieEcho(cookie) => return self.handle_cookie_echo(now, id, packet, &cookie),
            Chunk::CookieAck => self.handle_cookie_ack(now, from),
            Chunk::Sack(sack) if self.state.is_open() => {
                if self.tx.handle_sack(now, &sack).is_err() {
                    self.ignore();
                }
            }
            Chunk::Heartbeat(info) if self.state.is_open() => {
                self.answer(from, Chunk::HeartbeatAck(info));
            }
            Chunk::HeartbeatAck(info) => self.handle_heartbeat_ack(now, info),
            Chunk::Abort { causes, .. } => {
                let code = causes.first().map_or(0, Cause::code);
                self.drop_all(Some(Failure::PeerAborted(code)));
            }
            Chunk::Error(causes) => self.handle_error(&causes),
            Chunk::Shutdown(tsn) => self.handle_shutdown(now, tsn),
            Chunk::ShutdownAck => self.handle_shutdown_ack(id),
            Chunk::ShutdownComplete { .. } => self.handle_shutdown_complete(),
            Chunk::Ecne(tsn) if self.state.is_open() => {
                self.cwr = self.tx.handle_ecne(now, tsn).or(self.cwr);
            }
            Chunk::Cwr(tsn) => {
                if self.ecne.is_some_and(|told| !told.is_after(tsn)) {
                    self.ecne = None;
                }
            }
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
        if chunk.stream >= self.inbound {
            self.rx.discard(tsn);
            self.answer(from, Chunk::Error(vec![Cause::InvalidStream(chunk.stream)]));
            return true;
        }
        match self.rx.handle_data(&mut chunk) {
            Arrival::New => {}
            Arrival::Duplicate => self.counters.duplicate_segments += 1,
            Arrival::Refused => self.ignore(),
        }
        true
    }

    fn data_ended(&mut self, now: Instant, from: usize, seen: &DataSeen, ecn: Ecn) {
        self.data_from = from;
        let shutting_down = self.state == State::ShutdownSent;
        self.rx.packet_ended(now, seen.immediately || shutting_down);
        if shutting_down {
            self.closing.start();
        }
        if ecn == Ecn::Congestion && self.tx.ecn {
            self.ecne = seen.lowest.or(self.ecne);
            self.rx.sack_now();
        }
    }

    /// RFC 9260, section 3.2. False when the rest of the packet does not count.
    fn handle_unknown(&mut self, from: usize, unknown: UnknownChunk) -> bool {
        let action = UnknownAction::of_chunk(unknown.kind);
        if action.report && self.state.is_open() {
            let mut whole = BytesMut::with_capacity(4 + unknown.value.len());
            whole.put_slice(&[unknown.kind, unknown.flags]);
            whole.put_u16((4 + unknown.value.len()) as u16); // it came with this length
            // An answer must fit into a packet.
            let most = self.config.room(self.tx.paths[from].mtu) - 8;
            whole.put_slice(&unknown.value);
            whole.truncate(most);
            self.answer(from, Chunk::Error(vec![Cause::UnrecognizedChunk(whole.freeze())]));
        }
        !action.stop
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

    /// The application can read; true once for each time.
    fn take_readable(&mut self) -> bool {
        self.rx.take_readable()
    }
}

/// DATA of one packet.
#[derive(Debug, Default)]
struct DataSeen {
    seen: bool,
    immediately: bool,
    lowest: Option<Seq32>,
}

impl Endpoint for Association {
    fn handle_segment(&mut self, now: Instant, path: PathId, segment: &mut Segment) {
        let Segment::Sctp(packet) = segment else { return self.ignore() };
        if self.state == State::Closed || packet.chunks.is_empty() {
            return self.ignore();
        }
        if !self.is_for_us(packet) {
            return self.handle_other_tag(path, packet);
        }
        self.counters.segments_received += 1;
        self.process(now, path, packet);
        self.tx.renew_bursts();
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.state == State::Closed {
            return;
        }
        self.rx.handle_timeout(now);
        if self.opening.handle_timeout(now, self.config.max_init_retransmits).is_err() {
            return self.drop_all(Some(Failure::NoAnswer));
        }
        let open = self.state.is_open();
        let closing = self.closing_timed_out(now);
        if closing.is_err() || self.tx.handle_timeout(now, open).is_err() {
            return self.drop_all(Some(Failure::NoResponse));
        }
        self.tx.renew_bursts();
    }

    fn write(&mut self, _now: Instant, data: &mut Bytes) -> Result<usize, WriteError> {
        if !self.takes_writes() {
            return Err(WriteError::Closed);
        }
        self.tx.renew_bursts();
        Ok(self.tx.write(data))
    }

    fn read(&mut self, _now: Instant) -> Option<Bytes> {
        self.rx.read()
    }

    fn close(&mut self, _now: Instant) {
        self.wants_close = true;
        self.tx.flushing = true;
        self.move_on();
    }

    fn abort(&mut self, _now: Instant) {
        if self.state != State::Closed {
            self.give_up(Cause::UserAbort(Bytes::new()), Failure::Aborted);
        }
    }

    fn poll_transmit(&mut self, now: Instant, place: &mut Segment) -> Option<PathId> {
        let path = self.transmit(now, place.sctp_mut())?;
        let (length, _) = place.measure();
        self.counters.segments_sent += 1;
        self.counters.bytes_sent += length as u64;
        Some(path)
    }

    fn poll_event(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.told.connected) {
            return Some(Event::Connected);
        }
        if self.take_readable() {
            return Some(Event::Readable);
        }
        if self.tx.take_writable() && self.takes_writes() {
            return Some(Event::Writable);
        }
        if std::mem::take(&mut self.told.peer_closed) {
            return Some(Event::PeerClosed);
        }
        if std::mem::take(&mut self.told.closed) {
            return Some(Event::Closed);
        }
        self.told.failed.take().map(Event::Failed)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.state == State::Closed {
            return None;
        }
        let control = Instant::earliest(self.opening.deadline(), self.closing.deadline());
        let data = Instant::earliest(self.rx.deadline(), self.tx.deadline(self.state.is_open()));
        Instant::earliest(control, data)
    }

    fn sender_state(&self) -> SenderState {
        let path = &self.tx.paths[self.tx.data_path()];
        let snapshot = path.controller.snapshot();
        let waiting = self.tx.queue.len() > 0;
        let activity = match self.tx.flight.len() {
            0 if !waiting => "idle",
            _ if waiting && self.tx.peer_window == 0 => "persisting",
            _ => "transmitting",
        };
        SenderState {
            cwnd: snapshot.cwnd,
            ssthresh: snapshot.ssthresh,
            srtt: path.rtt.measured(),
            in_flight: ByteCount::new(self.tx.flight.in_flight() as u64),
            phase: snapshot.phase,
            activity,
        }
    }

    fn counters(&self) -> TransportCounters {
        TransportCounters { reductions: self.tx.reductions, ..self.counters }
    }

    fn controller_name(&self) -> &'static str {
        self.config.controller.name()
    }

    fn is_closed(&self) -> bool {
        self.state == State::Closed && self.packets.is_empty()
    }
}
