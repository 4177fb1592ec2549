//! The sending side: its state and what the controller is told of it.
//!
//! Acknowledgements are in [`super::acks`], what leaves in [`super::transmit`], timers in
//! [`super::timers`].

use std::sync::Arc;

use bentpipe_cc::{Controller, Limits, Loss, LossCause, PathView, Signal};
use bentpipe_units::{ByteCount, Instant, Seq32, Span};
use bytes::Bytes;

use super::Config;
use super::delivery::Delivery;
use super::outage::Outage;
use super::pacer::Pacer;
use super::path_mtu::PathSearch;
use super::probe_cycle::Cycle;
use super::probes::Probes;
use super::recovery::{AnyRecovery, Found, Mode, Options, Recovery, Scoreboard};
use super::timing::Timing;
use crate::local_queue::QueueMeter;
use crate::rtt::RttEstimator;
use crate::send_buffer::SendBuffer;

/// What both ends agreed on while the connection opened, as far as it concerns sending.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreed {
    /// Payload of a full segment, options of every segment deducted.
    pub(super) mss: u16,
    /// Other bytes of a packet with a full segment: the headers of IPv4 and TCP and these options.
    pub(super) headers: u16,
    /// Bytes that the peer's windows count by: a power of two, or a segment.
    pub(super) window_unit: u64,
    /// The peer reports selectively.
    pub(super) reports: bool,
    /// Both ends ask by SNACKs, with lengths in segments of so many bytes.
    pub(super) snacks: Option<u64>,
    /// A SYN or its answer was lost: the window starts from one segment (RFC 5681, section 3.1).
    pub(super) syn_lost: bool,
}

/// The sending side of a connection. Offsets count the sequence numbers since the initial one, which
/// the SYN has.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) config: Arc<Config>,
    pub(super) iss: Seq32,
    pub(super) agreed: Agreed,
    pub(super) buffer: SendBuffer,
    pub(super) board: Scoreboard,
    pub(super) recovery: AnyRecovery,
    pub(super) controller: Box<dyn Controller>,
    pub(super) mode: Mode,
    pub(super) rtt: RttEstimator,
    pub(super) delivery: Delivery,
    pub(super) pacer: Pacer,
    pub(super) probes: Probes,
    /// TCP-Probing: a loss that is not answered yet.
    pub(super) cycle: Option<Cycle>,
    /// The peer reports probes of a cycle as what came twice, as far as is known.
    pub(super) reports_probes: bool,
    /// The acknowledgement that is being handled did.
    pub(super) probe_answered: bool,
    /// How long packets may be, where that is less than the ends agreed on or not known.
    pub(super) path_search: Option<Box<PathSearch>>,
    /// What the link-layer told of outages.
    pub(super) outage: Outage,
    pub(super) open: bool,
    /// First offset that the peer does not allow, the window it stated last, and its largest one.
    pub(super) edge: u64,
    pub(super) peer_window: u64,
    pub(super) largest_window: u64,
    /// Sequence and acknowledgement number of the segment that stated it (SND.WL1, SND.WL2).
    pub(super) window_from: (u64, u64),
    /// What the controller allows, and its window in bytes.
    pub(super) limits: Limits,
    pub(super) cwnd: u64,
    /// The window that counts instead, once one was given from outside.
    pub(super) override_cwnd: Option<u64>,
    pub(super) follows_sending: bool,
    /// Nothing but windows and a pace ever holds back new data: no limit of bursts, no controller that follows
    /// what is sent, no requests to routers.
    pub(super) plainly: bool,
    /// The controller wants to be told of the queue of this host, which is this full.
    pub(super) follows_queue: bool,
    pub(super) queue_meter: QueueMeter,
    /// Segments of data ask routers for a rate.
    pub(super) explicit: bool,
    /// The window was the limit for everything before this offset.
    pub(super) limited_before: u64,
    /// Repairs that leave whatever the window says.
    pub(super) forced: u32,
    /// Copies of the oldest segment that are still to leave after a timeout.
    pub(super) copies: u32,
    pub(super) burst_left: u32,
    pub(super) rto_at: Option<Instant>,
    pub(super) persist_at: Option<Instant>,
    pub(super) pace_at: Option<Instant>,
    /// One byte may leave beyond the peer's window.
    pub(super) probe_window: bool,
    pub(super) backoff: u32,
    pub(super) timeouts: u64,
    pub(super) timeouts_in_row: u32,
    pub(super) timing: Timing,
    pub(super) last_sent: Option<Instant>,
    pub(super) reductions: u64,
    /// The clock of the timestamps when the first repair of the episode left (RFC 3522).
    pub(super) first_repair: Option<u32>,
    /// The acknowledgement that is being handled says that a link, not a queue, lost what it asks for.
    pub(super) excused: bool,
    /// The losses of the episode so far were excused: the controller has not answered it.
    pub(super) forgiven: bool,
    /// The episode is one that a mistaken loss began, if there was one.
    pub(super) may_undo: bool,
    /// Acknowledgements since a repair left, while the controller wants fine timers.
    pub(super) acks_since_repair: u32,
    pub(super) duplicates: u32,
    pub(super) last_reduction: Option<Instant>,
    /// Copies reported by the acknowledgement that is being handled.
    pub(super) probe_reports: u64,
    pub(super) resent_all_at: Option<Instant>,
    /// Bytes that duplicates reported before the cumulative acknowledgement could (without SACK).
    pub(super) counted: u64,
    /// Congestion marks: reduced for everything before this offset; CWR is to be sent.
    pub(super) marked_before: u64,
    pub(super) cwr: bool,
    pub(super) closing: bool,
    pub(super) fin_sent: bool,
    writer_waits: bool,
}

