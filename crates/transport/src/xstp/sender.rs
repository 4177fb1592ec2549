//! The sending side: what may go, when it goes, and in which segment.
//!
//! Reports of the peer are handled in [`super::reports`].

use std::collections::VecDeque;
use std::sync::Arc;

use bentpipe_cc::{Controller, PathView, Sent, Signal};
use bentpipe_units::{ByteCount, Instant, Seq32, Span};
use bytes::Bytes;

use super::Config;
use super::poll_clock::PollClock;
use super::probing::{Probing, Trigger};
use super::send_buffer::SendBuffer;
use super::send_cache::SendCache;
use super::send_timer::{Allowance, SendTimer};
use crate::rtt::RttEstimator;

/// Header of a plain data segment in bytes, for a controller that paces by rate.
const DATA_HEADER: u64 = 16;

/// What the sender is doing (paper, section 3). Probing supersedes all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// Data is outstanding or waits with room at the receiver.
    Transmitting,
    /// Data waits and the receiver has no room.
    Persisting,
    /// Neither. Only now can the session close.
    Idle,
}

/// Something to send, to be wrapped into a segment.
#[derive(Debug, PartialEq)]
pub(super) struct Outgoing {
    /// Number of the data segment, or VT(S) for a POLL alone.
    pub(super) seq: Seq32,
    /// Its bytes; empty for a POLL alone.
    pub(super) payload: Bytes,
    /// Timestamp of the POLL that goes with it.
    pub(super) poll: Option<u32>,
    /// It was sent before.
    pub(super) retransmission: bool,
}

/// The sending side of a session.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) config: Arc<Config>,
    pub(super) mss: u16,
    pub(super) buffer: SendBuffer,
    pub(super) cache: SendCache,
    pub(super) rtt: RttEstimator,
    pub(super) polls: PollClock,
    pub(super) probing: Probing,
    pub(super) controller: Box<dyn Controller>,
    /// W without the peer's part, in segments; follows the controller's limits.
    pub(super) cwnd: u32,
    /// First number that the peer does not allow.
    pub(super) credit_edge: Seq32,
    /// VT(S) at the last reduction: losses before it belong to that reduction.
    pub(super) recover: Seq32,
    /// When new data was last sent, or a probing cycle ended.
    pub(super) last_new_data: Option<Instant>,
    pub(super) reductions: u64,
    pub(super) round: Round,
    /// Numbers picked from a report, kept for its memory only.
    pub(super) picked: Vec<Seq32>,
    activity: Activity,
    open: bool,
    flushing: bool,
    timer: SendTimer,
    repairs: VecDeque<Seq32>,
    repairs_left: u32,
    repairs_resume: Option<Instant>,
    burst_left: u32,
    poll_with_burst: bool,
    poll_alone: bool,
    since_poll: u64,
    /// A POLL is forced after so many bytes.
    forced_poll: u64,
    follows_sending: bool,
    persist_wait: Span,
    writer_waits: bool,
    /// Something changed since activity and timers were last set.
    stale: bool,
}

/// Round trips counted by acknowledgements: one ends when something sent after its start is
/// acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) number: u64,
    pub(super) ends_after: Seq32,
    pub(super) delivered: u64,
}

impl Sender {
    /// A sender whose first segment will be `first`. It sends nothing before [`Sender::open`].
    pub(super) fn new(config: Arc<Config>, first: Seq32) -> Self {
        let mss = config.mss;
        let controller = build_controller(&config, mss);
        let mut sender = Self {
            mss,
            buffer: SendBuffer::default(),
            cache: SendCache::new(first),
            rtt: RttEstimator::new(config.rtt_init, config.rto_min),
            polls: PollClock::new(),
            probing: Probing::new(),
            follows_sending: controller.follows_sending(),
            controller,
            cwnd: 1,
            credit_edge: first,
            recover: first,
            last_new_data: None,
            reductions: 0,
            round: Round { number: 0, ends_after: first, delivered: 0 },
            picked: Vec::new(),
            activity: Activity::Idle,
            open: false,
            flushing: false,
            timer: SendTimer::default(),
            repairs: VecDeque::new(),
            repairs_left: config.max_burst,
            repairs_resume: None,
            burst_left: 0,
            poll_with_burst: false,
            poll_alone: false,
            since_poll: 0,
            forced_poll: (config.poll_buf_ratio * config.snd_buf.get() as f64).ceil() as u64,
            persist_wait: Span::ZERO,
            writer_waits: false,
            stale: false,
            config,
        };
        sender.follow_controller();
        sender
    }

