//! The sending side: what may go, when it goes, and in which segment.
//!
//! What time brings is in [`super::timers`], what leaves in [`super::emission`], reports of the peer in
//! [`super::reports`].

use std::collections::VecDeque;
use std::sync::Arc;

use bentpipe_cc::{Controller, DedicatedLink, PathView, Signal};
use bentpipe_units::{BitRate, ByteCount, Instant, Seq32, Span};
use bytes::Bytes;

use super::Config;
use super::delivery::Delivery;
use super::payload_size::PayloadSize;
use super::poll_clock::PollClock;
use super::probing::Probing;
use super::queue_watch::QueueWatch;
use super::send_cache::SendCache;
use super::send_timer::{Allowance, SendTimer};
use super::shared_path::{SharedPath, SharedWatch};
use crate::rtt::RttEstimator;
use crate::send_buffer::SendBuffer;

/// Time between POLLs at least, or a peer that answers before it is asked would have them without end.
const LEAST_INTERVAL: Span = Span::from_micros(100);

/// Numbers that USTATs may name at once. Who names the same ones again and again has no more of them looked at.
const USTAT_ROOM: u32 = 1 << 16;

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

/// The sending side of a session.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) config: Arc<Config>,
    /// The longest payload, agreed with the peer.
    mss: u16,
    pub(super) payload: PayloadSize,
    pub(super) buffer: SendBuffer,
    pub(super) cache: SendCache,
    pub(super) rtt: RttEstimator,
    pub(super) polls: PollClock,
    /// Used only if the settings say `selective`.
    pub(super) delivery: Delivery,
    pub(super) queue: SharedWatch,
    /// The window is a part of one that other sessions share.
    shared: bool,
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
    /// Numbers that USTATs may still name: a few more than were sent, for each is lost once.
    pub(super) ustat_room: u32,
    /// Numbers picked from a report, kept for its memory only.
    pub(super) picked: Vec<Seq32>,
    /// Bytes of them that were not known to be lost.
    pub(super) newly_lost: u64,
    pub(super) activity: Activity,
    pub(super) open: bool,
    pub(super) flushing: bool,
    pub(super) timer: SendTimer,
    pub(super) repairs: VecDeque<Seq32>,
    pub(super) repairs_left: u32,
    pub(super) repairs_resume: Option<Instant>,
    pub(super) burst_left: u32,
    pub(super) poll_with_burst: bool,
    pub(super) poll_alone: bool,
    pub(super) since_poll: u64,
    /// A POLL is forced after so many bytes.
    pub(super) forced_poll: u64,
    pub(super) follows_sending: bool,
    /// Repairs count against a burst like everything else: the controller gives a rate, or the settings say so.
    pub(super) paced: bool,
    pub(super) persist_wait: Span,
    pub(super) writer_waits: bool,
    /// Something changed since activity and timers were last set.
    pub(super) stale: bool,
}

/// Round trips counted by acknowledgements: one ends when something sent after its start is
/// acknowledged, or, if the settings say `selective`, when a POLL sent after its start is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) number: u64,
    pub(super) ends_after: Seq32,
    pub(super) began: Instant,
    pub(super) delivered: u64,
}

impl Sender {
    /// A sender whose first segment will be `first`. It sends nothing before [`Sender::open`].
    pub(super) fn new(config: Arc<Config>, first: Seq32) -> Self {
        let mss = config.mss;
        let controller = build_controller(&config, mss);
        let overhead = config.overhead.get().min(u64::from(u16::MAX / 2)) as u16;
        let mut sender = Self {
            mss,
            payload: PayloadSize::new(mss, overhead, config.adapt_payload, first),
            buffer: SendBuffer::default(),
            cache: SendCache::new(first),
            rtt: RttEstimator::new(config.rtt_init, config.rto_min),
            polls: PollClock::new(),
            delivery: Delivery::default(),
            queue: SharedWatch::new(),
            shared: false,
            probing: Probing::new(),
            follows_sending: controller.follows_sending(),
            paced: false,
            controller,
            cwnd: 1,
            credit_edge: first,
            recover: first,
            last_new_data: None,
            reductions: 0,
            round: Round { number: 0, ends_after: first, began: Instant::ZERO, delivered: 0 },
            ustat_room: USTAT_ROOM,
            picked: Vec::new(),
            newly_lost: 0,
            activity: Activity::Idle,
            open: false,
            flushing: false,
            timer: SendTimer::new(config.initial_burst),
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
            self.limit_payload(self.payload.most());
            // A shared window is what it is, whatever these two ends agree on.
            if !self.shared {
                self.controller = build_controller(&self.config, mss);
            }
            self.follow_controller();
        }
        self.credit_edge = self.cache.oldest().plus(u32::from(window));
        self.open = true;
        self.polls.restart_epoch(now);
        self.stale = true;
    }