impl Sender {
    /// A sender that waits for [`Sender::open`].
    pub(super) fn new(config: Arc<Config>, iss: Seq32, now: Instant) -> Self {
        let agreed = Agreed { mss: config.mss, ..Agreed::default() };
        let controller = build_controller(&config, &agreed);
        Self {
            iss,
            agreed,
            buffer: SendBuffer::default(),
            board: Scoreboard::new(1),
            recovery: config.recovery.build(options(&config)),
            mode: config.recovery,
            follows_sending: controller.follows_sending(),
            follows_queue: controller.follows_queue(),
            queue_meter: QueueMeter::default(),
            explicit: false,
            plainly: false,
            controller,
            rtt: RttEstimator::new(config.rto_initial, config.rto_min),
            delivery: Delivery::new(now),
            pacer: Pacer::default(),
            probes: Probes::default(),
            cycle: None,
            reports_probes: true,
            probe_answered: false,
            path_search: None,
            outage: Outage::default(),
            open: false,
            edge: 1,
            peer_window: 0,
            largest_window: 0,
            window_from: (0, 0),
            limits: Limits::default(),
            cwnd: 0,
            override_cwnd: None,
            limited_before: 0,
            forced: 0,
            copies: 0,
            burst_left: config.max_burst,
            rto_at: None,
            persist_at: None,
            pace_at: None,
            probe_window: false,
            backoff: 0,
            timeouts: 0,
            timeouts_in_row: 0,
            timing: Timing::new(config.sample_every_ack || config.sample_duplicates),
            last_sent: None,
            reductions: 0,
            first_repair: None,
            excused: false,
            forgiven: false,
            may_undo: false,
            acks_since_repair: u32::MAX,
            duplicates: 0,
            last_reduction: None,
            probe_reports: 0,
            resent_all_at: None,
            counted: 0,
            marked_before: 0,
            cwr: false,
            closing: false,
            fin_sent: false,
            writer_waits: false,
            config,
        }
    }

    /// The connection is open: this is agreed, and the peer's SYN states `window`.
    pub(super) fn open(&mut self, now: Instant, agreed: Agreed, window: u64, irs: u64) {
        self.agreed = agreed;
        self.controller = build_controller(&self.config, &agreed);
        self.follows_sending = self.controller.follows_sending();
        self.follows_queue = self.controller.follows_queue();
        self.explicit = self.asks(now);
        if self.config.mtu_search && self.begin_search() {
            self.controller = build_controller(&self.config, &self.agreed);
        }
        self.plainly = !self.follows_sending
            && !self.explicit
            && self.config.max_burst == 0
            && self.path_search.is_none();
        self.mode = self.config.recovery.with_peer(agreed.reports, agreed.snacks.is_some());
        self.recovery = self.mode.build(options(&self.config));
        (self.peer_window, self.largest_window) = (window, window);
        self.edge = self.board.una() + window;
        self.window_from = (irs, self.board.una());
        self.open = true;
        self.backoff = 0;
        if agreed.syn_lost && self.rtt.measured().is_none() {
            // RFC 6298, rule 5.7.
            let initial = self.config.rto_initial.max(Span::from_secs(3));
            self.rtt = RttEstimator::new(initial.min(self.config.rto_max), self.config.rto_min);
        }
        self.follow_controller();
    }

