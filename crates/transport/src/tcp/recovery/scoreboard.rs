//! What was sent and is not acknowledged yet, segment by segment.

mod losses;

use std::collections::VecDeque;

use bentpipe_units::Instant;

use super::runs::Runs;

/// A segment that was sent. Offsets count the sequence numbers since the initial one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Offset of its first byte.
    pub(crate) start: u64,
    /// Sequence numbers that it takes: its bytes, and one for a FIN.
    pub(crate) len: u32,
    /// It ends the stream.
    pub(crate) fin: bool,
    /// The peer reported it.
    pub(crate) sacked: bool,
    /// It is given up and counts as lost until it is acknowledged.
    pub(crate) lost: bool,
    /// It is lost and a retransmission is under way.
    pub(crate) repaired: bool,
    /// It is not lost as far as is known and left again all the same: it is under way twice.
    doubled: bool,
    /// The timer ran out for it.
    pub(crate) timed_out: bool,
    /// How often it was sent.
    pub(crate) transmissions: u32,
    /// Number of its latest departure, among all of the connection.
    pub(crate) departure: u64,
    /// When it was last sent.
    pub(crate) sent_at: Instant,
    /// What had been delivered when it was last sent: the parts of a [`Stamp`].
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    app_limited: bool,
}

// A line of a cache: by the time that it is acknowledged it is not near any more.
const _: () = assert!(size_of::<Sent>() == 64);

/// The state of delivery at a departure (draft-cheng-iccrg-delivery-rate-estimation, section 3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    /// Bytes delivered by then.
    pub(crate) delivered: u64,
    /// When the last of them was.
    pub(crate) delivered_at: Instant,
    /// When the first segment of that flight had been sent.
    pub(crate) first_sent_at: Instant,
    /// The application had no more to send.
    pub(crate) app_limited: bool,
}

impl Sent {
    const UNSENT: Self = Self {
        start: 0,
        len: 0,
        fin: false,
        sacked: false,
        lost: false,
        repaired: false,
        doubled: false,
        timed_out: false,
        transmissions: 0,
        departure: 0,
        sent_at: Instant::ZERO,
        delivered: 0,
        delivered_at: Instant::ZERO,
        first_sent_at: Instant::ZERO,
        app_limited: false,
    };

    /// Offset behind it.
    pub(crate) const fn end(&self) -> u64 {
        self.start + self.len as u64
    }

    /// Its latest departure.
    #[inline]
    const fn departed(&self) -> Departed {
        let Self { delivered, delivered_at, first_sent_at, app_limited, .. } = *self;
        let stamp = Stamp { delivered, delivered_at, first_sent_at, app_limited };
        Departed { departure: self.departure, sent_at: self.sent_at, stamp }
    }

    /// It leaves at `now`, as departure number `departure`.
    #[inline]
    const fn depart(&mut self, departure: u64, now: Instant, stamp: Stamp) {
        (self.departure, self.sent_at) = (departure, now);
        (self.delivered, self.delivered_at) = (stamp.delivered, stamp.delivered_at);
        (self.first_sent_at, self.app_limited) = (stamp.first_sent_at, stamp.app_limited);
        self.transmissions += 1;
    }
}

/// A departure of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departed {
    /// Its number, among all of the connection.
    pub(crate) departure: u64,
    /// When it was.
    pub(crate) sent_at: Instant,
    /// What had been delivered by then.
    pub(crate) stamp: Stamp,
}

/// What an acknowledgement reported for the first time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivered {
    /// Bytes.
    pub(crate) bytes: u64,
    /// Segments.
    pub(crate) segments: u64,
    /// The departure of the segment that left last of them.
    pub(crate) newest: Option<Departed>,
    /// The departure of the last of those that were sent only once, and the offset of the first of them.
    pub(crate) sent_once: Option<Departed>,
    pub(crate) first_sent_once: Option<u64>,
    /// One of them was retransmitted: what it covered may have arrived long before.
    pub(crate) resent: bool,
}

impl Delivered {
    /// Takes so many bytes of a segment.
    fn take(&mut self, segment: &Sent, len: u64) {
        self.bytes += len;
        self.segments += 1;
        if self.newest.is_none_or(|newest| newest.departure < segment.departure) {
            self.newest = Some(segment.departed());
        }
        self.resent |= segment.transmissions > 1;
        if segment.transmissions == 1 {
            if self.sent_once.is_none_or(|last| last.departure < segment.departure) {
                self.sent_once = Some(segment.departed());
            }
            let first =
                self.first_sent_once.map_or(segment.start, |first| first.min(segment.start));
            self.first_sent_once = Some(first);
        }
    }
}

