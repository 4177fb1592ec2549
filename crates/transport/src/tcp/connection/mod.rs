//! The connection: one end of it, with its application and its network.
//!
//! It routes segments to the sending and the receiving side. How it opens is in [`super::handshake`],
//! what it does with a segment in [`super::receive`], how it ends in [`super::lifecycle`], what leaves
//! in [`super::encode`].

use std::sync::Arc;

use bentpipe_record::TransportCounters;
use bentpipe_units::{ByteCount, Instant, Seq32};
use bentpipe_wire::Segment;
use bentpipe_wire::tcp;
use bentpipe_wire::xcp::Header;
use bytes::Bytes;

use super::ecn::EcnReceiver;
use super::explicit::Feedback;
use super::handshake::Handshake;
use super::lifecycle::Allowance;
use super::receiver::Receiver;
use super::sender::Sender;
use super::timestamps::Timestamps;
use super::{Config, State};
use crate::pending_events::PendingEvents;
use crate::{Endpoint, Event, Failure, LocalQueue, PathId, Ports, SenderState, WriteError};

/// One end of a TCP connection.
#[derive(Debug)]
pub struct Connection {
    pub(super) config: Arc<Config>,
    pub(super) stage: Stage,
    pub(super) path: PathId,
    pub(super) ports: Ports,
    pub(super) tx: Sender,
    pub(super) rx: Receiver,
    pub(super) handshake: Handshake,
    pub(super) timestamps: Timestamps,
    /// Every segment has timestamps.
    pub(super) stamped: bool,
    pub(super) ecn: EcnReceiver,
    /// Our FIN left before the peer's came.
    pub(super) ended_first: bool,
    /// A reset that is to be sent: its number, and the number that it acknowledges.
    pub(super) reset: Option<(Seq32, Option<Seq32>)>,
    /// What routers left of the peer's requests (XCP).
    pub(super) feedback: Feedback,
    pub(super) challenges: Allowance,
    pub(super) keepalive_due: bool,
    pub(super) keepalives: u32,
    pub(super) last_heard: Instant,
    pub(super) time_wait_until: Option<Instant>,
    pub(super) pending: PendingEvents,
    pub(super) work: Work,
    /// Something but [`Event::Readable`] may be to be told.
    pub(super) has_news: bool,
    /// A deadline may have come nearer.
    pub(super) timer_dirty: bool,
    pub(super) counters: TransportCounters,
}

/// How far a connection is. What is open has the finer [`State`]s of its two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    SynSent,
    SynReceived,
    Open,
    TimeWait,
    Closed,
}