    /// The sequence number of an offset.
    pub(super) const fn wire(&self, offset: u64) -> Seq32 {
        self.iss.plus(offset as u32)
    }

    /// The offset of a sequence number, relative to the oldest that is not acknowledged.
    pub(super) fn offset(&self, seq: Seq32) -> i64 {
        let una = self.board.una();
        una as i64 + i64::from(seq.distance_from(self.wire(una)) as i32)
    }

    /// Bytes of the send buffer that are taken. A FIN that is under way takes none.
    pub(super) fn kept(&self) -> u64 {
        let sent = self.board.outstanding().saturating_sub(u64::from(self.fin_sent));
        let reported = if self.config.release_reported { self.board.sacked_bytes() } else { 0 };
        self.buffer.len() as u64 + sent.saturating_sub(reported)
    }

    /// Bytes of the send buffer that are free.
    fn space(&self) -> usize {
        self.config.snd_buf.get().saturating_sub(self.kept()) as usize
    }

    /// Takes from `data` what fits.
    pub(super) fn write(&mut self, data: &mut Bytes) -> usize {
        let accepted = data.len().min(self.space());
        if accepted == data.len() {
            self.buffer.push(std::mem::take(data));
        } else {
            self.buffer.push(data.split_to(accepted));
            self.writer_waits = true;
        }
        accepted
    }

    /// A waiting writer can go on; true once for each wait.
    pub(super) fn take_writable(&mut self) -> bool {
        let wake = self.can_writer_go_on();
        self.writer_waits &= !wake;
        wake
    }

    /// A writer waits, and there is room for it. It is not woken for less than a segment, nor for less than a
    /// quarter of the buffer while another quarter waits to be sent.
    #[inline(always)]
    pub(super) fn can_writer_go_on(&self) -> bool {
        self.writer_waits && {
            let room = self.config.snd_buf.get();
            let scarce = (self.buffer.len() as u64) < room / 4;
            let enough = if scarce { self.mss().min(room / 2).max(1) } else { room / 4 };
            self.space() as u64 >= enough
        }
    }

    /// Something waits to be sent for the first time.
    pub(super) fn has_new(&self) -> bool {
        self.buffer.len() > 0 || self.closing && !self.fin_sent
    }

    /// A full segment waits, and for nothing but acknowledgements.
    #[inline]
    pub(super) fn waits_for_window(&self) -> bool {
        let timed = self.limits.pacing.is_some() || self.probes.deadline().is_some();
        self.open && !timed && self.buffer.len() as u64 >= self.mss()
    }