/// The segments that were sent and are not acknowledged, in the order of their offsets.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Sent>,
    una: u64,
    next: u64,
    runs: Runs,
    lost_bytes: u64,
    repaired_bytes: u64,
    doubled_bytes: u64,
    /// Nothing before this offset waits for a retransmission.
    repair_from: u64,
    /// Everything before this offset was looked at by [`Scoreboard::lose_before`].
    judged: u64,
    departures: u64,
}

impl Scoreboard {
    /// Nothing is sent yet; the first segment will have this offset.
    pub(crate) fn new(first: u64) -> Self {
        Self {
            segments: VecDeque::new(),
            una: first,
            next: first,
            runs: Runs::default(),
            lost_bytes: 0,
            repaired_bytes: 0,
            doubled_bytes: 0,
            repair_from: first,
            judged: first,
            departures: 0,
        }
    }

    /// The first offset that is not acknowledged.
    pub(crate) const fn una(&self) -> u64 {
        self.una
    }

    /// The offset of the next new segment.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Bytes sent and not acknowledged.
    pub(crate) const fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Bytes that were selectively acknowledged.
    pub(crate) const fn sacked_bytes(&self) -> u64 {
        self.runs.bytes()
    }

    /// Bytes that are under way as far as is known: neither acknowledged nor lost, and what left again
    /// (pipe in RFC 6675, section 4).
    pub(crate) const fn pipe(&self) -> u64 {
        let again = self.repaired_bytes + self.doubled_bytes;
        self.outstanding() - self.runs.bytes() - self.lost_bytes + again
    }

    /// What is selectively acknowledged.
    pub(crate) const fn runs(&self) -> &Runs {
        &self.runs
    }

