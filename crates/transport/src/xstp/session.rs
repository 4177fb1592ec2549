//! The session: one end of an XSTP connection.
//!
//! It routes segments to [`Sender`] and [`Receiver`], keeps the states of opening and closing, and
//! merges what the parts want to send into composite segments.
//!
//! | state | until | then |
//! |---|---|---|
//! | BgnSent | BGNAK, or the peer's own BGN | Established |
//! | Established | everything is delivered and the application closes | END leaves: EndSent; the peer's END: PeerHalf |
//! | EndSent | ENDAK | LocalHalf, or Quiet if the peer has ended |
//! | LocalHalf | the peer's END | Quiet |
//! | PeerHalf | everything is delivered and the application closes | END leaves: LastEnd |
//! | LastEnd | ENDAK | Quiet |
//! | Quiet | twice the timeout, one second at least | Closed |
//! | any but Closed | RST, silence, too many repetitions | Closed, and the application hears why |

mod contract;

use std::sync::Arc;

use bentpipe_cc::DedicatedLink;
use bentpipe_record::TransportCounters;
use bentpipe_units::{BitRate, Instant, Seq32, Span};
use bentpipe_wire::Kind;
use bentpipe_wire::xstp::{Body, Flow, ResetReason, Segment as XstpSegment};

use super::closing::Closing;
use super::dirty::Dirty;
use super::opening::Opening;
use super::receiver::{Arrival, Receiver};
use super::sender::Sender;
use super::silence::Silence;
use super::{Config, SharedPath, State};
use crate::pending_events::PendingEvents;
use crate::{Failure, PathId, Ports};

/// Bytes that an allocator gives to keep one segment, besides its payload: its place in a list and the handle of a
/// shared buffer.
const SEGMENT: usize = 128;

/// One end of an XSTP connection.
#[derive(Debug)]
pub struct Session {
    pub(super) config: Arc<Config>,
    pub(super) state: State,
    pub(super) path: PathId,
    pub(super) ports: Ports,
    pub(super) sq: u8,
    pub(super) isn: Seq32,
    pub(super) tx: Sender,
    pub(super) rx: Receiver,
    pub(super) opening: Opening,
    pub(super) closing: Closing,
    pub(super) reset: Option<ResetReason>,
    pub(super) stray: Option<XstpSegment>,
    pub(super) silence: Silence,
    pub(super) pending: PendingEvents,
    dirty: Dirty,
    pub(super) counters: TransportCounters,
}

impl Session {
    /// The client's end: opens a connection. `entropy` gives the session sequence number and the
    /// initial sequence number, which old duplicates must not guess.
    pub fn connect(
        config: Arc<Config>,
        now: Instant,
        path: PathId,
        ports: Ports,
        entropy: u64,
    ) -> Self {
        let (sq, isn) = ((entropy >> 32) as u8, Seq32::new(entropy as u32));
        let mut session = Self::new(config, State::BgnSent, now, path, ports, sq, isn);
        session.opening.start();
        session
    }

    /// The server's end: a listener got `segment`. `None` when it is not a BGN.
    pub fn accept(
        config: Arc<Config>,
        now: Instant,
        path: PathId,
        segment: &XstpSegment,
        entropy: u64,
    ) -> Option<Self> {
        let Body::Begin(begin) = &segment.body else { return None };
        let ports = Ports { local: segment.destination_port, peer: segment.source_port };
        let isn = Seq32::new(entropy as u32);
        let mut session = Self::new(config, State::Established, now, path, ports, segment.sq, isn);
        session.counters.segments_received = 1;
        session.establish(now, begin, segment.seq, segment.window);
        session.opening.peer_asks(begin.ts);
        Some(session)
    }

    fn new(
        config: Arc<Config>,
        state: State,
        now: Instant,
        path: PathId,
        ports: Ports,
        sq: u8,
        isn: Seq32,
    ) -> Self {
        Self {
            state,
            path,
            ports,
            sq,
            isn,
            tx: Sender::new(config.clone(), isn),
            rx: Receiver::new(config.clone(), Seq32::default(), config.mss, false),
            opening: Opening::idle(&config),
            closing: Closing::idle(&config),
            reset: None,
            stray: None,
            silence: Silence::new(now),
            pending: PendingEvents::default(),
            dirty: Dirty::ALL,
            counters: TransportCounters::default(),
            config,
        }
    }

