//! The two bits of the IP header by which a router says that it is congested.

/// Codepoint of the ECN field of an IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecn {
    /// Not-ECT, 00: the sender does not understand marks, so a congested router drops the packet.
    #[default]
    NotCapable,
    /// ECT(1), 01.
    Capable1,
    /// ECT(0), 10: what a sender that understands marks uses.
    Capable0,
    /// CE, 11: a router marked the packet instead of dropping it.
    Congestion,
}

impl Ecn {
    /// The field with these two bits; the others are not read.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotCapable,
            0b01 => Self::Capable1,
            0b10 => Self::Capable0,
            _ => Self::Congestion,
        }
    }

    /// The bits of the field.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotCapable => 0b00,
            Self::Capable1 => 0b01,
            Self::Capable0 => 0b10,
            Self::Congestion => 0b11,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_codepoints_are_those_of_rfc_3168() {
        let all = [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::Congestion];
        for (bits, ecn) in (0..4).zip(all) {
            assert_eq!((Ecn::from_bits(bits), ecn.bits()), (ecn, bits));
            assert_eq!(Ecn::from_bits(0xb8 | bits), ecn, "the other six bits do not matter");
        }
    }
}
