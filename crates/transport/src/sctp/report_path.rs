//! The path on which SACKs leave.

/// Where SACKs go (RFC 9260, section 6.4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReportPath {
    next: usize,
    latest: usize,
}

impl ReportPath {
    /// The path of the next SACK.
    pub(super) const fn get(self) -> usize {
        self.next
    }

    /// The association is open, or opened once more, on this path.
    pub(super) const fn begin(&mut self, from: usize) {
        self.next = from;
    }

    /// DATA came. What comes again may have been reported in vain: then another path than that of the latest
    /// SACK is tried.
    pub(super) fn data_came(
        &mut self,
        from: usize,
        duplicate: bool,
        other: impl FnOnce() -> Option<usize>,
    ) {
        let in_vain = duplicate && self.latest == from;
        self.next = if in_vain { other().unwrap_or(from) } else { from };
    }

    /// A SACK leaves.
    pub(super) const fn sent(&mut self, path: usize) {
        self.latest = path;
    }
}
