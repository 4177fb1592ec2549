//! The sending side: what it consists of, and what its parts tell each other.
//!
//! Acknowledgements are in [`acks`], what leaves in [`transmit`], what others than the peer bring in [`signals`]. Each
//! part of the state has a file of its own in `tcp/`.
//!
//! | phase | what leaves | until |
//! |---|---|---|
//! | not open | nothing | [`Sender::open`] |
//! | idle | nothing new: nothing is under way or waits | a write, or the FIN |
//! | transmitting | new data, as far as the windows and the pace allow | everything is acknowledged |
//! | repairing ([`Retransmissions`]) | what is lost, before anything new | all of that window is acknowledged |
//! | probing ([`Probing`]) | two probes of the path, one after the other | their answers came |
//! | asking ([`Inquiry`](super::inquiry::Inquiry)) | a new segment whatever the window says, then as before | it is answered, or the timer runs out again |
//! | persisting | a byte whenever the timer runs out | the peer opens its window |
//! | resting ([`Outage`]) | nothing | the link is up |
//!
//! Losses begin the retransmissions, and probing or asking before them where it is configured; a closed window with nothing under way
//! begins persisting, and a link that goes down the rest, if the controller wants it. The end of the connection ends
//! all of them.

mod acks;
mod header_prediction;
mod signals;
mod transmit;

use std::sync::Arc;

use bentpipe_cc::{Loss, LossCause, PathView, Signal};
use bentpipe_record::SendLimit;
use bentpipe_units::{ByteCount, Instant, Seq32, Span};
use bytes::Bytes;

pub(super) use self::header_prediction::has_plain_header;
pub(super) use self::transmit::{Kind, Outgoing};
use super::Config;
use super::agreed::Agreed;
use super::backlog::Backlog;
use super::delivery::Delivery;
use super::ecn::EcnSender;
use super::episode::Episode;
use super::governor::Governor;
use super::outage::Outage;
use super::pacer::Pacer;
use super::path_mtu::PathMtu;
use super::peer_window::PeerWindow;
use super::probes::Probes;
use super::probing::Probing;
use super::recovery::{self, Found, Scoreboard};
use super::retransmissions::Retransmissions;
use super::round_trips::RoundTrips;
use super::timers::Timers;
use crate::SenderState;

/// The sending side of a connection. Offsets count the sequence numbers since the initial one, which
/// the SYN has.
#[derive(Debug)]
pub(super) struct Sender {
    config: Arc<Config>,
    iss: Seq32,
    open: bool,
    agreed: Agreed,
    /// Payload of a full segment as it is now: what is agreed, or less where the path carries less.
    mss: u16,
    backlog: Backlog,
    board: Scoreboard,
    retransmissions: Retransmissions,
    governor: Governor,
    round_trips: RoundTrips,
    delivery: Delivery,
    pacer: Pacer,
    probes: Probes,
    probing: Probing,
    path_mtu: PathMtu,
    outage: Outage,
    peer: PeerWindow,
    timers: Timers,
    episode: Episode,
    ecn: EcnSender,
}

impl Sender {
    /// A sender that waits for [`Sender::open`].
    pub(super) fn new(config: Arc<Config>, iss: Seq32, now: Instant) -> Self {
        let agreed = Agreed { mss: config.mss, ..Agreed::default() };
        Self {
            iss,
            open: false,
            agreed,
            mss: agreed.mss,
            backlog: Backlog::default(),
            board: Scoreboard::new(1),
            retransmissions: Retransmissions::new(&config),
            governor: Governor::new(&config, &agreed),
            round_trips: RoundTrips::new(&config),
            delivery: Delivery::new(now),
            pacer: Pacer::new(config.max_burst),
            probes: Probes::default(),
            probing: Probing::new(),
            path_mtu: PathMtu::default(),
            outage: Outage::default(),
            peer: PeerWindow::closed(),
            timers: Timers::default(),
            episode: Episode::new(),
            ecn: EcnSender::default(),
            config,
        }
    }

    /// The connection is open: this is agreed, and the peer's SYN states `window`.
    pub(super) fn open(&mut self, now: Instant, agreed: Agreed, window: u64, irs: u64) {
        (self.agreed, self.mss) = (agreed, agreed.mss);
        self.governor.begin(&self.config, &agreed);
        let path = self.path_view(now);
        self.governor.follow_routers(&path);
        if self.config.mtu_search
            && let Some(mss) = self.path_mtu.begin(agreed.mss, self.headers())
        {
            self.mss = mss;
            self.governor.begin(&self.config, &Agreed { mss, ..agreed });
        }
        let free = !self.config.pacing && !self.pacer.limits_bursts();
        let asks = self.governor.repair().asks_before_repair;
        self.governor.set_plain(free && self.path_mtu.is_known() && !asks);
        self.retransmissions.agree(&self.config, agreed.reports, agreed.snacks.is_some());
        self.peer = PeerWindow::open(self.board.una(), window, irs);
        self.open = true;
        self.timers.forget_backoff();
        if agreed.syn_lost {
            self.round_trips.doubt_handshake(&self.config);
        }
        self.governor.follow(self.mss());
    }

