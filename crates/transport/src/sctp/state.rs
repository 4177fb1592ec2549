//! The states of an association (RFC 9260, section 4).

/// State of an association. One that waits for a COOKIE ECHO does not exist yet: its listener keeps
/// no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Over, or not begun.
    Closed,
    /// INIT is out.
    CookieWait,
    /// COOKIE ECHO is out.
    CookieEchoed,
    /// Open.
    Established,
    /// This side closes once everything is acknowledged.
    ShutdownPending,
    /// SHUTDOWN is out.
    ShutdownSent,
    /// The peer closes; this side still has data to deliver.
    ShutdownReceived,
    /// SHUTDOWN ACK is out.
    ShutdownAckSent,
}

impl State {
    /// DATA of the peer counts.
    pub(super) const fn receives(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownSent)
    }

    /// This side may send DATA, new or again.
    pub(super) const fn sends(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownReceived)
    }

    /// The application may hand over more.
    pub(super) const fn takes_writes(self) -> bool {
        matches!(self, Self::CookieWait | Self::CookieEchoed | Self::Established)
    }

    /// Both ends know each other.
    pub(super) const fn is_open(self) -> bool {
        !matches!(self, Self::Closed | Self::CookieWait | Self::CookieEchoed)
    }

    /// HEARTBEATs ask for the peer. None after SHUTDOWN ACK, which is retransmitted itself: a peer that is
    /// closed already answers SHUTDOWN ACK with SHUTDOWN COMPLETE, but a HEARTBEAT with ABORT (RFC 9260,
    /// section 8.4).
    pub(super) const fn heart_beats(self) -> bool {
        self.is_open() && !matches!(self, Self::ShutdownAckSent)
    }
}
