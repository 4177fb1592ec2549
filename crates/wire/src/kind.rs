//! What a segment carries, as a set that a link model can match without knowing the protocol.

/// A set of segment parts. Composite segments hold several.
///
/// The lower twelve bits are those of XSTP's type field, so that the codec can use them as they are.
/// Parts that protocols share have one bit: a TCP SYN and an SCTP INIT are a BGN, a SYN with ACK and an
/// INIT ACK a BGNAK, a FIN and a SHUTDOWN an END.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kind(u16);

impl Kind {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// User data.
    pub const DATA: Self = Self(0x001);
    /// A request for the receiver's status (XSTP).
    pub const POLL: Self = Self(0x002);
    /// The answer to a POLL: a full report of what is missing (XSTP).
    pub const STAT: Self = Self(0x004);
    /// An unasked report of a new gap (XSTP).
    pub const USTAT: Self = Self(0x008);
    /// A request to open a connection.
    pub const BGN: Self = Self(0x010);
    /// The answer to a request to open.
    pub const BGNAK: Self = Self(0x020);
    /// A request to close one direction.
    pub const END: Self = Self(0x040);
    /// The answer to a request to close.
    pub const ENDAK: Self = Self(0x080);
    /// An abort.
    pub const RST: Self = Self(0x100);
    /// An acknowledgement and nothing else (TCP, SCTP).
    pub const ACK: Self = Self(0x1000);
    /// The third and fourth message of an opening: COOKIE ECHO and COOKIE ACK (SCTP).
    pub const COOKIE: Self = Self(0x2000);
    /// A question whether a path works, and its answer (SCTP).
    pub const HEARTBEAT: Self = Self(0x4000);

    /// Of low priority: a queue that knows classes drops it first.
    pub const LOW: Self = Self(0x8000);

    /// Every part with the name it has in traces and scenario files; the names that TCP and SCTP have
    /// for it follow.
    pub const NAMES: [(Self, &'static str); 22] = [
        (Self::DATA, "data"),
        (Self::POLL, "poll"),
        (Self::STAT, "stat"),
        (Self::USTAT, "ustat"),
        (Self::BGN, "bgn"),
        (Self::BGN, "syn"),
        (Self::BGN, "init"),
        (Self::BGNAK, "bgnak"),
        (Self::BGNAK, "syn-ack"),
        (Self::BGNAK, "init-ack"),
        (Self::END, "end"),
        (Self::END, "fin"),
        (Self::END, "shutdown"),
        (Self::ENDAK, "endak"),
        (Self::ENDAK, "shutdown-ack"),
        (Self::RST, "rst"),
        (Self::RST, "abort"),
        (Self::ACK, "ack"),
        (Self::ACK, "sack"),
        (Self::COOKIE, "cookie"),
        (Self::HEARTBEAT, "heartbeat"),
        (Self::LOW, "low"),
    ];

    /// The set with exactly these bits.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The bits of the set.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The set of everything in either.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set without what is in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// True when every part of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True when any part of `other` is in this set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// True for the empty set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The set that a name stands for.
    fn named(name: &str) -> Kind {
        let known = Kind::NAMES.iter().find(|(_, known)| *known == name);
        known.expect("a name").0
    }

    #[test]
    fn tcp_and_sctp_have_their_own_names_for_what_they_share() {
        assert_eq!(named("init"), Kind::BGN);
        assert_eq!(named("shutdown-ack"), Kind::ENDAK);
        assert_eq!(named("sack"), Kind::ACK);
        assert_eq!(named("syn"), Kind::BGN);
        assert_eq!(named("syn-ack"), Kind::BGNAK);
        assert_eq!(named("fin"), Kind::END);
        assert_eq!(named("ack"), Kind::ACK);
    }

    #[test]
    fn every_name_is_of_one_part_and_stands_there_once() {
        for (n, (kind, name)) in Kind::NAMES.iter().enumerate() {
            assert!(kind.bits().is_power_of_two(), "{name}");
            assert!(Kind::NAMES[..n].iter().all(|(_, other)| other != name), "{name}");
        }
    }
}