    /// Lets data follow the BGN at once: for a peer that is known to agree to this end's `mss` and to
    /// have room for `credit` segments of it, as one inside an association is.
    pub fn start_early(&mut self, now: Instant, credit: u16) {
        if self.state == State::BgnSent {
            self.opening.allow_early_data();
            self.tx.open(now, self.config.mss, credit);
        }
    }

    /// The peer says, on a way that can be trusted, that it knows nothing of this session: as good as a
    /// reset with reason 1 once nothing else was heard for a while. Before that the word may be a late
    /// one about data that overtook their BGN.
    pub fn handle_no_session(&mut self, now: Instant) {
        let silent = self.silence.lasts(now) >= self.tx.rtt.rto();
        if self.state != State::BgnSent && silent {
            self.handle_refusal(now);
        }
    }

    /// The peer says, on a way that can be trusted, that it does not take this session.
    pub fn handle_refusal(&mut self, now: Instant) {
        self.dirty.mark();
        if self.state != State::Closed {
            self.handle_reset(now, ResetReason::NoSession);
        }
    }

    /// Whether the peer has not answered yet.
    pub fn is_opening(&self) -> bool {
        self.state == State::BgnSent
    }

    /// Whether data have been sent, also those that followed the request to open at once.
    pub const fn has_sent(&self) -> bool {
        self.tx.buffer.sent() > 0
    }

    /// The peer can be reached again: a request to open that was not answered is repeated at once.
    pub fn repeat_opening(&mut self) {
        self.opening.again(&self.config);
        self.dirty.mark();
    }

    /// The peer has forgotten everything: the session is over.
    pub fn handle_restart(&mut self, now: Instant) {
        self.dirty.mark();
        self.drop_session(now, Some(Failure::PeerRestarted));
    }

    /// Payloads of segments that are cut from now on are no longer than this, whatever the two ends
    /// agree on: what the path carries.
    pub fn limit_payload(&mut self, most: u16) {
        self.tx.limit_payload(most);
        self.dirty.mark();
    }

    /// A router on the path marked something of this session as a sign of congestion (RFC 3168).
    pub fn handle_mark(&mut self, now: Instant) {
        self.tx.handle_mark(now);
        self.dirty.mark();
    }

    /// The host knows the rate of the link, and this is it now: for controllers that keep to a rate.
    pub fn handle_link_rate(&mut self, now: Instant, rate: BitRate) {
        self.tx.handle_link_rate(now, rate);
        self.dirty.mark();
    }

    /// The path to the peer is shared with other sessions from now on: they have one window together, of
    /// which each has its part, and what they know of the path counts here.
    pub fn share_path(&mut self, now: Instant, path: &SharedPath) {
        self.tx.share(now, path);
        self.dirty.mark();
    }

    /// The link to the peer, whose rate is known, is shared with other sessions from now on, and what they know of it
    /// counts here. Whoever shares it counts what leaves. For sessions whose controller keeps to a rate.
    pub fn share_link(&mut self, link: &DedicatedLink) {
        self.tx.share_link(link);
        self.dirty.mark();
    }

    /// What this session gets of a [shared path](Session::share_path) beside those with weight 1.
    pub fn weigh(&mut self, now: Instant, weight: u32) {
        self.tx.weigh(now, weight);
        self.dirty.mark();
    }

    /// What is sent from now on takes another path, and what was sent before may never arrive: nothing that
    /// was learned of the old path counts (RFC 9000, section 9.4), and the peer is asked at once what it has.
    pub fn handle_new_path(&mut self, now: Instant) {
        self.tx.handle_new_path(now);
        self.dirty.mark();
    }

    /// The peer's answers take another path from now on: round trips are measured anew.
    pub fn handle_new_round_trip(&mut self, now: Instant) {
        self.tx.handle_new_round_trip(now);
        self.dirty.mark();
    }

    /// Its settings.
    pub const fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// State of the session.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Whether anything waits to be sent, for the first time or again.
    pub fn has_unsent(&self) -> bool {
        self.tx.buffer.len() > 0 || self.tx.has_retransmissions()
    }

    /// Bytes that it holds: those that wait to be sent or acknowledged, to be read, or for a missing segment, and what
    /// it takes to keep each segment of them.
    #[inline]
    pub fn held(&self) -> usize {
        let segments = self.tx.cache.len() as usize + self.rx.segments();
        self.tx.held() + self.rx.held() + segments * SEGMENT
    }

