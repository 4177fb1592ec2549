//! Signs of life: whether the peer has forgotten the association, and whether it may think so of this host.

use bentpipe_units::{Instant, Span};

/// After so long without an answer the peer may have forgotten the association.
const SILENCE: Span = Span::from_secs(5);
/// What the peer sends is answered after so long, by an empty datagram if there is nothing to say.
const ANSWER: Span = Span::from_secs(1);

/// When the two were heard of.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    /// Something was sent at this time, and nothing was heard since.
    unanswered_since: Option<Instant>,
    /// Something was heard at this time, and nothing was sent since.
    unsaid_since: Option<Instant>,
}

impl Liveness {
    /// A datagram is sent. One that carries nothing is an answer and asks for none, or two hosts would keep each other
    /// awake for ever.
    pub(super) fn sent(&mut self, now: Instant, is_empty: bool) {
        self.unsaid_since = None;
        if !is_empty {
            self.unanswered_since.get_or_insert(now);
        }
    }

    /// An authentic datagram came.
    pub(super) fn heard(&mut self, now: Instant, is_empty: bool) {
        self.unanswered_since = None;
        if !is_empty {
            self.unsaid_since.get_or_insert(now);
        }
    }

    /// The peer has answered a request: it has not forgotten anything since.
    pub(super) const fn answered(&mut self) {
        self.unanswered_since = None;
    }

    /// When the peer is considered unreachable.
    pub(super) fn silent_at(&self) -> Option<Instant> {
        self.unanswered_since.map(|at| at + SILENCE)
    }

    /// When the peer waits for a sign of life.
    pub(super) fn answer_due(&self) -> Option<Instant> {
        self.unsaid_since.map(|since| since + ANSWER)
    }
}
