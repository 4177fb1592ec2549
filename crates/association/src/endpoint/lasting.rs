//! What outlives an association.

use bentpipe_cc::KnownPath;

use super::capacity::Ledger;
use super::links::LINKS;
use super::numbering::Numbering;

/// What links were to a peer in associations and processes before.
#[derive(Debug)]
pub(super) struct Before {
    /// Bytes that each has carried in associations of this process.
    pub(super) carried: [u64; LINKS],
    /// What the path by each carried, in processes before as well.
    pub(super) paths: [Option<KnownPath>; LINKS],
}

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