    /// The SYN and its answer took so long.
    pub(super) fn sample_handshake(&mut self, measured: Span) {
        self.round_trips.sample_handshake(&self.config, measured);
    }

    /// [`Sender::open`] was called, and the connection is not gone.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }

    /// What both ends agreed on.
    #[inline]
    pub(super) const fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// The sequence number of an offset.
    #[inline]
    pub(super) const fn wire(&self, offset: u64) -> Seq32 {
        self.iss.plus(offset as u32)
    }

    /// The offset of a sequence number, relative to the oldest that is not acknowledged.
    #[inline]
    pub(super) fn offset(&self, seq: Seq32) -> i64 {
        let una = self.board.una();
        una as i64 + i64::from(seq.distance_from(self.wire(una)) as i32)
    }

    /// The first offset that is not acknowledged.
    #[inline]
    pub(super) const fn una(&self) -> u64 {
        self.board.una()
    }

    /// The offset of the next new segment.
    #[inline]
    pub(super) const fn next(&self) -> u64 {
        self.board.next()
    }

    /// An acknowledgement of something that was sent, and not so old that it cannot be the peer's (RFC 5961,
    /// section 5).
    pub(super) const fn is_credible(&self, acked: i64) -> bool {
        let oldest = self.board.una() as i64 - self.peer.largest() as i64;
        oldest <= acked && acked <= self.board.next() as i64
    }

    /// Payload of a full segment.
    #[inline]
    const fn mss(&self) -> u64 {
        self.mss as u64
    }

    /// Bytes of the send buffer that are taken. A FIN that is under way takes none.
    pub(super) fn kept(&self) -> u64 {
        let fin = u64::from(self.backlog.is_fin_sent());
        let sent = self.board.outstanding().saturating_sub(fin);
        let reported = if self.config.release_reported { self.board.sacked_bytes() } else { 0 };
        self.backlog.unsent() + sent.saturating_sub(reported)
    }

    /// Bytes of the send buffer that are free.
    fn space(&self) -> usize {
        self.config.snd_buf.get().saturating_sub(self.kept()) as usize
    }

    /// Takes from `data` what fits.
    pub(super) fn write(&mut self, data: &mut Bytes) -> usize {
        let space = self.space();
        self.backlog.write(data, space)
    }

    /// No more writes: the FIN leaves behind what is written.
    pub(super) const fn close(&mut self) {
        self.backlog.close();
    }

    /// No more is written.
    pub(super) const fn is_closing(&self) -> bool {
        self.backlog.is_closing()
    }

    /// The FIN left.
    pub(super) const fn is_fin_sent(&self) -> bool {
        self.backlog.is_fin_sent()
    }

    /// Bytes that were written and not sent yet.
    pub(super) const fn unsent(&self) -> u64 {
        self.backlog.unsent()
    }

    /// A waiting writer can go on; true once for each wait.
    pub(super) fn take_writable(&mut self) -> bool {
        let wake = self.can_writer_go_on();
        if wake {
            self.backlog.wake_writer();
        }
        wake
    }

    /// A writer waits, and there is room for it. It is not woken for less than a segment, nor for less than a
    /// quarter of the buffer while another quarter waits to be sent.
    #[inline(always)]
    pub(super) fn can_writer_go_on(&self) -> bool {
        self.backlog.has_writer() && {
            let room = self.config.snd_buf.get();
            let scarce = self.backlog.unsent() < room / 4;
            let enough = if scarce { self.mss().min(room / 2).max(1) } else { room / 4 };
            self.space() as u64 >= enough
        }
    }

    /// A full segment waits, and for nothing but acknowledgements.
    #[inline]
    pub(super) fn waits_for_window(&self) -> bool {
        let timed = self.is_paced() || self.probes.deadline().is_some();
        self.open && !timed && self.backlog.unsent() >= self.mss()
    }