    /// Segments that are cut from now on carry at most this.
    pub(super) fn limit_payload(&mut self, most: u16) {
        let most = most.clamp(1, self.mss);
        if most != self.payload.most() {
            self.payload.limit(most, self.cache.next());
            self.follow_controller();
            self.stale = true;
        }
    }

    /// Bytes that wait to be sent or acknowledged.
    #[inline]
    pub(super) fn held(&self) -> usize {
        self.buffer.len() + self.cache.bytes()
    }

    /// Bytes that are taken from a writer now.
    pub(super) fn space(&self) -> usize {
        let free = (self.config.snd_buf.get() as usize).saturating_sub(self.held());
        free.min(self.most_unsent().saturating_sub(self.buffer.len()))
    }

    /// Bytes that may wait to be sent for the first time.
    fn most_unsent(&self) -> usize {
        let Some(least) = self.config.unsent_limit else { return usize::MAX };
        let round_trip = match self.controller.limits().pacing {
            Some(rate) => rate.bytes_in(self.rtt.srtt()).get(),
            None => u64::from(self.cwnd) * u64::from(self.payload.get()),
        };
        least.get().max(round_trip.saturating_mul(2)) as usize
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

    /// A waiting writer can go on, and not for a segment at a time; true once for each wait.
    pub(super) fn take_writable(&mut self) -> bool {
        let wake =
            self.writer_waits && self.space() > 0 && self.buffer.len() <= self.most_unsent() / 2;
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

    /// Segments from VT(A) on that may be sent: the window, and what the peer has of them already.
    #[inline]
    pub(super) fn reach(&self) -> u32 {
        (self.cwnd + self.delivery.beyond()).min(self.credit())
    }

    /// Segments that the peer allows from VT(A) on.
    fn credit(&self) -> u32 {
        let oldest = self.cache.oldest();
        if self.credit_edge.is_before(oldest) { 0 } else { self.credit_edge.distance_from(oldest) }
    }

    /// Segments that could be cut from the send buffer now (Nagle: a short one only if no other
    /// short one is unacknowledged).
    fn available(&self) -> u32 {
        let full_len = self.payload.get();
        let len = usize::from(full_len);
        let unsent = self.buffer.len();
        let (full, rest) = (unsent / len, unsent % len);
        let short = rest > 0
            && (self.flushing || !self.config.nagle || !self.cache.has_short_segment(full_len));
        full as u32 + u32::from(short)
    }

    /// A: segments that may go now, new ones and, under a rate, repairs.
    fn allowed(&self) -> u32 {
        let room = self.reach().saturating_sub(self.cache.len());
        let new = if room == 0 { 0 } else { room.min(self.available()) };
        let repairs = if self.paced { self.repairs.len() as u32 } else { 0 };
        new + repairs
    }

    /// Something changed: activity and timers are set anew before the sender is left alone again.
    pub(super) fn touch(&mut self) {
        self.stale = true;
    }

    /// Sets activity and timers to what is true now. Every change ends here, once, however many
    /// writes and segments it consisted of.
    pub(super) fn update(&mut self, now: Instant) {
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
                self.signal(now, &Signal::Begins);
                self.polls.reset_backoff(now);
                self.polls.restart_epoch(now);
                let first = if self.config.poll_first_burst { Span::ZERO } else { self.interval() };
                self.polls.set_due(Some(now + first));
            }
        }
    }

    pub(super) fn set_timer(&mut self, now: Instant) {
        let may = Allowance {
            window: self.window(),
            allowed: self.allowed(),
            srtt: self.rtt.spread(),
            pacing: self.controller.limits().pacing,
            segment: ByteCount::new(u64::from(self.payload.get())) + self.config.overhead,
        };
        self.timer.set(now, &self.config, may);
    }