/// What may be to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    Nothing,
    /// An acknowledgement, and nothing else: the sending side has nothing under way and nothing to send.
    Acknowledgement,
    Anything,
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
        connection.handshake.passive = true;
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
            stamped: false,
            ecn: EcnReceiver::default(),
            ended_first: false,
            reset: None,
            feedback: Feedback::default(),
            challenges: Allowance::default(),
            keepalive_due: false,
            keepalives: 0,
            last_heard: now,
            time_wait_until: None,
            pending: PendingEvents::default(),
            work: Work::Anything,
            has_news: true,
            timer_dirty: true,
            counters: TransportCounters::default(),
            config,
        }
    }

    /// Something happened that may have any consequence.
    pub(super) fn mark_dirty(&mut self) {
        self.work = Work::Anything;
        (self.has_news, self.timer_dirty) = (true, true);
    }

    /// The receiving side may have something to say.
    #[inline]
    pub(super) fn mark_receiver_dirty(&mut self) {
        let idle = self.tx.is_idle();
        self.work = self.work.max(if idle { Work::Acknowledgement } else { Work::Anything });
    }

    /// Something that the application did to the receiving side may make an acknowledgement due.
    #[inline]
    fn follow_reader(&mut self) {
        if self.rx.is_due() && self.stage == Stage::Open {
            self.mark_receiver_dirty();
        }
    }

    /// Writes an acknowledgement where nothing else can leave.
    fn poll_acknowledgement(&mut self, now: Instant, place: &mut Segment) -> Option<PathId> {
        self.work = Work::Nothing;
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
        self.timer_dirty = true;
        let written = self.encode(now, place.tcp_mut());
        // An acknowledgement may wait for the application to read.
        if !written && !self.rx.is_readable() || written && self.is_spent() {
            self.work = Work::Nothing;
        }
        if !written {
            self.tx.set_persist(now);
        }
        self.has_news |= self.tx.can_writer_go_on();
        written.then_some(self.path)
    }

    /// Writes the next full segment, if nothing else is to be done than that.
    #[inline]
    pub(super) fn poll_next(&mut self, now: Instant, place: &mut tcp::Segment) -> bool {
        let encoded = self.encode_next(now, place);
        if encoded == Some(true) {
            self.work = Work::Nothing;
            self.has_news |= self.tx.can_writer_go_on();
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
                (true, _, true) if self.ended_first => State::Closing,
                (true, _, true) => State::LastAck,
            },
        }
    }

    /// A router says that packets of more than `mtu` bytes do not pass, or the path carries longer ones
    /// again (RFC 1191). What is too long is sent again in shorter segments; the congestion window
    /// stays. The segments never become longer than what both ends agreed on, nor shorter than 64 bytes. After ten
    /// minutes a longer one is tried, and from time to time again.
    pub fn set_path_mtu(&mut self, now: Instant, mtu: u16) {
        self.mark_dirty();
        if self.stage == Stage::Open {
            self.tx.set_path_mtu(now, mtu);
        }
    }

    /// The ports of the connection.
    pub const fn ports(&self) -> Ports {
        self.ports
    }

    pub(super) fn ignore(&mut self) {
        self.counters.ignored_segments += 1;
    }
}

