//! What is given up, and believed in again.

use bentpipe_units::Instant;

use super::Scoreboard;

impl Scoreboard {
    /// The segment of this number, or the retransmission of it that is under way, is given up. Returns its
    /// bytes if it was not given up before.
    pub(crate) fn lose(&mut self, index: usize) -> u64 {
        let Some(segment) = self.segments.get_mut(index) else { return 0 };
        if segment.sacked || segment.lost && !segment.repaired {
            return 0;
        }
        let len = u64::from(segment.len);
        self.lost_bytes += if segment.lost { 0 } else { len };
        self.repaired_bytes -= if segment.repaired { len } else { 0 };
        self.doubled_bytes -= if std::mem::take(&mut segment.doubled) { len } else { 0 };
        (segment.lost, segment.repaired) = (true, false);
        self.repair_from = self.repair_from.min(segment.start);
        len
    }

    /// Everything that ends at or before `offset` and was neither reported nor repaired is given up; of
    /// what left twice the second is still under way. Returns how many bytes that are.
    pub(crate) fn lose_before(&mut self, offset: u64) -> u64 {
        let mut bytes = 0;
        let mut index = self.find(self.judged.max(self.una));
        while let Some(segment) = self.segments.get(index)
            && segment.end() <= offset
        {
            if !segment.lost {
                let doubled = segment.doubled;
                bytes += self.lose(index);
                if doubled {
                    self.repair_left(index);
                }
            }
            index += 1;
        }
        self.judged = self.judged.max(offset);
        bytes
    }

    /// The timer ran out for the oldest segment.
    pub(crate) fn mark_timeout(&mut self) {
        if let Some(head) = self.segments.front_mut() {
            head.timed_out = true;
        }
    }

    /// Everything is given up, also what the peer reported, which it may have dropped
    /// again (RFC 2018, section 8).
    pub(crate) fn lose_all(&mut self) -> u64 {
        self.forget_reports();
        let bytes = (0..self.segments.len()).map(|index| self.lose(index)).sum();
        self.judged = self.next;
        bytes
    }

    /// The oldest segment is not believed to have arrived, whatever was reported: it must be retransmitted when the
    /// timer runs out (RFC 2018, section 8).
    pub(crate) fn doubt_head(&mut self) {
        if let Some(head) = self.segments.front_mut()
            && std::mem::take(&mut head.sacked)
        {
            let end = head.end();
            self.runs.forget_before(end);
        }
    }

    /// The timer ran out for the oldest segment and for nothing else.
    pub(crate) fn lose_head(&mut self) -> u64 {
        let bytes = self.lose(0);
        self.mark_timeout();
        bytes
    }

    /// Everything that was not reported is given up. Returns how many bytes that are.
    pub(crate) fn lose_unreported(&mut self) -> u64 {
        (0..self.segments.len()).map(|index| self.lose(index)).sum()
    }

    /// Everything that ends at or before `offset`, was not reported and last left by `at` is given up. Returns how
    /// many bytes that are.
    pub(crate) fn lose_sent_by(&mut self, at: Instant, offset: u64) -> u64 {
        let mut bytes = 0;
        for index in 0..self.find(offset) {
            if self.segments[index].sent_at <= at {
                bytes += self.lose(index);
            }
        }
        bytes
    }

    /// Segments with more than `most` bytes are given up. Returns how many numbers that are.
    pub(crate) fn lose_longer_than(&mut self, most: u32) -> u64 {
        let mut lost = 0;
        for index in 0..self.segments.len() {
            if self.segments[index].len - u32::from(self.segments[index].fin) > most {
                lost += self.lose(index);
            }
        }
        lost
    }

    /// What was given up and is not repaired is believed to be under way again.
    pub(crate) fn believe(&mut self) {
        for segment in self.segments.iter_mut().filter(|s| s.lost && !s.repaired) {
            segment.lost = false;
            self.lost_bytes -= u64::from(segment.len);
        }
        self.judged = self.una;
    }

    fn forget_reports(&mut self) {
        if self.runs.bytes() > 0 {
            self.runs.clear();
            self.segments.iter_mut().for_each(|segment| segment.sacked = false);
        }
        self.judged = self.una;
    }
}