    /// Time between POLLs.
    pub(super) fn interval(&self) -> Span {
        let srtt = self.rtt.spread();
        if self.probing.is_active() {
            return srtt.max(LEAST_INTERVAL); // P12
        }
        let (backoff, rate) = (u64::from(self.polls.backoff()), u64::from(self.config.poll_rate));
        // Rounded up: a STAT that is due together with a POLL must come first, or every break in the
        // rhythm of nanoseconds would look like a loss.
        srtt.mul_div_ceil(backoff, rate).max(LEAST_INTERVAL * backoff)
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
        let limits = self.controller.limits();
        self.paced = self.config.rtx_in_turn || limits.pacing.is_some();
        let window = limits.window.map_or(u64::MAX, ByteCount::get);
        let payload = self.payload.get();
        let segments = window / u64::from(payload);
        self.cwnd = segments.clamp(1, self.config.cwnd_max(payload)) as u32;
    }

    /// The rate of the link is this from now on.
    pub(super) fn handle_link_rate(&mut self, now: Instant, rate: BitRate) {
        self.signal(now, &Signal::LinkRate(rate));
        self.stale = true;
    }

    /// The path is shared with other sessions from now on, and what they know of it counts.
    pub(super) fn share(&mut self, now: Instant, path: &SharedPath) {
        self.queue = path.queue();
        if let Some(known) = self.queue.get().latest()
            && self.rtt.measured().is_none()
        {
            self.rtt = RttEstimator::new(known, self.config.rto_min);
        }
        self.take_controller(path.controller());
        if self.activity == Activity::Transmitting {
            self.signal(now, &Signal::Begins);
        }
        self.stale = true;
    }

    /// The link is shared with other sessions from now on: what they know of it counts.
    pub(super) fn share_link(&mut self, link: &DedicatedLink) {
        let mss = u64::from(self.mss);
        let most = ByteCount::new(self.config.cwnd_max(self.mss) * mss);
        self.take_controller(link.join(ByteCount::new(mss), most));
        self.stale = true;
    }

    fn take_controller(&mut self, controller: Box<dyn Controller>) {
        self.follows_sending = controller.follows_sending();
        (self.shared, self.controller) = (true, controller);
        self.follow_controller();
    }

    /// What this session gets of a shared path beside those with weight 1.
    pub(super) fn weigh(&mut self, now: Instant, weight: u32) {
        self.signal(now, &Signal::Weight(weight));
        self.stale = true;
    }

    fn signal(&mut self, now: Instant, signal: &Signal) {
        let path = self.path_view(now);
        self.controller.on_signal(&path, signal);
        self.follow_controller();
    }

    /// The path is another one from now on.
    pub(super) fn handle_new_path(&mut self, now: Instant) {
        (self.shared, self.queue) = (false, SharedWatch::new());
        self.handle_new_round_trip(now);
        self.controller = build_controller(&self.config, self.mss);
        self.follows_sending = self.controller.follows_sending();
        self.follow_controller();
        // Losses of before are no sign of congestion here.
        self.recover = self.cache.next();
    }

    /// Answers come by another path from now on.
    pub(super) fn handle_new_round_trip(&mut self, now: Instant) {
        self.rtt = RttEstimator::new(self.config.rtt_init, self.config.rto_min);
        *self.queue.get() = QueueWatch::new();
        self.polls.forget();
        self.polls.reset_backoff(now);
        self.polls.restart_epoch(now);
        self.polls.pull_in(now);
        self.stale = true;
    }

    /// The path as the controller sees it.
    pub(super) fn path_view(&self, now: Instant) -> PathView {
        let mss = u64::from(self.mss);
        let beyond = u64::from(self.delivery.beyond()) * u64::from(self.payload.get());
        let in_flight = (self.cache.bytes() as u64).saturating_sub(beyond);
        PathView {
            now,
            mss: ByteCount::new(u64::from(self.payload.get())),
            in_flight: ByteCount::new(in_flight),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_waits_to_be_sent_and_the_writer_goes_on_when_half_of_it_has_left() {
        let config = Config { unsent_limit: Some(ByteCount::new(3_000)), ..Config::default() };
        let mut sender = Sender::new(Arc::new(config), Seq32::default());
        let mut data = Bytes::from_static(&[7; 10_000]);
        // The window is one segment at first.
        assert_eq!((sender.write(&mut data), sender.write(&mut data)), (3_000, 0));
        sender.buffer.take(1_000);
        assert_eq!((sender.space(), sender.take_writable()), (1_000, false));
        sender.buffer.take(1_000);
        assert_eq!((sender.space(), sender.take_writable()), (2_000, true));
        sender.cwnd = 4;
        assert_eq!(sender.write(&mut data), 7_000, "two windows of four segments");
    }
}
