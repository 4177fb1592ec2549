//! The connection: one end of it, with its application and its network.
//!
//! It routes segments to the sending and the receiving side: what it does with those that arrive is in [`receive`],
//! in short for nearly all of them in [`fast_path`], what leaves in [`encode`].
//!
//! A [`Stage`] is how far it is; an open connection has the finer [`State`]s of its two directions, which follow from
//! what they sent and took. A listener is the host's.
//!
//! | from | by | to |
//! |---|---|---|
//! | - | [`Connection::connect`] | SYN-SENT |
//! | - | [`Connection::accept`] of a SYN | SYN-RECEIVED |
//! | SYN-SENT | SYN with the acknowledgement of ours | ESTABLISHED |
//! | SYN-SENT | SYN without one: both opened at once | SYN-RECEIVED |
//! | SYN-SENT | no answer to the last try; a reset that acknowledges our SYN | CLOSED |
//! | SYN-RECEIVED | acknowledgement of our SYN | ESTABLISHED |
//! | ESTABLISHED | our FIN leaves | FIN-WAIT-1 |
//! | ESTABLISHED | the peer's FIN | CLOSE-WAIT |
//! | FIN-WAIT-1 | acknowledgement of our FIN | FIN-WAIT-2 |
//! | FIN-WAIT-1 | the peer's FIN | CLOSING |
//! | FIN-WAIT-1, FIN-WAIT-2, CLOSING | the last of both: the peer's FIN, the acknowledgement of ours | TIME-WAIT |
//! | CLOSE-WAIT | our FIN leaves | LAST-ACK |
//! | LAST-ACK | acknowledgement of our FIN | CLOSED; TIME-WAIT if the peer's was acknowledged late |
//! | TIME-WAIT | its time is over; a new SYN of the peer | CLOSED |
//! | any | a reset of the peer | CLOSED |
//! | any | the application aborts, the peer is silent for too long: a reset leaves | CLOSED |

mod encode;
mod endpoint;
mod fast_path;
mod receive;

use std::sync::Arc;

use bentpipe_record::TransportCounters;
use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::{Segment, tcp};

pub use self::fast_path::FastPath;
use super::challenges::Challenges;
use super::dirty::Dirty;
use super::ecn::EcnReceiver;
use super::ending::Ending;
use super::explicit::Feedback;
use super::handshake::Handshake;
use super::keepalive::Keepalive;
use super::receiver::Receiver;
use super::sender::Sender;
use super::timestamps::Timestamps;
use super::{Config, State};
use crate::pending_events::PendingEvents;
use crate::{Failure, PathId, Ports};

/// One end of a TCP connection.
#[derive(Debug)]
pub struct Connection {
    config: Arc<Config>,
    stage: Stage,
    path: PathId,
    ports: Ports,
    tx: Sender,
    rx: Receiver,
    handshake: Handshake,
    timestamps: Timestamps,
    ecn: EcnReceiver,
    ending: Ending,
    /// What routers left of the peer's requests (XCP).
    feedback: Feedback,
    challenges: Challenges,
    keepalive: Keepalive,
    pending: PendingEvents,
    dirty: Dirty,
    counters: TransportCounters,
}

/// How far a connection is. What is open has the finer [`State`]s of its two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    SynSent,
    SynReceived,
    Open,
    TimeWait,
    Closed,
}

impl Connection {
    /// The client's end: opens a connection. `entropy` gives the initial sequence number and the start
    /// of the timestamp clock, which others must not guess.
    pub fn connect(
        config: Arc<Config>,
        now: Instant,
        path: PathId,
        ports: Ports,
        entropy: u64,
    ) -> Self {
        Self::new(config, Stage::SynSent, now, path, ports, entropy)
    }

    /// The server's end: a listener got `segment`. `None` when it does not open a connection.
    pub fn accept(
        config: Arc<Config>,
        now: Instant,
        path: PathId,
        segment: &tcp::Segment,
        entropy: u64,
    ) -> Option<Self> {
        if !segment.opens() {
            return None;
        }
        let ports = Ports { local: segment.destination_port, peer: segment.source_port };
        let mut connection = Self::new(config, Stage::SynReceived, now, path, ports, entropy);
        connection.counters.segments_received = 1;
        connection.take_syn(now, segment);
        Some(connection)
    }

    fn new(
        config: Arc<Config>,
        stage: Stage,
        now: Instant,
        path: PathId,
        ports: Ports,
        entropy: u64,
    ) -> Self {
        let iss = Seq32::new(entropy as u32);
        Self {
            stage,
            path,
            ports,
            tx: Sender::new(config.clone(), iss, now),
            rx: Receiver::new(config.clone(), Seq32::default(), 1),
            handshake: Handshake::new(&config),
            timestamps: Timestamps::new((entropy >> 32) as u32),
            ecn: EcnReceiver::default(),
            ending: Ending::default(),
            feedback: Feedback::default(),
            challenges: Challenges::default(),
            keepalive: Keepalive::new(now),
            pending: PendingEvents::default(),
            dirty: Dirty::all(),
            counters: TransportCounters::default(),
            config,
        }
    }

