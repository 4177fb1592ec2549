//! What an end has to look at before it is left alone.

/// Marks of what may have changed. Most segments at a receiver are plain data in order and change nothing but what
/// can be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dirty {
    /// Something may be to be sent.
    work: bool,
    /// Something but [`Event::Readable`](crate::Event::Readable) may be to be told.
    news: bool,
}

impl Dirty {
    /// Anything may have changed.
    pub(super) const ALL: Self = Self { work: true, news: true };

    #[inline]
    pub(super) const fn mark(&mut self) {
        *self = Self::ALL;
    }

    /// Plain data came: there is something to send if this holds.
    #[inline]
    pub(super) const fn mark_work_if(&mut self, work: bool) {
        self.work |= work;
    }

    #[inline]
    pub(super) const fn has_work(self) -> bool {
        self.work
    }

    #[inline]
    pub(super) const fn has_news(self) -> bool {
        self.news
    }

    /// A segment was taken, or there was none.
    #[inline]
    pub(super) const fn set_work(&mut self, work: bool) {
        self.work = work;
    }

    /// An event was taken, or there was none.
    #[inline]
    pub(super) const fn set_news(&mut self, news: bool) {
        self.news = news;
    }

    #[inline]
    pub(super) const fn is_clean(self) -> bool {
        !self.work && !self.news
    }
}
