//! What may follow from what happened, so that nothing is asked for in vain.

/// What may be to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    Nothing,
    /// An acknowledgement, and nothing else: the sending side has nothing under way and nothing to send.
    Acknowledgement,
    Anything,
}

/// What a connection is to be asked for.
#[derive(Debug)]
pub(super) struct Dirty {
    work: Work,
    /// Something but [`Event::Readable`](crate::Event::Readable) may be to be told.
    news: bool,
    /// A deadline may have come nearer.
    timer: bool,
}

impl Dirty {
    /// Anything.
    pub(super) const fn all() -> Self {
        Self { work: Work::Anything, news: true, timer: true }
    }

    /// Something happened that may have any consequence.
    pub(super) const fn mark(&mut self) {
        *self = Self::all();
    }

    /// An acknowledgement of new data was taken: something may be to be sent.
    #[inline]
    pub(super) const fn mark_sender(&mut self) {
        self.work = Work::Anything;
    }

    /// The receiving side may have something to say, beside a sending side that may be idle.
    #[inline]
    pub(super) fn mark_receiver(&mut self, idle: bool) {
        self.work = self.work.max(if idle { Work::Acknowledgement } else { Work::Anything });
    }

    /// There may be something to tell.
    #[inline]
    pub(super) const fn mark_news(&mut self, news: bool) {
        self.news |= news;
    }

    /// A deadline may have come nearer.
    #[inline]
    pub(super) const fn mark_timer(&mut self, nearer: bool) {
        self.timer |= nearer;
    }

    /// What may be to be sent.
    #[inline]
    pub(super) const fn work(&self) -> Work {
        self.work
    }

    /// There is nothing to send.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.work == Work::Nothing
    }

    /// Everything that could leave has left.
    #[inline]
    pub(super) const fn finish_work(&mut self) {
        self.work = Work::Nothing;
    }

    /// There may be something to tell.
    #[inline]
    pub(super) const fn has_news(&self) -> bool {
        self.news
    }

    /// There is more to tell, or nothing more.
    pub(super) const fn set_news(&mut self, more: bool) {
        self.news = more;
    }

    /// A deadline may have come nearer; once.
    #[inline]
    pub(super) fn take_timer(&mut self) -> bool {
        std::mem::take(&mut self.timer)
    }

    /// There is nothing to ask for.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        self.is_idle() && !self.news && !self.timer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_does_not_hide_that_anything_may_leave() {
        let mut dirty = Dirty::all();
        dirty.finish_work();
        dirty.mark_receiver(true);
        assert_eq!(dirty.work(), Work::Acknowledgement);
        dirty.mark_sender();
        dirty.mark_receiver(true);
        assert_eq!(dirty.work(), Work::Anything);
    }

    #[test]
    fn a_connection_is_quiet_when_nothing_is_to_be_asked_for() {
        let mut dirty = Dirty::all();
        dirty.finish_work();
        dirty.set_news(false);
        assert!(!dirty.is_quiet() && dirty.take_timer() && dirty.is_quiet());
        dirty.mark_timer(false);
        dirty.mark_news(true);
        assert!(!dirty.take_timer() && !dirty.is_quiet());
    }
}
