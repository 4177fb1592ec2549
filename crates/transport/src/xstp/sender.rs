//! The sending side: what may go, when it goes, and in which segment.
//!
//! What time brings is in [`super::timers`], what leaves in [`super::transmit`], reports of the peer in
//! [`super::reports`].

use std::sync::Arc;

use bentpipe_cc::{DedicatedLink, PathView, Signal};
use bentpipe_record::SendLimit;
use bentpipe_units::{BitRate, ByteCount, Instant, OneWayDelay, Seq32, Span};
use bytes::Bytes;

use super::Config;
use super::delivery::Delivery;
use super::governor::Governor;
use super::picked::Picked;
use super::poll_clock::{self, LEAST_INTERVAL, PollClock};
use super::poll_need::PollNeed;
use super::probing::Probing;
use super::retransmissions::Retransmissions;
use super::send_cache::SendCache;
use super::send_timer::{Allowance, SendTimer};
use super::shared_path::SharedPath;
use crate::payload_size::PayloadSize;
use crate::rtt::RttEstimator;
use crate::send_buffer::SendBuffer;

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
    pub(super) probing: Probing,
    pub(super) governor: Governor,
    /// First number that the peer does not allow.
    pub(super) credit_edge: Seq32,
    pub(super) round: Round,
    pub(super) picked: Picked,
    pub(super) activity: Activity,
    open: bool,
    pub(super) timer: SendTimer,
    pub(super) retransmissions: Retransmissions,
    pub(super) poll_need: PollNeed,
    writer: Writer,
    /// Something changed since activity and timers were last set.
    pub(super) stale: bool,
}

/// The application that writes.
#[derive(Clone, Copy, Debug, Default)]
struct Writer {
    /// It waits for room.
    waits: bool,
    /// It writes no more: nothing waits for company.
    has_finished: bool,
}

/// Round trips counted by acknowledgements: one ends when something sent after its start is
/// acknowledged, or, if the settings say `selective`, when a POLL sent after its start is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) number: u64,
    pub(super) ends_after: Seq32,
    pub(super) began: Instant,
    pub(super) delivered: u64,
    /// How long the way back of the latest one was, if the peer tells.
    pub(super) return_delay: Option<OneWayDelay>,
}