    /// The oldest segment.
    pub(crate) fn head(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// The segment of this number, counted from the oldest.
    pub(crate) fn get(&self, index: usize) -> Option<&Sent> {
        self.segments.get(index)
    }

    /// The newest segment and its number.
    pub(crate) fn last(&self) -> Option<(usize, &Sent)> {
        Some((self.segments.len().checked_sub(1)?, self.segments.back()?))
    }

    /// Number of the first segment that ends after `offset`.
    pub(crate) fn find(&self, offset: u64) -> usize {
        self.segments.partition_point(|segment| segment.end() <= offset)
    }

    /// A new segment of `len` sequence numbers leaves.
    #[inline(always)]
    pub(crate) fn push(&mut self, len: u32, fin: bool, now: Instant, stamp: Stamp) {
        self.departures += 1;
        // Written field by field where it lies: copied from elsewhere by wide loads it would wait for the narrow stores.
        self.segments.push_back(Sent::UNSENT);
        if let Some(segment) = self.segments.back_mut() {
            (segment.start, segment.len, segment.fin) = (self.next, len, fin);
            segment.depart(self.departures, now, stamp);
        }
        self.next += u64::from(len);
    }

    /// The segment of this number leaves once more.
    pub(crate) fn resend(&mut self, index: usize, now: Instant, stamp: Stamp) {
        let Some(segment) = self.segments.get_mut(index) else { return };
        self.departures += 1;
        segment.depart(self.departures, now, stamp);
        if segment.lost {
            self.repair_left(index);
        } else if !segment.doubled {
            segment.doubled = true;
            self.doubled_bytes += u64::from(segment.len);
        }
    }

    /// A retransmission of the lost segment of this number is under way.
    fn repair_left(&mut self, index: usize) {
        if let Some(segment) = self.segments.get_mut(index)
            && !std::mem::replace(&mut segment.repaired, true)
        {
            self.repaired_bytes += u64::from(segment.len);
        }
    }

    /// Everything before `offset` is acknowledged.
    pub(crate) fn acknowledge(&mut self, offset: u64, delivered: &mut Delivered) {
        let offset = offset.clamp(self.una, self.next);
        while let Some(first) = self.segments.front_mut() {
            if first.start >= offset {
                break;
            }
            // The peer may have cut it: the rest stays.
            let whole = first.end() <= offset;
            let len = if whole { u64::from(first.len) } else { offset - first.start };
            if !first.sacked {
                delivered.take(first, len);
            }
            self.lost_bytes -= if first.lost { len } else { 0 };
            self.repaired_bytes -= if first.repaired { len } else { 0 };
            self.doubled_bytes -= if first.doubled { len } else { 0 };
            if !whole {
                (first.start, first.len) = (offset, first.len - len as u32);
                break;
            }
            self.segments.pop_front();
        }
        self.una = offset;
        self.runs.forget_before(offset);
    }

    /// The one or two whole segments before `offset`, if nothing is reported, lost or being repaired and each of
    /// them was sent once: how many, and the departure of the last one.
    #[inline]
    pub(crate) fn whole_before(&self, offset: u64) -> Option<(u64, Departed)> {
        if self.runs.bytes() + self.lost_bytes + self.repaired_bytes > 0 {
            return None;
        }
        let first = self.segments.front()?;
        let (count, last) =
            if first.end() == offset { (1, first) } else { (2, self.segments.get(1)?) };
        let whole = last.end() == offset && first.transmissions == 1 && last.transmissions == 1;
        whole.then(|| (count, last.departed()))
    }

    /// The `count` segments of [`Scoreboard::whole_before`] are acknowledged.
    #[inline]
    pub(crate) fn acknowledge_whole(&mut self, count: u64, offset: u64) {
        (0..count).for_each(|_| _ = self.segments.pop_front());
        self.una = offset;
    }

    /// The peer has `first .. end`. Segments that it has only in part stay as they are.
    pub(crate) fn sack(&mut self, first: u64, end: u64, delivered: &mut Delivered) {
        let (mut at, end) = (first.max(self.una), end.min(self.next));
        while at < end {
            if let Some(known) = self.runs.end_of_run_at(at) {
                at = known;
                continue;
            }
            let index = self.segments.partition_point(|segment| segment.start < at);
            let Some(segment) = self.segments.get_mut(index) else { return };
            if segment.end() > end {
                return;
            }
            at = segment.end();
            if segment.sacked {
                continue;
            }
            segment.sacked = true;
            let len = u64::from(segment.len);
            self.lost_bytes -= if std::mem::take(&mut segment.lost) { len } else { 0 };
            self.repaired_bytes -= if std::mem::take(&mut segment.repaired) { len } else { 0 };
            self.doubled_bytes -= if std::mem::take(&mut segment.doubled) { len } else { 0 };
            delivered.take(segment, len);
            let (start, end) = (segment.start, segment.end());
            self.runs.insert(start, end);
        }
    }

    /// Something is given up and not repaired.
    #[inline]
    pub(crate) const fn has_lost(&self) -> bool {
        self.lost_bytes != self.repaired_bytes
    }

    /// Something lost has not arrived yet, be it repaired or not.
    pub(crate) const fn has_losses(&self) -> bool {
        self.lost_bytes > 0
    }

    /// Retransmissions of what is lost are under way.
    pub(crate) const fn is_repairing(&self) -> bool {
        self.repaired_bytes > 0
    }

    /// The segments, the oldest first.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &Sent> {
        self.segments.iter()
    }

    /// Number of the first segment that waits for a retransmission.
    #[inline]
    pub(crate) fn next_retransmission(&mut self) -> Option<usize> {
        if self.has_lost() { self.look_for_retransmission() } else { None }
    }

    #[inline(never)]
    fn look_for_retransmission(&mut self) -> Option<usize> {
        let first = self.find(self.repair_from.max(self.una));
        let mut rest = self.segments.range(first..).enumerate();
        let (offset, found) = rest.find(|(_, segment)| segment.lost && !segment.repaired)?;
        self.repair_from = found.start;
        Some(first + offset)
    }

    /// Cuts the segment of this number to at most `len` sequence numbers; the rest is a segment of its
    /// own with the same history.
    pub(crate) fn cut(&mut self, index: usize, len: u32) {
        let Some(segment) = self.segments.get_mut(index) else { return };
        let whole = *segment;
        if len == 0 || whole.len <= len {
            return;
        }
        (segment.len, segment.fin) = (len, false);
        let rest = Sent { start: whole.start + u64::from(len), len: whole.len - len, ..whole };
        self.segments.insert(index + 1, rest);
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self { departures: self.departures, ..Self::new(self.next) };
    }
}

#[cfg(test)]
mod tests;
