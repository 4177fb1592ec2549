//! An acknowledgment takes the place of those that it makes needless.

use bentpipe_units::Instant;
use bentpipe_wire::Kind;

use super::fifo::Fifo;
use super::{Backlog, Cumulative, Discipline, Held, LineState, Packets};
use crate::{LossCause, QueueLimit};

/// ACK filtering (Balakrishnan, Padmanabhan and Katz 1999, section 4.2.2): when a cumulative
/// acknowledgment comes, those of the same connection with a smaller number leave the queue, since
/// the newer one says all of it.
///
/// Only plain acknowledgments are removed: not duplicates, nor any with SACK blocks or data. Of
/// XSTP's reports, if asked for, those STATs that name no gap.
#[derive(Clone, Debug)]
pub struct AckFilter {
    fifo: Fifo,
    reports: bool,
    in_place: bool,
}

impl AckFilter {
    /// An empty queue. With `reports` XSTP's reports are filtered as well. With `in_place` an
    /// acknowledgment moves up to the place of the oldest one that it removes.
    pub const fn new(limit: QueueLimit, reports: bool, in_place: bool) -> Self {
        Self { fifo: Fifo::new(limit), reports, in_place }
    }

    /// The acknowledgment in a packet that is filtered.
    fn filtered(&self, packet: &Held) -> Option<Cumulative> {
        let reports = self.reports && packet.kind == Kind::STAT;
        packet.ack.filter(|_| packet.kind == Kind::ACK || reports)
    }

    /// Removes what `packet` makes needless. Returns the place of the first.
    fn remove_needless(&mut self, packet: &Held, packets: &mut dyn Packets) -> Option<usize> {
        let newer = self.filtered(packet)?;
        let mut first = None;
        let mut place = 0;
        while let Some(older) = self.fifo.get(place) {
            let needless = older.flow == packet.flow
                && older.kind == packet.kind
                && older.ack.is_some_and(|ack| ack.plain && ack.next.is_before(newer.next));
            if needless {
                self.fifo.remove(place);
                packets.lost(&older, LossCause::Filtered);
                first = first.or(Some(place));
            } else {
                place += 1;
            }
        }
        first
    }
}

impl Discipline for AckFilter {
    fn enqueue(&mut self, _: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        let place = self.remove_needless(&packet, packets).filter(|_| self.in_place);
        match place {
            Some(place) if self.fifo.admits(line, &packet) => self.fifo.insert(place, packet),
            _ => {
                self.fifo.take_or_lose(line, packet, packets);
            }
        }
    }

    fn dequeue(&mut self, _now: Instant, _packets: &mut dyn Packets) -> Option<Held> {
        self.fifo.pop()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Seq32;

    use super::super::testing::{Watched, ack, data, drain, fill, ms};
    use super::*;

    /// Which packets leave and which are filtered when all these wait.
    fn filter(reports: bool, in_place: bool, packets: &[Held]) -> (Vec<u32>, Vec<u32>) {
        let mut queue = AckFilter::new(QueueLimit::Packets(20), reports, in_place);
        let mut seen = Watched::default();
        fill(&mut queue, &mut seen, packets.iter().copied());
        assert!(seen.lost.iter().all(|(_, cause)| *cause == LossCause::Filtered));
        let left = drain(&mut queue, &mut seen, ms(0));
        (left, seen.lost.into_iter().map(|(id, _)| id).collect())
    }

    #[test]
    fn the_newest_acknowledgment_of_each_connection_stays() {
        let packets =
            [ack(1, 1, 10), data(2), ack(3, 2, 10), ack(4, 1, 20), data(5), ack(6, 1, 30)];
        assert_eq!(filter(false, false, &packets), (vec![2, 3, 5, 6], vec![1, 4]));
        assert_eq!(filter(false, true, &packets), (vec![6, 2, 3, 5], vec![1, 4]));
    }

    #[test]
    fn duplicates_and_whatever_says_more_stay() {
        let mut sack = ack(3, 1, 10);
        sack.ack = Some(Cumulative { next: Seq32::new(10), plain: false });
        let packets = [ack(1, 1, 10), ack(2, 1, 10), sack, ack(4, 1, 5)];
        assert_eq!(filter(false, false, &packets), (vec![1, 2, 3, 4], vec![]));
        // A newer one removes the duplicates and leaves the blocks.
        let packets = [&packets[..], &[ack(5, 1, 20)]].concat();
        assert_eq!(filter(false, false, &packets), (vec![3, 5], vec![1, 2, 4]));
    }

    #[test]
    fn numbers_wrap() {
        let packets = [ack(1, 1, u32::MAX - 5), ack(2, 1, 10)];
        assert_eq!(filter(false, false, &packets), (vec![2], vec![1]));
    }

    #[test]
    fn reports_are_filtered_when_that_is_asked_for() {
        let report = |id, next| Held { kind: Kind::STAT, ..ack(id, 1, next) };
        let packets = [report(1, 10), ack(2, 1, 5), report(3, 20)];
        assert_eq!(filter(false, false, &packets), (vec![1, 2, 3], vec![]));
        assert_eq!(filter(true, false, &packets), (vec![2, 3], vec![1]));
    }

    #[test]
    fn what_is_removed_makes_room() {
        let mut queue = AckFilter::new(QueueLimit::Packets(2), false, false);
        let mut seen = Watched::default();
        fill(&mut queue, &mut seen, [ack(1, 1, 10), data(2), ack(3, 1, 20), data(4)]);
        assert_eq!(seen.lost, [(1, LossCause::Filtered), (4, LossCause::QueueFull)]);
    }
}
