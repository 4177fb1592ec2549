//! The states of a connection.

/// State of a connection (RFC 9293, section 3.3.2). A connection that waits in LISTEN is a listener of
/// the host; it becomes a connection with the first SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Over, or not begun.
    Closed,
    /// Our SYN is out.
    SynSent,
    /// Both SYNs are known; ours is not acknowledged.
    SynReceived,
    /// Open in both directions.
    Established,
    /// Our FIN is out.
    FinWait1,
    /// Our FIN is acknowledged; the peer may still send.
    FinWait2,
    /// The peer has ended; we may still send.
    CloseWait,
    /// Both have ended; our FIN is not acknowledged.
    Closing,
    /// The peer had ended before our FIN, which is not acknowledged.
    LastAck,
    /// Closed in both directions; late segments are still answered.
    TimeWait,
}
