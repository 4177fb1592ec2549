//! What a report shows to be lost.

use bentpipe_units::Seq32;

/// Numbers that USTATs may name at once. Who names the same ones again and again has no more of them looked at.
const USTAT_ROOM: u32 = 1 << 16;

/// Segments picked from a report.
#[derive(Debug)]
pub(super) struct Picked {
    /// Kept from report to report for its memory only.
    segments: Vec<Seq32>,
    /// Bytes of them that were not known to be lost.
    newly_lost: u64,
    /// Numbers that USTATs may still name: a few more than were sent, for each is lost once.
    ustat_room: u32,
}

impl Picked {
    pub(super) const fn new() -> Self {
        Self { segments: Vec::new(), newly_lost: 0, ustat_room: USTAT_ROOM }
    }

    /// Another report is looked at.
    pub(super) fn clear(&mut self) {
        self.segments.clear();
        self.newly_lost = 0;
    }

    /// A segment is lost, with so many bytes of which nobody knew it.
    pub(super) fn push(&mut self, seq: Seq32, newly_lost: u64) {
        self.segments.push(seq);
        self.newly_lost += newly_lost;
    }

    pub(super) fn segments(&self) -> &[Seq32] {
        &self.segments
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) const fn newly_lost(&self) -> u64 {
        self.newly_lost
    }

    /// New data leave, which a USTAT may name once.
    #[inline]
    pub(super) const fn data_sent(&mut self) {
        self.ustat_room = self.ustat_room.saturating_add(1);
    }

    /// A USTAT names so many. False if that is too much.
    pub(super) const fn admit(&mut self, named: u32) -> bool {
        match self.ustat_room.checked_sub(named) {
            Some(room) => {
                self.ustat_room = room;
                true
            }
            None => false,
        }
    }
}
