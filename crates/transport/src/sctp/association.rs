//! One end of an association.
//!
//! What chunks do is in [`super::chunks`], with the rules of opening in [`super::opening`]; what leaves in
//! [`super::transmit`].
//!
//! | state | until | then |
//! |---|---|---|
//! | CookieWait | INIT ACK | COOKIE ECHO leaves: CookieEchoed |
//! | CookieEchoed | COOKIE ACK, or the peer's own COOKIE ECHO | Established; a stale cookie: CookieWait once more |
//! | Established | the application closes: ShutdownPending; SHUTDOWN comes: ShutdownReceived | |
//! | ShutdownPending | everything is acknowledged | SHUTDOWN leaves: ShutdownSent |
//! | ShutdownReceived | everything is acknowledged | SHUTDOWN ACK leaves: ShutdownAckSent |
//! | ShutdownSent | SHUTDOWN ACK | SHUTDOWN COMPLETE leaves: Closed; SHUTDOWN comes: ShutdownAckSent |
//! | ShutdownAckSent | SHUTDOWN COMPLETE, or SHUTDOWN ACK | Closed |
//! | any but Closed | ABORT, silence, too many timeouts | Closed, and the application hears why |

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use bentpipe_record::TransportCounters;
use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::sctp::{AddressChange, AsconfRequest, Cause, Chunk, Packet};
use bytes::Bytes;

use super::closing::Closing;
use super::draw::Draw;
use super::ecn::EcnFeedback;
use super::ends::Ends;
use super::opening::Opening;
use super::outbox::Outbox;
use super::own_changes::OwnChanges;
use super::path_ends::{self, PathEnds, Standing};
use super::peer_changes::PeerChanges;
use super::receiver::Receiver;
use super::report_path::ReportPath;
use super::sender::Sender;
use super::timers::Unreachable;
use super::{Config, CookieKey, Message, Notice, Readdress, ReaddressError, SendError, State};
use crate::pending_events::PendingEvents;
use crate::{Failure, PathId, Ports};