    /// The session is established: `mss` is agreed and the peer allows `window` segments.
    pub(super) fn open(&mut self, now: Instant, mss: u16, window: u16) {
        if mss != self.mss {
            self.mss = mss;
            self.controller = build_controller(&self.config, mss);
            self.follow_controller();
        }
        self.credit_edge = self.cache.oldest().plus(u32::from(window));
        self.open = true;
        self.polls.restart_epoch(now);
        self.stale = true;
    }

    /// Bytes of the send buffer that are free.
    pub(super) fn space(&self) -> usize {
        let used = self.buffer.len() + self.cache.bytes();
        (self.config.snd_buf.get() as usize).saturating_sub(used)
    }

    /// Takes from `data` what fits.
    pub(super) fn write(&mut self, data: &mut Bytes) -> usize {
        let space = self.space();
        let accepted = data.len().min(space);
        self.stale = true;
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
        let wake = self.writer_waits && self.space() > 0;
        if wake {
            self.writer_waits = false;
        }
        wake
    }

    /// No more writes will come: nothing waits for company any more.
    pub(super) fn flush(&mut self) {
        self.flushing = true;
        self.stale = true;
    }

    /// Nothing is unsent, unacknowledged or being probed.
    pub(super) fn is_idle(&self) -> bool {
        self.buffer.len() == 0 && self.cache.len() == 0 && !self.probing.is_active()
    }

    /// What the sender is doing.
    pub(super) const fn activity(&self) -> Activity {
        self.activity
    }

    /// A POLL although nothing is outstanding: the keep-alive.
    pub(super) fn poll_now(&mut self) {
        self.poll_alone = true;
    }

    /// W in segments.
    pub(super) fn window(&self) -> u32 {
        self.cwnd.min(self.credit())
    }

    /// Segments that the peer allows from VT(A) on.
    fn credit(&self) -> u32 {
        let oldest = self.cache.oldest();
        if self.credit_edge.is_before(oldest) { 0 } else { self.credit_edge.distance_from(oldest) }
    }

    /// Segments that could be cut from the send buffer now (Nagle: a short one only if no other
    /// short one is unacknowledged).
    fn available(&self) -> u32 {
        let mss = usize::from(self.mss);
        let unsent = self.buffer.len();
        let (full, rest) = (unsent / mss, unsent % mss);
        let short =
            rest > 0 && (self.flushing || !self.config.nagle || !self.cache.has_short_segment(mss));
        full as u32 + u32::from(short)
    }

    /// A: new segments that may go now.
    fn allowed(&self) -> u32 {
        let room = self.window().saturating_sub(self.cache.len());
        if room == 0 { 0 } else { room.min(self.available()) }
    }

    /// Something changed: activity and timers are set anew before the sender is left alone again.
    pub(super) fn touch(&mut self) {
        self.stale = true;
    }

    /// Sets activity and timers to what is true now. Every change ends here, once, however many
    /// writes and segments it consisted of.
    fn update(&mut self, now: Instant) {
        self.stale = false;
        let waiting = self.buffer.len() > 0;
        let activity = if !self.open {
            Activity::Idle
        } else if self.cache.len() > 0 || waiting && self.credit() > 0 {
            Activity::Transmitting
        } else if waiting {
            Activity::Persisting
        } else {
            Activity::Idle
        };
        if activity != self.activity {
            self.activity = activity;
            self.enter(now);
        }
        if activity == Activity::Transmitting && !self.probing.is_active() {
            self.set_timer(now);
        } else {
            self.timer.stop();
        }
    }

    fn enter(&mut self, now: Instant) {
        match self.activity {
            Activity::Idle => {
                self.polls.set_due(None);
                self.polls.reset_backoff(now);
            }
            Activity::Persisting => {
                self.persist_wait = self.rtt.srtt().max(self.config.persist_min);
                self.polls.set_due(Some(now));
            }
            // P5: normal polling starts here.
            Activity::Transmitting => {
                self.polls.reset_backoff(now);
                self.polls.restart_epoch(now);
                let first = if self.config.poll_first_burst { Span::ZERO } else { self.interval() };
                self.polls.set_due(Some(now + first));
            }
        }
    }

    fn set_timer(&mut self, now: Instant) {
        let may = Allowance {
            window: self.window(),
            allowed: self.allowed(),
            srtt: self.rtt.srtt(),
            pacing: self.controller.limits().pacing,
            segment: ByteCount::new(u64::from(self.mss) + DATA_HEADER),
        };
        self.timer.set(now, &self.config, may);
    }

    /// Time between POLLs.
    pub(super) fn interval(&self) -> Span {
        let srtt = self.rtt.srtt();
        if self.probing.is_active() {
            return srtt; // P12
        }
        // Rounded up: a STAT that is due together with a POLL must come first, or every break in the
        // rhythm of nanoseconds would look like a loss.
        srtt.mul_div_ceil(u64::from(self.polls.backoff()), u64::from(self.config.poll_rate))
    }

