//! What the ends agree on while a connection opens.

/// What both ends agreed on while the connection opened, as far as it concerns sending.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Agreed {
    /// Payload of a full segment, options of every segment deducted.
    pub(in crate::tcp) mss: u16,
    /// Other bytes of a packet with a full segment: the headers of IPv4 and TCP and these options.
    pub(in crate::tcp) headers: u16,
    /// Bytes that the peer's windows count by: a power of two, or a segment.
    pub(in crate::tcp) window_unit: u64,
    /// The peer reports selectively.
    pub(in crate::tcp) reports: bool,
    /// Both ends ask by SNACKs, with lengths in segments of so many bytes.
    pub(in crate::tcp) snacks: Option<u64>,
    /// A SYN or its answer was lost: the window starts from one segment (RFC 5681, section 3.1).
    pub(in crate::tcp) syn_lost: bool,
}
