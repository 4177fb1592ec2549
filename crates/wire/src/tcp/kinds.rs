//! Numbers of TCP's options, as IANA keeps them.

pub(super) const END_OF_LIST: u8 = 0;
pub(super) const NOP: u8 = 1;
pub(super) const MSS: u8 = 2;
pub(super) const WINDOW_SHIFT: u8 = 3;
pub(super) const SACK_PERMITTED: u8 = 4;
pub(super) const SACK: u8 = 5;
pub(super) const TIMESTAMPS: u8 = 8;
pub(super) const SCPS_CAPABILITIES: u8 = 20;
pub(super) const SNACK: u8 = 21;
pub(super) const RECORD_BOUNDARY: u8 = 22;
pub(super) const CORRUPTION_EXPERIENCED: u8 = 23;