    /// Lets the time pass: bursts, POLLs, paced repairs.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.repairs_resume.is_some_and(|at| at <= now) {
            self.repairs_resume = None;
            self.repairs_left = self.config.max_burst;
        }
        if self.timer.due(now).is_some() {
            self.tick(now);
        }
        if self.poll_may_go() && self.polls.due().is_some_and(|due| due <= now) {
            if self.interleaf_broken() {
                self.start_probing(now, self.rtt.srtt(), Trigger::EarlyTimeout);
            } else {
                self.poll_alone = true;
            }
        }
    }

    /// A POLL with nothing outstanding would ask for nothing; it waits for the first burst.
    fn poll_may_go(&self) -> bool {
        self.cache.len() > 0 || self.activity == Activity::Persisting
    }

    /// P3: the POLL that is due finds no STAT since the previous one. P31: only with data outstanding.
    fn interleaf_broken(&self) -> bool {
        let probe = &self.config.probe;
        self.config.probing
            && probe.early_timeout
            && !self.probing.is_active()
            && self.cache.len() > 0
            && self.polls.interleaf_is_broken(self.interval().mul_f64(probe.early_slack))
    }

    /// A burst of new data is due.
    fn tick(&mut self, now: Instant) {
        let idle = self.last_new_data.is_some_and(|at| now.since(at) > self.config.idle_threshold);
        if idle {
            let path = self.path_view(now);
            self.controller.on_signal(&path, &Signal::Idle);
            self.follow_controller();
            self.set_timer(now);
        }
        let Some(burst) = self.timer.due(now) else { return };
        let about_now = now + self.timer.interval() / 2;
        let due = self.polls.due();
        let mut with_poll = due.is_some_and(|due| due <= about_now);
        if with_poll && self.interleaf_broken() {
            if due.is_some_and(|due| due <= now) {
                self.start_probing(now, self.rtt.srtt(), Trigger::EarlyTimeout);
                return;
            }
            // P3: only a POLL that is due tells. Until then the STAT may come in time, and a POLL
            // that joined the burst ahead of it would break the interleaf by itself.
            with_poll = false;
        }
        self.timer.ticked(now);
        self.burst_left = burst;
        self.poll_with_burst = with_poll;
    }

    /// P10: new data stop, one POLL per round trip from now on, no backoff.
    pub(super) fn start_probing(&mut self, now: Instant, rtt_loss: Span, trigger: Trigger) {
        self.probing.start(now, rtt_loss, trigger);
        self.polls.reset_backoff(now);
        self.burst_left = 0;
        self.poll_with_burst = false;
        self.poll_alone = true;
        while let Some(seq) = self.repairs.pop_front() {
            if let Some(entry) = self.cache.get_mut(seq) {
                entry.queued = false;
            }
        }
        self.timer.stop();
        self.touch();
    }

    /// Queues a segment to be sent again.
    pub(super) fn repair(&mut self, seq: Seq32) {
        if let Some(entry) = self.cache.get_mut(seq)
            && !entry.queued
        {
            entry.queued = true;
            self.repairs.push_back(seq);
        }
    }

    /// Whether [`Sender::poll_transmit`] has anything to do.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.stale || self.burst_left > 0 || self.poll_alone || !self.repairs.is_empty()
    }

    /// The next thing to send: repairs, then new data, then a POLL alone.
    #[inline]
    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some(repair) = self.next_repair(now) {
            return Some(repair);
        }
        if self.burst_left > 0
            && let Some(data) = self.next_new(now)
        {
            self.stale = true;
            return Some(data);
        }
        if self.stale {
            self.update(now);
        }
        if !std::mem::take(&mut self.poll_alone) {
            return None;
        }
        let poll = Some(self.stamp_poll(now));
        let seq = self.cache.next();
        Some(Outgoing { seq, payload: Bytes::new(), poll, retransmission: false })
    }

    #[inline]
    fn next_repair(&mut self, now: Instant) -> Option<Outgoing> {
        if self.repairs.is_empty() || self.repairs_resume.is_some() {
            return None;
        }
        while let Some(seq) = self.repairs.pop_front() {
            // Acknowledged since it was queued.
            let Some(entry) = self.cache.get_mut(seq) else { continue };
            entry.queued = false;
            entry.retransmissions += 1;
            entry.last_sent = now;
            let payload = entry.payload.clone();
            if self.config.rtx_paced {
                self.repairs_left -= 1;
                if self.repairs_left == 0 {
                    self.repairs_resume = Some(now + self.config.timer_tick);
                }
            }
            self.tell_sent(now, payload.len(), true);
            return Some(Outgoing { seq, payload, poll: None, retransmission: true });
        }
        None
    }

    #[inline]
    fn next_new(&mut self, now: Instant) -> Option<Outgoing> {
        self.burst_left -= 1;
        let payload = self.buffer.take(usize::from(self.mss));
        if payload.is_empty() {
            self.burst_left = 0;
            return None;
        }
        let seq = self.cache.next();
        self.cache.push(payload.clone(), now);
        self.last_new_data = Some(now);
        self.since_poll += payload.len() as u64;
        self.tell_sent(now, payload.len(), false);
        let last_with_poll = self.poll_with_burst && self.burst_left == 0;
        let forced = self.since_poll >= self.forced_poll;
        let poll = (last_with_poll || forced).then(|| {
            self.poll_with_burst = false;
            self.stamp_poll(now)
        });
        Some(Outgoing { seq, payload, poll, retransmission: false })
    }

    fn tell_sent(&mut self, now: Instant, bytes: usize, retransmission: bool) {
        if !self.follows_sending {
            return;
        }
        let path = self.path_view(now);
        let bytes = ByteCount::new(bytes as u64);
        self.controller.on_sent(&path, &Sent { bytes, retransmission });
    }

    /// A POLL leaves: stamps it and schedules the next one.
    fn stamp_poll(&mut self, now: Instant) -> u32 {
        let ts = self.polls.stamp(now);
        self.since_poll = 0;
        self.poll_alone = false;
        match self.activity {
            _ if self.probing.is_active() => {
                self.probing.probe_sent(ts, &self.config.probe);
                self.polls.set_due(Some(now + self.interval()));
            }
            Activity::Transmitting => {
                self.polls.back_off(now, self.rtt.rto(), self.config.backoff_max);
                self.polls.set_due(Some(now + self.interval()));
            }
            Activity::Persisting => {
                self.polls.set_due(Some(now + self.persist_wait));
                self.persist_wait = (self.persist_wait * 2).min(self.config.persist_max);
            }
            Activity::Idle => {}
        }
        ts
    }

    /// When [`Sender::handle_timeout`] must be called.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.activity == Activity::Idle {
            return None;
        }
        let poll = if self.poll_may_go() { self.polls.due() } else { None };
        let repairs = if self.repairs.is_empty() { None } else { self.repairs_resume };
        Instant::earliest(self.timer.deadline(), Instant::earliest(poll, repairs))
    }

    /// Takes over the controller's window.
    pub(super) fn follow_controller(&mut self) {
        let window = self.controller.limits().window.map_or(u64::MAX, ByteCount::get);
        let segments = window / u64::from(self.mss);
        self.cwnd = segments.clamp(1, self.config.cwnd_max(self.mss)) as u32;
    }

    /// The path as the controller sees it.
    pub(super) fn path_view(&self, now: Instant) -> PathView {
        let mss = u64::from(self.mss);
        PathView {
            now,
            mss: ByteCount::new(mss),
            in_flight: ByteCount::new(self.cache.bytes() as u64),
            peer_window: ByteCount::new(u64::from(self.credit()) * mss),
            srtt: self.rtt.srtt(),
            latest_rtt: self.rtt.latest(),
            min_rtt: self.rtt.min(),
            round: self.round.number,
            delivered: ByteCount::new(self.round.delivered),
            cwnd_limited: self.buffer.len() > 0 && self.cwnd <= self.credit(),
        }
    }

    /// The sender's activity, for the record.
    pub(super) const fn activity_name(&self) -> &'static str {
        match self.activity {
            _ if self.probing.is_active() => "probing",
            Activity::Transmitting => "transmitting",
            Activity::Persisting => "persisting",
            Activity::Idle => "idle",
        }
    }

    /// The session is gone: forces the sender to be idle and frees everything.
    pub(super) fn drop_all(&mut self, now: Instant) {
        self.buffer.clear();
        self.cache.clear();
        self.repairs = VecDeque::new();
        self.repairs_resume = None;
        self.burst_left = 0;
        self.poll_alone = false;
        self.writer_waits = false;
        self.probing.forget();
        self.open = false;
        self.update(now);
    }
}

fn build_controller(config: &Config, mss: u16) -> Box<dyn Controller> {
    let segments = |n: u64| ByteCount::new(n * u64::from(mss));
    config.controller.build(
        segments(1),
        segments(u64::from(config.cwnd_init)),
        segments(u64::from(config.cwnd_min)),
        segments(config.cwnd_max(mss)),
    )
}
