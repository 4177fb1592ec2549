//! Marks of routers on what this end receives, told to the peer until it has answered (RFC 4960, appendix A).

use bentpipe_units::Seq32;

/// What is to be said about marks.
#[derive(Debug, Default)]
pub(super) struct EcnFeedback {
    /// The lowest TSN of a marked packet.
    echo: Option<Seq32>,
    /// The answer to a mark that the peer told of.
    reduced: Option<Seq32>,
}

impl EcnFeedback {
    /// A marked packet came with this TSN as its lowest.
    pub(super) fn marked(&mut self, lowest: Option<Seq32>) {
        self.echo = lowest.or(self.echo);
    }

    /// The peer has reduced its window because of a mark up to this TSN.
    pub(super) fn answered(&mut self, tsn: Seq32) {
        self.echo = self.echo.filter(|told| told.is_after(tsn));
    }

    /// The window was reduced because of a mark that the peer told of.
    pub(super) fn reduce(&mut self, tsn: Option<Seq32>) {
        self.reduced = tsn.or(self.reduced);
    }

    /// What ECNE is to say.
    pub(super) const fn echo(&self) -> Option<Seq32> {
        self.echo
    }

    /// Whether CWR waits.
    pub(super) const fn has_answer(&self) -> bool {
        self.reduced.is_some()
    }

    /// What CWR is to say, once.
    pub(super) const fn take_answer(&mut self) -> Option<Seq32> {
        self.reduced.take()
    }
}
