//! The congestion controller, and what it allows.

use bentpipe_cc::{
    Ack, Asks, Controller, Limits, Loss, LowPriority, PathRequest, PathView, Repair, Sent, Signal,
    Snapshot,
};
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bentpipe_wire::xcp::{RateChange, Request, Wish};

use super::Config;
use super::agreed::Agreed;
use super::explicit::clamp;
use crate::LocalQueue;
use crate::local_queue::QueueMeter;

/// The controller with the window that follows from it.
#[derive(Debug)]
pub(super) struct Governor {
    controller: Box<dyn Controller>,
    /// What the controller allows, and its window in bytes.
    limits: Limits,
    cwnd: u64,
    /// The largest window that there may be.
    most: u64,
    /// The window that counts instead, once one was given from outside.
    override_cwnd: Option<u64>,
    /// The window was the limit for everything before this offset.
    limited_before: u64,
    reductions: u64,
    follows_sending: bool,
    /// The controller wants to be told of the queue of this host, which is this full.
    follows_queue: bool,
    queue_meter: QueueMeter,
    /// What segments of data ask routers for, if they do.
    wish: Option<Wish>,
    /// Nothing but windows and a pace ever holds back new data: no limit of bursts, no controller that follows
    /// what is sent, no requests to routers, no search for a longer packet.
    plain: bool,
}

impl Governor {
    /// The controller that is configured, before anything is agreed.
    pub(super) fn new(config: &Config, agreed: &Agreed) -> Self {
        let controller = build_controller(config, agreed);
        Self {
            follows_sending: controller.follows_sending(),
            follows_queue: controller.follows_queue(),
            controller,
            limits: Limits::default(),
            cwnd: 0,
            most: config.cwnd_most(),
            override_cwnd: None,
            limited_before: 0,
            reductions: 0,
            queue_meter: QueueMeter::default(),
            wish: None,
            plain: false,
        }
    }

    /// The controller begins with what is agreed.
    pub(super) fn begin(&mut self, config: &Config, agreed: &Agreed) {
        self.controller = build_controller(config, agreed);
        self.follows_sending = self.controller.follows_sending();
        self.follows_queue = self.controller.follows_queue();
    }

    /// Asks the controller whether it asks routers for anything at all.
    pub(super) fn follow_routers(&mut self, path: &PathView) {
        self.wish = self.controller.path_request(path).map(|request| match request.asks {
            Asks::Change(_) => Wish::Change,
            Asks::Bandwidth => Wish::Bandwidth,
        });
    }

    /// Whether new data are held back by nothing but windows and a pace, where nothing outside of the controller
    /// does.
    pub(super) const fn set_plain(&mut self, plain: bool) {
        self.plain = plain && !self.follows_sending && self.wish.is_none();
    }

    /// New data may be held back by something else.
    pub(super) const fn forbid_plain(&mut self) {
        self.plain = false;
    }

    /// New data leave at once wherever the windows allow it.
    #[inline]
    pub(super) const fn is_plain(&self) -> bool {
        self.plain && self.limits.pacing.is_none()
    }

    /// Takes over the controller's window.
    #[inline(always)]
    pub(super) fn follow(&mut self, mss: u64) {
        // Field by field: they were written just now, one by one, and reading them together would wait for that.
        let Limits { window, pacing, of_payload, burst, groups } = self.controller.limits();
        (self.limits.window, self.limits.pacing) = (window, pacing);
        self.limits.of_payload = of_payload;
        (self.limits.burst, self.limits.groups) = (burst, groups);
        let controller = || self.limits.window.map_or(u64::MAX, ByteCount::get);
        let window = self.override_cwnd.unwrap_or_else(controller);
        self.cwnd = window.min(self.most).max(mss);
    }

    /// From now on this is the window, whatever the controller makes of it.
    pub(super) fn override_cwnd(&mut self, window: u64, mss: u64) {
        self.override_cwnd = Some(window);
        self.follow(mss);
    }

    /// The window.
    #[inline]
    pub(super) const fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// What the controller allows.
    #[inline]
    pub(super) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The window is the limit for everything before this offset.
    #[inline]
    pub(super) const fn limited(&mut self, next: u64) {
        self.limited_before = next;
    }

    /// The window was the limit for what is acknowledged next.
    #[inline]
    pub(super) const fn was_limited(&self, una: u64) -> bool {
        una <= self.limited_before
    }

    /// Tells the controller of what arrived. Its window [follows](Governor::follow) when the acknowledgement is done.
    #[inline(always)]
    pub(super) fn on_ack(&mut self, path: &PathView, told: &Ack) {
        self.controller.on_ack(path, told);
    }

    /// Tells the controller of a loss.
    pub(super) fn on_loss(&mut self, path: &PathView, loss: &Loss) {
        self.controller.on_loss(path, loss);
        let reduced = self.follow_and_compare(path);
        self.reductions += u64::from(reduced && loss.new_episode);
    }

