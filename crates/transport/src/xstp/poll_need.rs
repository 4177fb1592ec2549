//! Why a POLL leaves besides its clock: somebody asks for one, much was sent since the last, or the peer has no room.

use bentpipe_units::Span;

use super::Config;

#[derive(Debug)]
pub(super) struct PollNeed {
    /// A POLL without data is to be sent.
    alone: bool,
    /// Bytes sent since the last POLL, and after how many one is forced.
    since: u64,
    forced_after: u64,
    /// After how many data bring one anyway.
    due_after: u64,
    /// Time to the next POLL of a peer without room.
    persist_wait: Span,
}

impl PollNeed {
    pub(super) fn new(config: &Config) -> Self {
        let forced_after = (config.poll_buf_ratio * config.snd_buf.get() as f64).ceil() as u64;
        Self { alone: false, since: 0, forced_after, due_after: u64::MAX, persist_wait: Span::ZERO }
    }

    /// Data bring a POLL after so many bytes, if they do.
    pub(super) fn bring_after(&mut self, bytes: Option<u64>) {
        self.due_after = bytes.unwrap_or(u64::MAX);
    }

    /// A POLL is wanted, with data or without.
    pub(super) const fn ask(&mut self) {
        self.alone = true;
    }

    pub(super) const fn withdraw(&mut self) {
        self.alone = false;
    }

    #[inline]
    pub(super) const fn is_asked(&self) -> bool {
        self.alone
    }

    pub(super) fn take_asked(&mut self) -> bool {
        std::mem::take(&mut self.alone)
    }

    /// New data leave.
    #[inline]
    pub(super) fn data_sent(&mut self, len: u16) {
        self.since += u64::from(len);
    }

    /// Whether a POLL goes with data of this length, which are not counted yet.
    #[inline]
    pub(super) fn is_forced_by(&self, len: u16) -> bool {
        self.since + u64::from(len) >= self.forced_after.min(self.due_after)
    }

    /// Whether a POLL goes with the data that were counted last.
    pub(super) fn is_forced(&self) -> bool {
        self.since >= self.forced_after.min(self.due_after)
    }

    /// A POLL leaves.
    pub(super) const fn polled(&mut self) {
        (self.since, self.alone) = (0, false);
    }

    /// The peer has no room: it is asked again and again, and the first time after this.
    pub(super) const fn persist(&mut self, first: Span) {
        self.persist_wait = first;
    }

    /// Time to the next of these POLLs; twice as long each time.
    pub(super) fn next_persist_wait(&mut self, most: Span) -> Span {
        let wait = self.persist_wait;
        self.persist_wait = (wait * 2).min(most);
        wait
    }
}