    /// Nothing is under way and nothing waits.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.board.outstanding() == 0 && !self.has_new()
    }

    /// Everything, the FIN included, is acknowledged.
    pub(super) fn is_done(&self) -> bool {
        self.fin_sent && self.board.outstanding() == 0
    }

    /// Payload of a full segment.
    pub(super) const fn mss(&self) -> u64 {
        self.agreed.mss as u64
    }

    /// Nothing is under way or waits, and `ack` and `window` say nothing new.
    #[inline]
    pub(super) fn waits_for_nothing(&self, ack: Seq32, window: u16) -> bool {
        self.is_idle()
            && ack == self.wire(self.board.una())
            && u64::from(window) * self.agreed.window_unit == self.peer_window
    }

    /// The peer has no room and nothing is under way that could bring news of it.
    pub(super) fn must_persist(&self) -> bool {
        self.open
            && self.board.outstanding() == 0
            && self.edge <= self.board.next()
            && self.has_new()
    }

    /// Takes over the controller's window.
    #[inline(always)]
    pub(super) fn follow_controller(&mut self) {
        // Field by field: they were written just now, one by one, and reading them together would wait for that.
        let Limits { window, pacing, burst, groups } = self.controller.limits();
        (self.limits.window, self.limits.pacing) = (window, pacing);
        (self.limits.burst, self.limits.groups) = (burst, groups);
        let controller = || self.limits.window.map_or(u64::MAX, ByteCount::get);
        let window = self.override_cwnd.unwrap_or_else(controller);
        self.cwnd = window.min(self.config.cwnd_most()).max(self.mss());
    }

    /// Bytes that count against the window.
    #[inline]
    pub(super) fn in_flight(&self) -> u64 {
        self.recovery.in_flight(&self.board, self.mss())
    }

    /// The path as the controller sees it.
    #[inline(always)]
    pub(super) fn path_view(&self, now: Instant) -> PathView {
        PathView {
            now,
            mss: ByteCount::new(self.mss()),
            in_flight: ByteCount::new(self.in_flight().min(self.board.outstanding())),
            peer_window: ByteCount::new(self.edge.saturating_sub(self.board.una())),
            srtt: self.rtt.srtt(),
            latest_rtt: self.rtt.latest(),
            min_rtt: self.rtt.min(),
            round: self.delivery.round(),
            delivered: ByteCount::new(self.delivery.bytes()),
            cwnd_limited: self.board.una() <= self.limited_before,
        }
    }

    /// Tells the controller of a loss. One that is excused is no congestion: it begins no episode; the
    /// first one after it that is not excused does.
    pub(super) fn tell_loss(&mut self, now: Instant, found: &Found, cause: LossCause) {
        let looks_corrupt = self.excused && cause != LossCause::Timeout;
        let first = found.new_episode || self.forgiven;
        let new_episode = first && !looks_corrupt;
        self.forgiven = first && looks_corrupt;
        let path = self.path_view(now);
        let loss = Loss {
            bytes: ByteCount::new(found.lost),
            cause,
            new_episode,
            again: found.again,
            looks_corrupt,
        };
        self.controller.on_loss(&path, &loss);
        let before = self.cwnd;
        self.follow_controller();
        self.reductions += u64::from(self.cwnd < before && new_episode);
        if new_episode {
            (self.first_repair, self.may_undo) = (None, true);
            (self.last_reduction, self.cwr) = (Some(now), true);
        }
        let repair = self.controller.repair();
        let rested = self.resent_all_at.is_none_or(|at| now.since(at) >= self.rtt.srtt());
        if repair.resend_outstanding && rested {
            self.resent_all_at = Some(now);
            _ = self.board.lose_unreported();
        }
    }

    /// Tells the controller of something else.
    pub(super) fn signal(&mut self, now: Instant, signal: &Signal) {
        let path = self.path_view(now);
        self.controller.on_signal(&path, signal);
        let before = self.cwnd;
        self.follow_controller();
        self.reductions += u64::from(*signal == Signal::EcnCe && self.cwnd < before);
    }

    /// The payload of a full segment changed.
    pub(super) fn change_mss(&mut self, now: Instant, mss: u16) {
        if mss == self.agreed.mss {
            return;
        }
        self.agreed.mss = mss;
        self.lose_too_long();
        self.signal(now, &Signal::MtuChanged { mss: ByteCount::new(u64::from(mss)) });
    }

    /// The connection is gone: everything is forgotten.
    pub(super) fn drop_all(&mut self) {
        self.buffer.clear();
        self.board.clear();
        self.open = false;
        self.writer_waits = false;
        (self.rto_at, self.persist_at, self.pace_at, self.cycle) = (None, None, None, None);
    }

    /// The sender's activity, for the record.
    pub(super) fn activity_name(&self) -> &'static str {
        if self.must_persist() {
            "persisting"
        } else if self.board.outstanding() > 0 || self.has_new() {
            "transmitting"
        } else {
            "idle"
        }
    }
}

fn options(config: &Config) -> Options {
    Options {
        threshold: config.dup_threshold,
        limited_transmit: config.limited_transmit,
        aero_burst: config.aero_burst,
        aero_adaptive: config.aero_adaptive,
    }
}

fn build_controller(config: &Config, agreed: &Agreed) -> Box<dyn Controller> {
    let mss = u64::from(agreed.mss);
    let first = if agreed.syn_lost { mss } else { config.initial_window.bytes(mss) };
    let least = u64::from(config.cwnd_min) * mss;
    let [first, least, most] = [first, least, config.cwnd_most()].map(ByteCount::new);
    config.controller.build(ByteCount::new(mss), first, least, most)
}