    /// Tells the controller of something else.
    pub(super) fn signal(&mut self, path: &PathView, signal: &Signal) {
        self.controller.on_signal(path, signal);
        let reduced = self.follow_and_compare(path);
        self.reductions += u64::from(reduced && *signal == Signal::EcnCe);
    }

    /// Takes over the controller's window. True when it became smaller.
    fn follow_and_compare(&mut self, path: &PathView) -> bool {
        let before = self.cwnd;
        self.follow(path.mss.get());
        self.cwnd < before
    }

    /// The controller wants to be told of what leaves.
    #[inline]
    pub(super) const fn follows_sending(&self) -> bool {
        self.follows_sending
    }

    /// Tells the controller of a segment that leaves.
    pub(super) fn on_sent(&mut self, path: &PathView, sent: &Sent) {
        self.controller.on_sent(path, sent);
        self.follow(path.mss.get());
    }

    /// When the controller wants to be told that time passed.
    #[inline]
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.controller.next_timer()
    }

    /// The controller's time has come.
    pub(super) fn on_timer(&mut self, path: &PathView) {
        self.controller.on_timer(path);
        self.follow(path.mss.get());
    }

    /// The controller wants to be told of the queue of this host.
    #[inline]
    pub(super) const fn follows_queue(&self) -> bool {
        self.follows_queue
    }

    /// The queue of this host is like this now: what the controller is to be told of it.
    pub(super) fn measure_queue(&mut self, now: Instant, queue: &LocalQueue) -> Signal {
        Signal::LocalQueue(self.queue_meter.take(now, queue))
    }

    /// What the controller wants to leave at low priority.
    #[inline]
    pub(super) fn low_priority(&self) -> LowPriority {
        self.controller.low_priority()
    }

    /// What the controller asks of the retransmissions.
    pub(super) fn repair(&self) -> Repair {
        self.controller.repair()
    }

    /// Segments of data ask routers for a rate.
    #[inline]
    pub(super) const fn is_explicit(&self) -> bool {
        self.wish.is_some()
    }

    /// What the controller is to be told of what routers left of its requests, where a round trip takes `srtt` and
    /// `payload` is the payload's part of a packet; `None` for nothing.
    pub(super) fn read_feedback(
        &self,
        change: RateChange,
        srtt: Span,
        payload: f64,
    ) -> Option<Signal> {
        let bytes_per_sec = f64::from(change.bytes_per_sec());
        match self.wish? {
            _ if change == RateChange::default() => None,
            Wish::Change => {
                let delta = (bytes_per_sec * srtt.as_secs_f64()) as i64;
                Some(Signal::Explicit { delta })
            }
            Wish::Bandwidth => {
                let stated = BitRate::from_bps((8.0 * bytes_per_sec.max(1.0) * payload) as u64);
                Some(Signal::Available((change != RateChange::MOST).then_some(stated)))
            }
        }
    }

    /// What a segment of data asks the routers for where a round trip takes `srtt`: its part of what the controller
    /// wants in one.
    pub(super) fn request(&self, path: &PathView, srtt: Option<Span>) -> Option<Request> {
        let wish = self.wish?;
        let PathRequest { cwnd, rtt, asks } = self.controller.path_request(path)?;
        let packets = (cwnd.get() as f64 / path.mss.get() as f64).max(1.0);
        let Asks::Change(delta) = asks else {
            let (rtt, delta_throughput) = (srtt.map(|_| rtt), RateChange::MOST);
            return Some(Request { rtt, delta_throughput, wish, ..Request::default() });
        };
        let Some(srtt) = srtt else {
            return Some(Request::default());
        };
        let seconds = srtt.as_secs_f64().max(1e-6);
        let change = (delta as f64 / packets / seconds) as i64;
        Some(Request {
            rtt: Some(srtt),
            packet_interval: srtt.mul_f64(1.0 / packets),
            delta_throughput: RateChange::from_bytes_per_sec(clamp(change)),
            wish,
        })
    }

    /// How often the window was reduced.
    pub(super) const fn reductions(&self) -> u64 {
        self.reductions
    }

    /// The state of the controller with the window that counts, for the record.
    pub(super) fn snapshot(&self) -> Snapshot {
        let snapshot = self.controller.snapshot();
        Snapshot { cwnd: self.override_cwnd.map(ByteCount::new).or(snapshot.cwnd), ..snapshot }
    }
}

fn build_controller(config: &Config, agreed: &Agreed) -> Box<dyn Controller> {
    let mss = u64::from(agreed.mss);
    let first = if agreed.syn_lost { mss } else { config.initial_window.bytes(mss) };
    let least = u64::from(config.cwnd_min) * mss;
    let [first, least, most] = [first, least, config.cwnd_most()].map(ByteCount::new);
    config.controller.build(ByteCount::new(mss), first, least, most)
}