    /// Something that the application did to the receiving side may make an acknowledgement due.
    #[inline]
    fn follow_reader(&mut self) {
        if self.rx.is_due() && self.stage == Stage::Open {
            self.dirty.mark_receiver(self.tx.is_idle());
        }
    }

    /// Writes an acknowledgement where nothing else can leave.
    fn poll_acknowledgement(&mut self, now: Instant, place: &mut Segment) -> Option<PathId> {
        self.dirty.finish_work();
        let due = self.rx.is_due();
        if due {
            self.encode_ack_alone(now, place.tcp_mut());
        }
        due.then_some(self.path)
    }

    /// Writes whatever can leave.
    fn poll_anything(&mut self, now: Instant, place: &mut Segment) -> Option<PathId> {
        if self.poll_next(now, place.tcp_mut()) {
            return Some(self.path);
        }
        self.dirty.mark_timer(true);
        let written = self.encode(now, place.tcp_mut());
        // An acknowledgement may wait for the application to read.
        if !written && !self.rx.is_readable() || written && self.is_spent() {
            self.dirty.finish_work();
        }
        if !written {
            self.tx.set_persist(now);
        }
        self.dirty.mark_news(self.tx.can_writer_go_on());
        written.then_some(self.path)
    }

    /// Writes the next full segment, if nothing else is to be done than that.
    #[inline]
    fn poll_next(&mut self, now: Instant, place: &mut tcp::Segment) -> bool {
        let encoded = self.encode_next(now, place);
        if encoded == Some(true) {
            self.dirty.finish_work();
            self.dirty.mark_news(self.tx.can_writer_go_on());
        }
        encoded.is_some()
    }

    /// State of the connection.
    pub fn state(&self) -> State {
        match self.stage {
            Stage::Closed => State::Closed,
            Stage::SynSent => State::SynSent,
            Stage::SynReceived => State::SynReceived,
            Stage::TimeWait => State::TimeWait,
            Stage::Open => match (self.tx.is_fin_sent(), self.tx.is_done(), self.rx.has_ended()) {
                (false, _, false) => State::Established,
                (false, _, true) => State::CloseWait,
                (true, false, false) => State::FinWait1,
                (true, true, false) => State::FinWait2,
                (true, _, true) if self.ending.is_first() => State::Closing,
                (true, _, true) => State::LastAck,
            },
        }
    }

    /// A router says that packets of more than `mtu` bytes do not pass, or the path carries longer ones
    /// again (RFC 1191). What is too long is retransmitted in shorter segments; the congestion window
    /// stays. The segments never become longer than what both ends agreed on, nor shorter than 64 bytes. After ten
    /// minutes a longer one is tried, and from time to time again.
    pub fn set_path_mtu(&mut self, now: Instant, mtu: u16) {
        self.dirty.mark();
        if self.stage == Stage::Open {
            self.tx.set_path_mtu(now, mtu);
        }
    }

    /// The ports of the connection.
    pub const fn ports(&self) -> Ports {
        self.ports
    }

    fn ignore(&mut self) {
        self.counters.ignored_segments += 1;
    }

    /// Both directions are closed and everything is delivered: the end that ended first stays for a
    /// while to answer a FIN that comes again.
    fn end_if_done(&mut self, now: Instant) {
        let ended = self.rx.has_ended() && !self.rx.is_deferring();
        if self.stage != Stage::Open || !self.tx.is_done() || !ended {
            return;
        }
        self.pending.close();
        // An end that was acknowledged late has not been heard of by the peer yet.
        if self.ending.is_first() || self.rx.has_deferred() {
            self.stage = Stage::TimeWait;
            self.ending.wait_until(now + self.config.time_wait);
            self.tx.drop_all();
        } else {
            self.close_down();
        }
    }

    fn close_down(&mut self) {
        self.stage = Stage::Closed;
        self.handshake.stop();
        self.tx.drop_all();
        self.rx.drop_all();
        self.ending.stop_waiting();
        self.keepalive.stop();
    }

    /// The connection is over, well or not.
    fn drop_connection(&mut self, failure: Option<Failure>) {
        self.pending.fail(failure);
        self.close_down();
    }

    /// Gives up and tells the peer.
    fn abort_with(&mut self, failure: Failure) {
        if matches!(self.stage, Stage::SynReceived | Stage::Open) {
            let ack = self.rx.wire(self.rx.next());
            self.ending.reset(self.tx.wire(self.tx.next()), Some(ack));
        }
        self.drop_connection(Some(failure));
    }

    /// Nothing but a question would bring news of the peer.
    fn is_silent(&self) -> bool {
        self.stage == Stage::Open && !self.tx.is_resting() && self.tx.has_nothing_under_way()
    }
}
