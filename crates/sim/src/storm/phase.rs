//! How long a storm lasts.

use bentpipe_units::{Instant, Span};

/// When the storm is over, and when something goes wrong next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    calms: Instant,
    acts_at: Instant,
    is_calm: bool,
}

impl Phase {
    pub(super) fn new(lasts: Span) -> Self {
        Self { calms: Instant::ZERO + lasts, acts_at: Instant::ZERO, is_calm: false }
    }

    /// The storm is over.
    pub(super) const fn is_calm(&self) -> bool {
        self.is_calm
    }

    /// When it is.
    pub(super) const fn calms(&self) -> Instant {
        self.calms
    }

    /// When it was, if it is over.
    pub(super) fn calm_since(&self) -> Option<Instant> {
        self.is_calm.then_some(self.calms)
    }

    /// Whether it is over from now on.
    pub(super) fn ends(&self, now: Instant) -> bool {
        !self.is_calm && now >= self.calms
    }

    pub(super) const fn end(&mut self) {
        self.is_calm = true;
    }

    /// When something goes wrong, or the storm is over, whichever is first.
    pub(super) fn next(&self) -> Instant {
        if self.is_calm { self.acts_at } else { self.acts_at.min(self.calms) }
    }

    /// Whether something goes wrong now.
    pub(super) fn acts(&self, now: Instant) -> bool {
        now >= self.acts_at
    }

    /// The next thing goes wrong then.
    pub(super) const fn act_at(&mut self, at: Instant) {
        self.acts_at = at;
    }
}