impl Sender {
    /// A sender whose first segment will be `first`. It sends nothing before [`Sender::open`].
    pub(super) fn new(config: Arc<Config>, first: Seq32) -> Self {
        let mss = config.mss;
        let overhead = config.overhead.get().min(u64::from(u16::MAX / 2)) as u16;
        let mut sender = Self {
            mss,
            payload: PayloadSize::new(mss, overhead, config.adapt_payload, first),
            buffer: SendBuffer::default(),
            cache: SendCache::new(first),
            rtt: RttEstimator::new(config.rtt_init, config.rto_min),
            polls: PollClock::new(),
            delivery: Delivery::default(),
            probing: Probing::new(),
            governor: Governor::new(&config, first),
            credit_edge: first,
            round: Round {
                number: 0,
                ends_after: first,
                began: Instant::ZERO,
                delivered: 0,
                return_delay: None,
            },
            picked: Picked::new(),
            activity: Activity::Idle,
            open: false,
            timer: SendTimer::new(config.initial_burst, config.timer_clock),
            retransmissions: Retransmissions::new(&config),
            poll_need: PollNeed::new(&config),
            writer: Writer::default(),
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
            self.governor.begin(&self.config, mss);
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
        let round_trip = match self.governor.limits().pacing {
            Some(rate) => rate.bytes_in(self.rtt.srtt()).get(),
            None => u64::from(self.governor.cwnd()) * u64::from(self.payload.get()),
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
            self.writer.waits = true;
        }
        accepted
    }

    /// A waiting writer can go on, and not for a segment at a time; true once for each wait.
    pub(super) fn take_writable(&mut self) -> bool {
        let wake =
            self.writer.waits && self.space() > 0 && self.buffer.len() <= self.most_unsent() / 2;
        self.writer.waits &= !wake;
        wake
    }

    /// A writer has more than there was room for.
    pub(super) const fn writer_waits(&self) -> bool {
        self.writer.waits
    }

    /// No more writes will come: nothing waits for company any more.
    pub(super) fn flush(&mut self) {
        self.writer.has_finished = true;
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
        self.poll_need.ask();
    }

    /// W in segments.
    pub(super) fn window(&self) -> u32 {
        self.governor.cwnd().min(self.credit())
    }

    /// Segments from VT(A) on that may be sent: the window, and what the peer has of them already.
    #[inline]
    pub(super) fn reach(&self) -> u32 {
        let window = if self.has_other_lengths() {
            // What is under way are segments of other lengths than those that follow.
            let room = self.governor.window().saturating_sub(self.in_flight())
                / u64::from(self.payload.get());
            self.cache.len().saturating_sub(self.delivery.beyond()) + room as u32
        } else {
            self.governor.cwnd()
        };
        (window + self.delivery.beyond()).min(self.credit())
    }

    /// Whether segments of a length that is not that of now are outstanding.
    #[inline]
    fn has_other_lengths(&self) -> bool {
        let full = u64::from(self.cache.len()) * u64::from(self.payload.get());
        self.config.adapt_payload && self.cache.bytes() as u64 != full
    }

    /// Payload of the segments that are outstanding, on average.
    pub(super) fn mean_payload(&self) -> u64 {
        let segments = u64::from(self.cache.len());
        if segments == 0 || !self.has_other_lengths() {
            return self.payload.get().into();
        }
        (self.cache.bytes() as u64 / segments).max(1)
    }

    /// Bytes that are under way: outstanding, and not beyond a gap.
    fn in_flight(&self) -> u64 {
        let beyond = u64::from(self.delivery.beyond()) * self.mean_payload();
        (self.cache.bytes() as u64).saturating_sub(beyond)
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
            && (self.writer.has_finished
                || !self.config.nagle
                || !self.cache.has_short_segment(full_len));
        full as u32 + u32::from(short)
    }

    /// A: segments that may go now, new ones and, under a rate, retransmissions.
    fn allowed(&self) -> u32 {
        let room = self.reach().saturating_sub(self.cache.len());
        let new = if room == 0 { 0 } else { room.min(self.available()) };
        let again = if self.governor.is_paced() { self.retransmissions.len() } else { 0 };
        new + again
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
        // Before anything has left whoever begins may have all that the window allows.
        let wants_more = self.wants_more() || self.cache.len() == 0;
        if activity == Activity::Transmitting && self.governor.hungers(wants_more) {
            self.signal(now, &Signal::AppLimited(!wants_more));
        }
        if activity == Activity::Transmitting && !self.probing.is_active() {
            self.set_timer(now);
        } else {
            self.timer.stop();
        }
        self.timer.arm(now, self.next_poll());
    }

    /// When the next POLL is due, if one may go.
    pub(super) fn next_poll(&self) -> Option<Instant> {
        let due = self.polls.due().filter(|_| self.poll_may_go())?;
        let burst = self.timer.next().filter(|&burst| self.config.poll_rides && burst > due);
        Some(burst.filter(|&burst| burst <= due + self.poll_slack()).unwrap_or(due))
    }

    fn enter(&mut self, now: Instant) {
        match self.activity {
            Activity::Idle => {
                self.polls.set_due(None);
                self.polls.reset_backoff(now);
            }
            Activity::Persisting => {
                self.poll_need.persist(self.rtt.srtt().max(self.config.persist_min));
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
            pacing: self.governor.limits().pacing,
            segment: ByteCount::new(u64::from(self.payload.get())) + self.config.overhead,
        };
        self.timer.set(now, &self.config, may);
        self.poll_need.bring_after(self.poll_in_data());
    }

    /// Time between POLLs.
    pub(super) fn interval(&self) -> Span {
        let srtt = self.rtt.spread();
        if self.probing.is_active() {
            return srtt.max(LEAST_INTERVAL); // P12
        }
        let (rate, most) = (self.config.poll_rate, self.config.poll_rate_max);
        let usual = self.polls.interval(rate, most, srtt);
        let pacing = self.governor.limits().pacing;
        let window = self.governor.window().max(u64::from(self.payload.get()));
        usual.max(poll_clock::sparse(
            self.config.poll_share,
            self.config.overhead,
            srtt,
            window,
            pacing,
        ))
    }

    /// Queues a segment to be retransmitted.
    pub(super) fn retransmit(&mut self, seq: Seq32) {
        if let Some(entry) = self.cache.get_mut(seq)
            && !entry.queued
        {
            entry.queued = true;
            self.retransmissions.push(seq);
        }
    }

    /// Whether anything waits to be retransmitted.
    pub(super) fn has_retransmissions(&self) -> bool {
        !self.retransmissions.is_empty()
    }

    /// When [`Sender::handle_timeout`] must be called.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.activity == Activity::Idle {
            return None;
        }
        Instant::earliest(self.timer.deadline(self.next_poll()), self.retransmissions.deadline())
    }

