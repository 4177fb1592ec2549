//! What outlives an association.

use super::capacity::Ledger;
use super::links::LINKS;
use super::numbering::Numbering;

/// What outlives an association with a peer.
#[derive(Debug)]
pub(super) struct Lasting {
    /// Numbers of connections go on where they were.
    pub(super) numbering: Numbering,
    /// What was spent on finding out what paths carry.
    pub(super) ledger: Ledger,
    /// Bytes that each link has carried.
    pub(super) carried: [u64; LINKS],
}
