//! The states of a session.

/// State of a session. A passive session that waits in LISTEN is a listener of the host; it becomes
/// a session with the first BGN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Over, or not begun.
    Closed,
    /// BGN is out.
    BgnSent,
    /// Open in both directions.
    Established,
    /// Open; our END is out.
    EndSent,
    /// Our END is acknowledged; the peer may still send.
    LocalHalf,
    /// The peer's END is acknowledged; we may still send.
    PeerHalf,
    /// The peer has ended; our END is out.
    LastEnd,
    /// Closed in both directions; repeated ENDs are still answered.
    Quiet,
}

impl State {
    /// The peer may still send data.
    pub(super) const fn receives(self) -> bool {
        matches!(self, Self::Established | Self::EndSent | Self::LocalHalf)
    }

    /// This side may still send data.
    pub(super) const fn sends(self) -> bool {
        matches!(self, Self::Established | Self::PeerHalf)
    }

    /// Both ends know each other: the session sequence number counts.
    pub(super) const fn is_synchronized(self) -> bool {
        !matches!(self, Self::Closed | Self::BgnSent)
    }

    /// The session waits for something that the peer does of its own accord.
    pub(super) const fn keeps_alive(self) -> bool {
        matches!(self, Self::Established | Self::LocalHalf | Self::PeerHalf)
    }
}