    /// Nothing is under way and nothing waits.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.has_nothing_under_way() && !self.backlog.has_new()
    }

    /// Everything that was sent is acknowledged.
    #[inline]
    pub(super) fn has_nothing_under_way(&self) -> bool {
        self.board.outstanding() == 0
    }

    /// Everything, the FIN included, is acknowledged.
    pub(super) fn is_done(&self) -> bool {
        self.backlog.is_fin_sent() && self.has_nothing_under_way()
    }

    /// Nothing is under way or waits, and `ack` and `window` say nothing new.
    #[inline]
    pub(super) fn waits_for_nothing(&self, ack: Seq32, window: u16) -> bool {
        self.is_idle()
            && ack == self.wire(self.board.una())
            && self.peer.is_stated(u64::from(window) * self.agreed.window_unit)
    }

    /// The peer has no room and nothing is under way that could bring news of it.
    fn must_persist(&self) -> bool {
        self.open
            && self.board.outstanding() == 0
            && self.peer.is_closed_at(self.board.next())
            && self.backlog.has_new()
    }

    /// Bytes that count against the window.
    #[inline]
    fn in_flight(&self) -> u64 {
        self.retransmissions.in_flight(&self.board, self.mss())
    }

    /// The path as the controller sees it.
    #[inline(always)]
    fn path_view(&self, now: Instant) -> PathView {
        let rtt = self.round_trips.rtt();
        PathView {
            now,
            mss: ByteCount::new(self.mss()),
            in_flight: ByteCount::new(self.in_flight().min(self.board.outstanding())),
            peer_window: ByteCount::new(self.peer.room(self.board.una())),
            srtt: rtt.srtt(),
            latest_rtt: rtt.latest(),
            min_rtt: rtt.min(),
            return_delay: None,
            round: self.delivery.round(),
            delivered: ByteCount::new(self.delivery.bytes()),
            cwnd_limited: self.governor.was_limited(self.board.una()),
        }
    }

    /// The path as those see it who repair.
    #[inline(always)]
    fn repair_path(&self, now: Instant) -> recovery::Path {
        let rtt = self.round_trips.rtt();
        recovery::Path {
            now,
            srtt: rtt.srtt(),
            min_rtt: rtt.min(),
            mss: self.mss(),
            delivered: self.delivery.bytes(),
        }
    }

    /// A loss was found: the controller is told, or a cycle of probes begins that decides whether it is.
    fn answer_loss(&mut self, now: Instant, found: &Found, cause: LossCause) {
        if self.probing.is_on() {
            // What else is missing is retransmitted with the rest, after the cycle.
        } else if self.config.probing
            && self.agreed.reports
            && found.new_episode
            && !self.outage.is_on()
        {
            self.probing.begin(found, cause, self.round_trips.rtt().srtt());
            self.timers.set_rto(None);
        } else {
            self.tell_loss(now, found, cause);
        }
    }

    /// Tells the controller of a loss.
    fn tell_loss(&mut self, now: Instant, found: &Found, cause: LossCause) {
        let verdict = self.episode.judge(found, cause);
        let path = self.path_view(now);
        let loss = Loss {
            bytes: ByteCount::new(found.lost),
            cause,
            new_episode: verdict.new_episode,
            again: found.again,
            looks_corrupt: verdict.looks_corrupt,
        };
        let before = self.governor.cwnd();
        self.governor.on_loss(&path, &loss);
        if loss.new_episode && cause == LossCause::Gap {
            self.reduce_from(before);
        }
        if verdict.new_episode {
            self.episode.begin(now, self.board.una(), self.board.is_repairing());
            self.ecn.reduced();
        }
        if self.governor.repair().resend_outstanding
            && self.episode.resend_all(now, self.round_trips.rtt().srtt())
        {
            _ = self.board.lose_unreported();
        }
    }

    /// The controller answered a loss or a mark: what may be under way follows its window step by step.
    fn reduce_from(&mut self, before: u64) {
        self.timers.tail_probe_mut().forget();
        let target = self.governor.cwnd();
        let steps = self.config.proportional_reduction && !self.governor.repair().own_window;
        if steps && target < before {
            let mss = self.mss();
            self.retransmissions.reduce(before, target, &self.board, mss);
        }
    }

    /// Tells the controller of something else.
    fn signal(&mut self, now: Instant, signal: &Signal) {
        let path = self.path_view(now);
        self.governor.signal(&path, signal);
    }

    /// The window was reduced, which the next new data tell; true once.
    pub(super) fn take_cwr(&mut self) -> bool {
        self.ecn.take_cwr()
    }

    /// The smoothed round trip, once there was a sample.
    #[inline]
    pub(super) const fn measured_rtt(&self) -> Option<Span> {
        self.round_trips.rtt().measured()
    }

    /// The connection is gone: everything is forgotten.
    pub(super) fn drop_all(&mut self) {
        self.backlog.clear();
        self.board.clear();
        self.open = false;
        self.timers.stop();
        self.pacer.stop();
        self.probing.stop();
    }

    /// How often the window was reduced, and how often the timer ran out.
    pub(super) const fn reductions_and_timeouts(&self) -> (u64, u64) {
        (self.governor.reductions(), self.timers.timeouts())
    }

    /// The sender's state, for the record.
    pub(super) fn state(&self) -> SenderState {
        let snapshot = self.governor.snapshot();
        let activity = if self.must_persist() {
            "persisting"
        } else if self.is_idle() {
            "idle"
        } else {
            "transmitting"
        };
        SenderState {
            cwnd: snapshot.cwnd,
            ssthresh: snapshot.ssthresh,
            srtt: self.measured_rtt(),
            in_flight: ByteCount::new(self.board.outstanding()),
            phase: snapshot.phase,
            activity,
            limit: self.limit(),
        }
    }

    /// What holds back the next data.
    fn limit(&self) -> Option<SendLimit> {
        let unsent = self.backlog.unsent();
        if !self.open || unsent == 0 && self.backlog.is_closing() {
            return None;
        }
        Some(if unsent == 0 {
            if self.backlog.has_writer() { SendLimit::SndBuf } else { SendLimit::Application }
        } else if self.peer.room(self.board.next()) < self.mss().min(unsent) {
            SendLimit::RcvBuf
        } else if self.pacer.deadline().is_some() {
            SendLimit::Pacing
        } else {
            SendLimit::Cwnd
        })
    }
}