    /// The part of it that waits to be sent or acknowledged, but for segments' places.
    #[inline]
    pub fn held_to_send(&self) -> usize {
        self.tx.held()
    }

    /// The host has room for so many received bytes more: the peer is told, and sends no more than that.
    #[inline]
    pub fn limit_room(&mut self, room: usize) {
        self.rx.limit(room);
    }

    /// Whether everything up to this number has come.
    pub fn has_received(&self, seq: Seq32) -> bool {
        self.rx.has_received(seq)
    }

    /// Whether this is the number of the segment that the reader waits for.
    pub fn waits_for(&self, seq: Seq32) -> bool {
        self.rx.waits_for(seq)
    }

    /// Whether anything waits to be retransmitted.
    pub fn has_retransmissions(&self) -> bool {
        self.tx.has_retransmissions()
    }

    /// The smoothed round-trip time, once one was measured.
    pub fn round_trip(&self) -> Option<Span> {
        self.tx.rtt.measured()
    }

    /// The session sequence number N(SQ).
    pub const fn sq(&self) -> u8 {
        self.sq
    }

    /// The ports of the session.
    pub const fn ports(&self) -> Ports {
        self.ports
    }

    /// The parts of a composite segment in their fixed order: report, data, POLL, ENDAK, END.
    #[inline(never)]
    fn handle_flow(&mut self, now: Instant, seq: Seq32, window: u16, flow: &mut Flow) {
        if let Some(report) = &flow.report {
            self.opening.heard();
            match self.tx.handle_report(now, report, window) {
                Ok(()) if report.ts_echo == 0 && flow.kind().contains(Kind::USTAT) => {
                    self.counters.ustats_received += 1;
                }
                Ok(()) => self.counters.stats_received += 1,
                Err(_) => self.ignore(),
            }
        }
        let carries_data = !flow.payload.is_empty();
        if carries_data {
            self.handle_data(seq, flow);
        }
        if let Some(ts) = flow.poll {
            let sent_before = if carries_data { seq.plus(1) } else { seq };
            self.rx.handle_poll(now, ts, sent_before);
        }
        if let Some(echo) = flow.end_ack {
            self.handle_end_ack(now, echo);
        }
        if flow.end {
            self.handle_end(now, seq);
        }
    }

    #[inline]
    fn handle_data(&mut self, seq: Seq32, flow: &mut Flow) {
        if !self.state.receives() || self.closing.has_peer_ended() {
            return;
        }
        match self.rx.handle_data(seq, std::mem::take(&mut flow.payload)) {
            Arrival::New => {}
            Arrival::Duplicate => self.counters.duplicate_segments += 1,
            Arrival::Ignored => self.ignore(),
        }
    }

    pub(super) fn ignore(&mut self) {
        self.counters.ignored_segments += 1;
    }

    /// BGN, BGNAK and RST.
    #[cold]
    fn handle_single(&mut self, now: Instant, segment: &XstpSegment) {
        match &segment.body {
            Body::Reset(reason) => self.handle_reset(now, *reason),
            Body::Begin(begin) => self.handle_begin(now, begin, segment),
            Body::BeginAck(begin) => self.handle_begin_ack(now, begin, segment),
            Body::Flow(_) => {}
        }
    }

    /// Turns away a segment with another session's number, except those that may set the number.
    #[cold]
    fn is_of_other_session(&mut self, segment: &XstpSegment) -> bool {
        if matches!(segment.body, Body::Begin(_) | Body::BeginAck(_)) {
            return false;
        }
        self.ignore();
        if self.state.is_synchronized() {
            self.stray = no_session_reset(segment);
        }
        true
    }

    /// The next segment, when there may be one. Apart from the question whether there is, which is
    /// asked far more often.
    #[inline(never)]
    fn transmit(&mut self, now: Instant, place: &mut XstpSegment) -> Option<PathId> {
        let written = if self.has_single() {
            self.poll_single(now, place)
        } else {
            self.poll_composite(now, place)
        };
        written.then_some(self.path)
    }
}

/// The answer to a segment that belongs to no session: RST with reason 1, or nothing to a reset.
pub fn no_session_reset(segment: &XstpSegment) -> Option<XstpSegment> {
    if matches!(segment.body, Body::Reset(_)) {
        return None;
    }
    Some(XstpSegment {
        source_port: segment.destination_port,
        destination_port: segment.source_port,
        sq: segment.sq,
        window: 0,
        seq: segment.seq,
        body: Body::Reset(ResetReason::NoSession),
    })
}