impl Endpoint for Connection {
    #[inline]
    fn handle_segment(&mut self, now: Instant, path: PathId, segment: &mut Segment) {
        let Segment::Tcp(segment) = segment else { return self.ignore() };
        self.counters.segments_received += 1;
        if self.stage == Stage::Open && self.handle_plain(now, segment) {
            self.path = path;
            return;
        }
        self.mark_dirty();
        match self.stage {
            Stage::Closed => self.ignore(),
            Stage::SynSent => self.handle_in_syn_sent(now, segment),
            Stage::SynReceived | Stage::Open | Stage::TimeWait => {
                self.path = path;
                self.handle_synchronized(now, segment);
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.mark_dirty();
        if self.time_wait_until.is_some_and(|until| until <= now) {
            return self.drop_connection(None);
        }
        if self.handshake.handle_timeout(now).is_err() {
            return self.drop_connection(Some(Failure::NoAnswer));
        }
        self.handle_silence(now);
        self.rx.handle_timeout(now);
        if self.tx.handle_timeout(now).is_err() {
            self.abort_with(Failure::NoResponse);
        }
    }

    fn write(&mut self, _now: Instant, data: &mut Bytes) -> Result<usize, WriteError> {
        let over = matches!(self.stage, Stage::Closed | Stage::TimeWait);
        if over || self.tx.is_closing() {
            return Err(WriteError::Closed);
        }
        if self.work == Work::Nothing && self.tx.waits_for_window() {
            // What is written goes behind what could not leave either.
            self.has_news = true;
        } else {
            self.mark_dirty();
        }
        Ok(self.tx.write(data))
    }

    fn read(&mut self, _now: Instant) -> Option<Bytes> {
        let bytes = self.rx.read()?;
        if self.work == Work::Nothing {
            self.follow_reader();
        }
        Some(bytes)
    }

    fn reserve_receive_buffer(&mut self, _now: Instant, bytes: ByteCount) {
        self.timer_dirty = true;
        self.rx.reserve(bytes.get());
        self.follow_reader();
    }

    fn defer_acks(&mut self, now: Instant, bytes: ByteCount) {
        self.timer_dirty = true;
        self.rx.defer(bytes.get());
        self.follow_reader();
        self.end_if_done(now);
    }

    fn unacknowledged(&self) -> ByteCount {
        ByteCount::new(self.tx.kept())
    }

    fn close(&mut self, _now: Instant) {
        self.mark_dirty();
        // While the connection opens this is remembered: what was written is still delivered.
        self.tx.close();
    }

    fn abort(&mut self, _now: Instant) {
        self.mark_dirty();
        if self.stage != Stage::Closed {
            self.abort_with(Failure::Aborted);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant, place: &mut Segment) -> Option<PathId> {
        if !self.may_transmit() {
            return None;
        }
        if self.work == Work::Anything {
            self.poll_anything(now, place)
        } else {
            self.poll_acknowledgement(now, place)
        }
    }

    #[inline]
    fn may_transmit(&self) -> bool {
        match self.work {
            Work::Nothing => false,
            // The application reads first: that opens the window which the acknowledgement states.
            Work::Acknowledgement => !self.rx.is_readable(),
            Work::Anything => true,
        }
    }

    fn override_cwnd(&mut self, _now: Instant, window: ByteCount) {
        self.tx.override_cwnd(window.get());
        self.mark_dirty();
    }

    #[inline]
    fn take_congestion(&mut self) -> Option<Header> {
        self.feedback.take_header()
    }

    fn handle_congestion(&mut self, now: Instant, header: &Header) {
        if let Some(request) = &header.request {
            self.feedback.take_request(request);
        }
        if self.stage == Stage::Open && self.tx.handle_feedback(now, header.reverse_feedback) {
            self.mark_dirty();
        }
    }

    #[inline]
    fn follows_queue(&self) -> bool {
        self.tx.follows_queue()
    }

    fn handle_queue(&mut self, now: Instant, queue: &LocalQueue) {
        self.timer_dirty = true;
        self.tx.handle_queue(now, queue);
    }

    fn handle_packet_too_big(&mut self, now: Instant, mtu: u16, number: u32) {
        // Only what is under way can have been too long, and only what is longer than that (RFC 5927, section 7).
        if self.tx.is_longer(Seq32::new(number), mtu) {
            self.set_path_mtu(now, mtu);
        } else {
            self.ignore();
        }
    }

    fn handle_link_state(&mut self, now: Instant, up: bool) {
        self.mark_dirty();
        self.tx.follow_link(now, up);
        if self.tx.is_resting() {
            self.handshake.rest();
        } else if self.stage == Stage::Open {
            // The peer had no way to be heard.
            (self.last_heard, self.keepalives) = (now, 0);
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        if !self.has_news {
            return self.rx.take_readable().then_some(Event::Readable);
        }
        let event = self.pending.next(|| self.rx.take_readable(), || self.tx.take_writable());
        self.has_news = event.is_some();
        event
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let sides = Instant::earliest(self.tx.deadline(), self.rx.deadline());
        let silence = Instant::earliest(self.time_wait_until, self.silence_deadline());
        Instant::earliest(sides, Instant::earliest(self.handshake.deadline(), silence))
    }

    #[inline]
    fn take_timer_dirty(&mut self) -> bool {
        std::mem::take(&mut self.timer_dirty)
    }

    #[inline]
    fn is_quiet(&self) -> bool {
        self.work == Work::Nothing && !self.has_news && !self.timer_dirty
    }

    fn unsent(&self) -> usize {
        self.tx.unsent() as usize
    }

    fn sender_state(&self) -> SenderState {
        self.tx.state()
    }

    fn counters(&self) -> TransportCounters {
        let (reductions, timeouts) = self.tx.reductions_and_timeouts();
        let reorder_peak_bytes = self.rx.most_out_of_order();
        TransportCounters { reductions, timeouts, reorder_peak_bytes, ..self.counters }
    }

    fn controller_name(&self) -> &'static str {
        self.config.controller.name()
    }

    fn is_closed(&self) -> bool {
        self.stage == Stage::Closed && self.reset.is_none()
    }
}
