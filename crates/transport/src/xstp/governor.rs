//! The congestion controller of a sender, and what follows from it.

use std::sync::MutexGuard;

use bentpipe_cc::{Ack, Controller, Limits, Loss, LossCause, PathView, Sent, Signal, Snapshot};
use bentpipe_units::{ByteCount, Seq32};

use super::Config;
use super::queue_watch::QueueWatch;
use super::shared_path::SharedWatch;

/// The controller with the window that follows from it.
#[derive(Debug)]
pub(super) struct Governor {
    controller: Box<dyn Controller>,
    /// The window is a part of one that other sessions share.
    shared: bool,
    /// The controller takes it for one that would send more if it were allowed to.
    hungry: bool,
    follows_sending: bool,
    /// Retransmissions count against a burst like everything else: the controller gives a rate, or the settings
    /// say so.
    paced: bool,
    /// W without the peer's part, in segments, and the window that it follows from, in bytes.
    cwnd: u32,
    window: u64,
    queue: SharedWatch,
    /// VT(S) at the last reduction: losses before it belong to that reduction.
    recover: Seq32,
    reductions: u64,
}

impl Governor {
    /// The controller that is configured.
    pub(super) fn new(config: &Config, first: Seq32) -> Self {
        let controller = build(config, config.mss);
        Self {
            shared: false,
            hungry: false,
            follows_sending: controller.follows_sending(),
            controller,
            paced: false,
            cwnd: 1,
            window: 0,
            queue: SharedWatch::new(),
            recover: first,
            reductions: 0,
        }
    }

    /// The ends have agreed on `mss`. A shared window is what it is, whatever these two agree on.
    pub(super) fn begin(&mut self, config: &Config, mss: u16) {
        if !self.shared {
            self.controller = build(config, mss);
        }
    }

    /// The path is another one: nothing is known of it, and losses of before are no sign of congestion there.
    pub(super) fn begin_on_new_path(&mut self, config: &Config, mss: u16, next: Seq32) {
        (self.shared, self.queue) = (false, SharedWatch::new());
        self.controller = build(config, mss);
        self.follows_sending = self.controller.follows_sending();
        self.recover = next;
    }

    /// Takes part in what other sessions have.
    pub(super) fn join(&mut self, controller: Box<dyn Controller>) {
        self.follows_sending = controller.follows_sending();
        (self.shared, self.controller) = (true, controller);
    }

    /// What is known of the queue is that of other sessions, too.
    pub(super) fn share_queue(&mut self, queue: SharedWatch) {
        self.queue = queue;
    }

    /// The queue of the path.
    pub(super) fn queue(&self) -> MutexGuard<'_, QueueWatch> {
        self.queue.get()
    }

    /// Takes over the controller's window, for segments with so much payload.
    pub(super) fn follow(&mut self, config: &Config, payload: u16) {
        let limits = self.controller.limits();
        self.paced = config.rtx_in_turn || limits.pacing.is_some();
        let window = limits.window.map_or(u64::MAX, ByteCount::get);
        let segments = window / u64::from(payload);
        self.cwnd = segments.clamp(1, config.cwnd_max(payload)) as u32;
        self.window = u64::from(self.cwnd) * u64::from(payload);
    }

    /// W without the peer's part in bytes.
    pub(super) const fn window(&self) -> u64 {
        self.window
    }

    #[inline]
    pub(super) const fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// Whether retransmissions wait for a burst.
    #[inline]
    pub(super) const fn is_paced(&self) -> bool {
        self.paced
    }

    /// Whether the controller wants to be told of what leaves.
    #[inline]
    pub(super) const fn follows_sending(&self) -> bool {
        self.follows_sending
    }

    pub(super) fn limits(&self) -> Limits {
        self.controller.limits()
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.controller.snapshot()
    }

    /// How often the window was reduced.
    pub(super) const fn reductions(&self) -> u64 {
        self.reductions
    }

    /// Whether a loss of what is the oldest in flight belongs to a reduction of before.
    pub(super) fn is_in_recovery(&self, oldest: Seq32) -> bool {
        oldest.is_before(self.recover)
    }

    /// It would send more if it were allowed to, or would not. True where those who share the window have to know.
    pub(super) const fn hungers(&mut self, hungry: bool) -> bool {
        self.shared && std::mem::replace(&mut self.hungry, hungry) != hungry
    }

    pub(super) fn on_sent(&mut self, path: &PathView, sent: &Sent) {
        self.controller.on_sent(path, sent);
    }

    pub(super) fn on_ack(&mut self, path: &PathView, ack: &Ack) {
        self.hungry = path.cwnd_limited;
        self.controller.on_ack(path, ack);
    }

    pub(super) fn signal(&mut self, path: &PathView, signal: &Signal) {
        self.hungry |= *signal == Signal::Begins;
        self.controller.on_signal(path, signal);
    }

    /// A router marked something while everything from `next` on was not sent yet.
    pub(super) fn on_mark(&mut self, path: &PathView, next: Seq32) {
        self.controller.on_signal(path, &Signal::EcnCe);
        self.reduced(next);
    }

    /// Losses, while everything from `next` on was not sent yet.
    pub(super) fn on_loss(&mut self, path: &PathView, loss: &Loss, next: Seq32) {
        self.controller.on_loss(path, loss);
        if loss.new_episode || loss.cause == LossCause::Persistent {
            self.reduced(next);
        }
    }

    const fn reduced(&mut self, next: Seq32) {
        self.recover = next;
        self.reductions += 1;
    }
}

fn build(config: &Config, mss: u16) -> Box<dyn Controller> {
    let segments = |n: u64| ByteCount::new(n * u64::from(mss));
    config.controller.build(
        segments(1),
        segments(u64::from(config.cwnd_init)),
        segments(u64::from(config.cwnd_min)),
        segments(config.cwnd_max(mss)),
    )
}
