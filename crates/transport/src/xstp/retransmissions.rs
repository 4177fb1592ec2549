//! Segments that wait to be retransmitted.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Seq32};

use super::Config;

/// The queue of retransmissions, and its pause where the settings say `rtx_paced`.
#[derive(Debug)]
pub(super) struct Retransmissions {
    queue: VecDeque<Seq32>,
    /// How many may leave before the next pause.
    left: u32,
    /// When the pause ends.
    resume: Option<Instant>,
}

impl Retransmissions {
    pub(super) fn new(config: &Config) -> Self {
        Self { queue: VecDeque::new(), left: config.max_burst, resume: None }
    }

    pub(super) fn push(&mut self, seq: Seq32) {
        self.queue.push_back(seq);
    }

    /// The next one, unless there is a pause.
    pub(super) fn next(&mut self) -> Option<Seq32> {
        if self.resume.is_some() { None } else { self.queue.pop_front() }
    }

    /// One leaves.
    pub(super) fn sent(&mut self, now: Instant, config: &Config) {
        if config.rtx_paced {
            self.left -= 1;
            if self.left == 0 {
                self.resume = Some(now + config.timer_tick);
            }
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn len(&self) -> u32 {
        self.queue.len() as u32
    }

    /// When the pause ends that something waits for.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.resume.filter(|_| !self.queue.is_empty())
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, config: &Config) {
        if self.resume.is_some_and(|at| at <= now) {
            (self.resume, self.left) = (None, config.max_burst);
        }
    }

    /// Nothing waits any more: gives what did.
    pub(super) fn take_all(&mut self) -> VecDeque<Seq32> {
        std::mem::take(&mut self.queue)
    }

    /// The session is gone.
    pub(super) fn clear(&mut self) {
        (self.queue, self.resume) = (VecDeque::new(), None);
    }
}