/// Where an association is and what it has to prove itself.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Port of this end and of the peer.
    pub ports: Ports,
    /// The paths to the peer, the primary one first; at least one.
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
    pub(super) state: State,
    pub(super) ends: Ends,
    pub(super) tx: Sender,
    pub(super) rx: Receiver,
    pub(super) opening: Opening,
    pub(super) closing: Closing,
    pub(super) changes: OwnChanges,
    pub(super) peer_changes: PeerChanges,
    /// COOKIE ACK is to be sent.
    pub(super) cookie_ack: bool,
    /// When the peer was last heard.
    pub(super) heard: Instant,
    pub(super) report_path: ReportPath,
    pub(super) ecn: EcnFeedback,
    pub(super) outbox: Outbox,
    pub(super) pending: PendingEvents,
    pub(super) notices: VecDeque<Notice>,
    pub(super) counters: TransportCounters,
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
        let random = config.asconf.then(|| draw.random());
        Self {
            state: State::Closed,
            ends: Ends::new(&config, key, ports, addresses, local_tag, random),
            tx: Sender::new(config.clone(), first, &paths, now, draw),
            rx: Receiver::new(config.clone(), Seq32::default()),
            opening: Opening::new(first),
            closing: Closing::default(),
            changes: OwnChanges::new(first),
            peer_changes: PeerChanges::new(Seq32::default()),
            cookie_ack: false,
            heard: now,
            report_path: ReportPath::default(),
            ecn: EcnFeedback::default(),
            outbox: Outbox::default(),
            pending: PendingEvents::default(),
            notices: VecDeque::new(),
            counters: TransportCounters::default(),
            config,
        }
    }

    /// State of the association.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The ports of the association.
    pub const fn ports(&self) -> Ports {
        self.ends.ports()
    }

    /// Streams that this end may send on, once the association is open.
    pub const fn outbound_streams(&self) -> u16 {
        self.ends.outbound()
    }

    /// Addresses that the peer named; none where it has only the one that its packets come from.
    pub fn peer_addresses(&self) -> &[IpAddr] {
        self.ends.peer_addresses()
    }

    /// Whether the peer proves by its verification tag that the packet is its own. Packets that open an
    /// association prove nothing.
    pub fn is_authentic(&self, packet: &Packet) -> bool {
        self.ends.is_own(packet.tag)
    }

    /// Adds a path to the peer, known from one of its addresses. It carries data once it was tried. False
    /// where there are sixteen already.
    pub fn add_path(&mut self, now: Instant, id: PathId) -> bool {
        // The number of one that is leaving may be another one's already.
        let standing = self.tx.index_of(id).map(|index| self.tx.paths[index].standing);
        if standing.is_some_and(|standing| standing != Standing::Leaving) {
            return true;
        }
        let ends = PathEnds::default();
        let added = path_ends::add(&mut self.tx, now, id, ends, Standing::Later).is_some();
        if added && self.state.is_open() {
            self.tx.try_paths();
        }
        added
    }

    /// Whether there is such a path: one whose address is gone, or was refused, is none.
    pub fn has_path(&self, id: PathId) -> bool {
        self.tx.index_of(id).is_some()
    }

    /// The addresses that a path joins. Where addresses may change, each path has to be named.
    pub fn name_path(&mut self, id: PathId, ends: PathEnds) {
        if let Some(index) = self.tx.index_of(id) {
            self.tx.paths[index].ends = ends;
            self.peer_changes.path_named(index, ends, &mut self.tx);
        }
    }

    /// Tells the peer that the addresses of this end change (RFC 5061). Its own paths change at once;
    /// [`Notice::Readdressed`] or [`Notice::ReaddressRefused`] says what the peer made of it.
    ///
    /// # Errors
    /// See [`ReaddressError`]. Nothing changes then.
    pub fn readdress(&mut self, now: Instant, change: Readdress) -> Result<(), ReaddressError> {
        if !self.state.is_open() {
            return Err(ReaddressError::NotOpen);
        }
        if self.ends.auth().is_none() {
            return Err(ReaddressError::NotAgreed);
        }
        self.changes.request(now, change, &mut self.tx, self.ends.own_addresses())?;
        self.ends.readdress(change.add.and_then(|(_, ends)| ends.own), change.delete);
        self.leave_gone_paths();
        Ok(())
    }

    /// Whether a packet tells a change of the peer's addresses that has an answer: the next one, or the last one once more.
    /// Nobody else can tell it.
    pub fn has_answer(&self, packet: &Packet) -> bool {
        let [Chunk::Auth(auth), Chunk::Asconf(asconf), ..] = &packet.chunks[..] else {
            return false;
        };
        self.is_authentic(packet)
            && (self.peer_changes.is_next(asconf) || self.peer_changes.is_last(asconf))
            && self.ends.auth().is_some_and(|own| own.proves(auth))
    }

    /// Whether a packet tells that the peer has this address from now on, from which it comes and which no path leads to yet.
    /// Who has recorded it cannot tell it once more.
    pub fn is_move_to(&self, source: IpAddr, packet: &Packet) -> bool {
        let [_, Chunk::Asconf(asconf), ..] = &packet.chunks[..] else { return false };
        let adds = |request: &AsconfRequest| match request.change {
            AddressChange::Add(added) => added.is_unspecified() || added.to_canonical() == source,
            _ => false,
        };
        asconf.requests.iter().any(adds)
            && self.peer_changes.is_next(asconf)
            && self.has_answer(packet)
    }

    /// What waited for a path that nothing leaves by is not sent; reports take another, once there is one.
    pub(super) fn leave_gone_paths(&mut self) {
        let silent = |path: usize| !self.tx.paths[path].may_talk();
        self.outbox.forget_paths(silent);
        if silent(self.report_path.get()) {
            let data = self.tx.data_path();
            let any = || self.tx.paths.iter().position(super::path::Path::may_talk);
            let talks = Some(data).filter(|data| !silent(*data)).or_else(any);
            talks.into_iter().for_each(|path| self.report_path.begin(path));
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
        let streams = self.ends.outbound();
        if stream >= streams {
            return Err(SendError::NoSuchStream { stream, last: streams - 1 });
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

    /// A report to the peer is due, be it only that there is room again.
    pub const fn owes_report(&self) -> bool {
        self.rx.is_due()
    }

    /// When the silence of the peer has lasted too long.
    pub(super) fn silence_ends(&self) -> Option<Instant> {
        let limited = self.state.is_open() && self.config.no_response != Span::MAX;
        limited.then(|| self.heard + self.config.no_response)
    }

    pub(super) fn takes_writes(&self) -> bool {
        self.state.takes_writes() && !self.closing.is_wanted()
    }

    /// Index of the path that a packet came on; the primary stands for one that is not known.
    pub(super) fn source(&self, id: PathId) -> usize {
        self.tx.index_of(id).unwrap_or(self.tx.primary)
    }

    pub(super) fn ignore(&mut self) {
        self.counters.ignored_segments += 1;
    }

    /// Queues a packet of one chunk.
    pub(super) fn send_packet(&mut self, path: PathId, tag: u32, chunk: Chunk) {
        let mut packet = self.ends.packet(tag);
        packet.chunks.push(chunk);
        self.outbox.send(path, packet);
    }

    pub(super) fn tell(&mut self, notice: Notice) {
        self.notices.push_back(notice);
    }

    /// T2: the message leaves again, and the path and the peer have one answer less to owe.
    pub(super) fn closing_timed_out(&mut self, now: Instant) -> Result<(), Unreachable> {
        let path = self.tx.data_path();
        if self.closing.handle_timeout(now) {
            self.tx.paths[path].back_off();
            self.tx.count_error(now, path)?;
        }
        Ok(())
    }

    /// Frees everything; with a reason the application is told.
    pub(super) fn drop_all(&mut self, failure: Option<Failure>) {
        if self.state == State::Closed {
            return;
        }
        self.state = State::Closed;
        self.pending.fail(failure);
        self.opening.stop();
        self.closing.stop();
        self.changes.stop();
        self.tx.clear(self.tx.flight.next());
        self.rx.stop();
        self.outbox.clear_chunks();
        (self.cookie_ack, self.ecn) = (false, EcnFeedback::default());
    }

    /// Ends the association at once and tells the peer why.
    pub(super) fn give_up(&mut self, cause: Cause, failure: Failure) {
        let path = self.tx.paths[self.tx.data_path()].id;
        let tag = self.ends.peer_tag();
        let known = tag != 0;
        self.drop_all(Some(failure));
        if known {
            self.send_packet(path, tag, Chunk::Abort { reflected: false, causes: vec![cause] });
        }
    }
}