    /// Takes over the controller's window.
    pub(super) fn follow_controller(&mut self) {
        self.governor.follow(&self.config, self.payload.get());
    }

    /// The rate of the link is this from now on.
    pub(super) fn handle_link_rate(&mut self, now: Instant, rate: BitRate) {
        self.signal(now, &Signal::LinkRate(rate));
        self.stale = true;
    }

    /// The path is shared with other sessions from now on, and what they know of it counts.
    pub(super) fn share(&mut self, now: Instant, path: &SharedPath) {
        self.governor.share_queue(path.queue());
        let known = self.governor.queue().latest();
        if let Some(known) = known
            && self.rtt.measured().is_none()
        {
            self.rtt = RttEstimator::new(known, self.config.rto_min);
            self.round.return_delay = self.governor.queue().return_delay();
        }
        self.governor.join(path.controller());
        self.follow_controller();
        if self.activity == Activity::Transmitting {
            self.signal(now, &Signal::Begins);
        }
        self.stale = true;
    }

    /// The link is shared with other sessions from now on: what they know of it counts.
    pub(super) fn share_link(&mut self, link: &DedicatedLink) {
        let mss = u64::from(self.mss);
        let most = ByteCount::new(self.config.cwnd_max(self.mss) * mss);
        self.governor.join(link.join(ByteCount::new(mss), most));
        self.follow_controller();
        self.stale = true;
    }

    /// What this session gets of a shared path beside those with weight 1.
    pub(super) fn weigh(&mut self, now: Instant, weight: u32) {
        self.signal(now, &Signal::Weight(weight));
        self.stale = true;
    }

    pub(super) fn signal(&mut self, now: Instant, signal: &Signal) {
        let path = self.path_view(now);
        self.governor.signal(&path, signal);
        self.follow_controller();
    }

    /// The path is another one from now on.
    pub(super) fn handle_new_path(&mut self, now: Instant) {
        self.governor.begin_on_new_path(&self.config, self.mss, self.cache.next());
        self.handle_new_round_trip(now);
        self.follow_controller();
    }

    /// Answers come by another path from now on.
    pub(super) fn handle_new_round_trip(&mut self, now: Instant) {
        self.rtt = RttEstimator::new(self.config.rtt_init, self.config.rto_min);
        self.round.return_delay = None;
        self.governor.queue().forget();
        self.polls.forget();
        self.polls.reset_backoff(now);
        self.polls.restart_epoch(now);
        self.polls.pull_in(now);
        self.stale = true;
    }

    /// The path as the controller sees it.
    pub(super) fn path_view(&self, now: Instant) -> PathView {
        let mss = u64::from(self.mss);
        PathView {
            now,
            mss: ByteCount::new(u64::from(self.payload.get())),
            in_flight: ByteCount::new(self.in_flight()),
            peer_window: ByteCount::new(u64::from(self.credit()) * mss),
            srtt: self.rtt.srtt(),
            latest_rtt: self.rtt.latest(),
            min_rtt: self.rtt.min(),
            return_delay: self.round.return_delay,
            round: self.round.number,
            delivered: ByteCount::new(self.round.delivered),
            cwnd_limited: self.wants_more(),
        }
    }

    /// Whether more would leave if the window were larger.
    fn wants_more(&self) -> bool {
        self.buffer.len() > 0 && self.governor.cwnd() <= self.credit()
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

    /// What holds back the next data.
    pub(super) fn limit(&self) -> Option<SendLimit> {
        let waits = self.buffer.len() > 0;
        if !self.open || !waits && self.writer.has_finished {
            return None;
        }
        let (cwnd, most) = (self.governor.cwnd(), self.config.cwnd_max(self.payload.get()));
        Some(if !waits {
            if self.writer.waits { SendLimit::SndBuf } else { SendLimit::Application }
        } else if self.credit() < cwnd {
            SendLimit::RcvBuf
        } else if (self.cache.len() as u64) < u64::from(cwnd) {
            SendLimit::Pacing
        } else if u64::from(cwnd) >= most {
            SendLimit::SndBuf
        } else {
            SendLimit::Cwnd
        })
    }

    /// The session is gone: forces the sender to be idle and frees everything.
    pub(super) fn drop_all(&mut self, now: Instant) {
        self.buffer.clear();
        self.cache.clear();
        self.retransmissions.clear();
        self.timer.end_burst();
        self.poll_need.withdraw();
        self.writer.waits = false;
        self.probing.forget();
        self.open = false;
        if self.governor.hungers(false) {
            self.signal(now, &Signal::AppLimited(true));
        }
        self.update(now);
    }
}

#[cfg(test)]
mod tests;
