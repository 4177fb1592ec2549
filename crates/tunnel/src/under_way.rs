//! What was sent and of which is not known what became of it.

use std::collections::VecDeque;

use bentpipe_transport::payload_size::Outcome;
use bentpipe_units::{Instant, Seq32, Span};
use bytes::Bytes;

use crate::message::Report;
use crate::protection::Protection;

/// Most packets that are remembered.
const MOST: usize = 16_384;
/// A packet is lost when one came that was sent so many later: packets overtake each other.
const REORDERED: u32 = 3;
/// Where packets were found that only came late, one is waited for as long as this part of a round trip.
const REORDERING: u64 = 4;

/// A packet or parity that was sent.
#[derive(Debug)]
struct Sent {
    at: Instant,
    /// Empty for parity.
    body: Bytes,
    /// Bytes on the path.
    bytes: u64,
    arrived: bool,
    /// When it was found missing.
    lost_at: Option<Instant>,
    retransmitted: bool,
}

/// A block whose parity was sent.
#[derive(Clone, Copy, Debug)]
struct Block {
    first: Seq32,
    of: u8,
    parity: u8,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    /// Number of the first one that is remembered, and of the next one.
    first: Seq32,
    sent: VecDeque<Sent>,
    /// Bytes of their bodies, and the most of them.
    held: usize,
    most: usize,
    blocks: VecDeque<Block>,
    /// The highest number that a report knew of.
    known: Seq32,
    /// What was sent so long before something that came is lost (RFC 8985, section 6.2).
    reordering: Span,
}

/// How a report is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// What was sent earlier is not retransmitted.
    pub(crate) not_before: Instant,
    pub(crate) round_trip: Span,
    pub(crate) protection: Protection,
    /// Bytes of a full packet.
    pub(crate) full: u64,
}

/// What a report tells.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Bytes and packets that arrived, and when the newest of them was sent.
    pub(crate) arrived: Tally,
    pub(crate) newest: Option<Instant>,
    /// Something arrived as it was sent, and not only when it was retransmitted.
    pub(crate) is_direct: bool,
    /// Bytes and packets that are missing, and when the oldest of them was sent.
    pub(crate) lost: Tally,
    pub(crate) oldest: Option<Instant>,
    /// What became of full packets, and the first one of them.
    pub(crate) outcome: Outcome,
    pub(crate) first_full: Option<Seq32>,
    /// A measurement of the round trip.
    pub(crate) round_trip: Option<Span>,
    /// What is worth retransmitting.
    pub(crate) retransmit: Vec<Seq32>,
}

impl News {
    /// It is known what became of a full packet.
    fn judged(&mut self, number: Seq32) {
        self.outcome.segments += 1;
        self.first_full.get_or_insert(number);
    }
}

/// Bytes and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
}

impl Tally {
    const fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.packets += 1;
    }
}

impl UnderWay {
    /// Nothing was sent; so many bytes may be remembered.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// The number of what is sent next.
    pub(crate) fn next(&self) -> Seq32 {
        self.first.plus(self.sent.len() as u32)
    }

    /// One was sent. Returns bytes of those that are forgotten for it.
    pub(crate) fn sent(&mut self, now: Instant, body: Bytes, bytes: u64) -> u64 {
        self.held += body.len();
        let (arrived, lost_at, retransmitted) = (false, None, false);
        self.sent.push_back(Sent { at: now, body, bytes, arrived, lost_at, retransmitted });
        let mut forgotten = 0;
        while self.sent.len() > MOST || self.held > self.most {
            forgotten += self.forget_first();
        }
        forgotten
    }

    /// So many bytes may be remembered from now on. Returns bytes of those that are forgotten for it.
    pub(crate) fn limit(&mut self, most: usize) -> u64 {
        self.most = most;
        let mut forgotten = 0;
        while self.held > self.most {
            forgotten += self.forget_first();
        }
        forgotten
    }

    /// When the last of all was sent.
    pub(crate) fn newest(&self) -> Option<Instant> {
        self.sent.back().map(|sent| sent.at)
    }

    /// Nothing arrives this way. Of what was sent since then all that has not arrived is retransmitted, and no block is waited
    /// for.
    pub(crate) fn leave(&mut self, not_before: Instant) -> Vec<Seq32> {
        self.blocks.clear();
        let mut picked = Vec::new();
        for (offset, sent) in (0..).zip(&mut self.sent) {
            let is_open = !sent.arrived && !sent.body.is_empty() && !sent.retransmitted;
            if is_open && sent.at >= not_before {
                sent.retransmitted = true;
                picked.push(self.first.plus(offset));
            }
        }
        picked
    }

    /// A block is complete.
    pub(crate) fn closed(&mut self, first: Seq32, of: u8, parity: u8) {
        self.blocks.push_back(Block { first, of, parity });
    }

    /// The body of a packet that is retransmitted now, if it was sent since then and somebody still misses it.
    pub(crate) fn body(&self, seq: Seq32, not_before: Instant) -> Option<Bytes> {
        let sent = self.get(seq)?;
        let is_missing = !sent.arrived && !sent.body.is_empty();
        (is_missing && sent.at >= not_before).then(|| sent.body.clone())
    }

    /// Whether a packet has arrived; none where that is forgotten.
    pub(crate) fn has_arrived(&self, seq: Seq32) -> Option<bool> {
        self.get(seq).map(|sent| sent.arrived)
    }

    /// Nothing was sent for longer than a report takes: what is missing is not late. Of what is known to be missing all is
    /// retransmitted, and besides the newest packet that did not arrive, which shows what else is missing.
    pub(crate) fn tail(&mut self, not_before: Instant) -> Vec<Seq32> {
        let known = self.known.distance_from(self.first);
        let known = if known > self.sent.len() as u32 { 0 } else { known };
        let mut picked = Vec::new();
        let mut is_newest = true;
        for (offset, sent) in self.sent.iter_mut().enumerate().rev() {
            let offset = offset as u32;
            if sent.arrived || sent.body.is_empty() {
                continue;
            }
            let is_candidate = offset < known || std::mem::take(&mut is_newest);
            if is_candidate && !sent.retransmitted && sent.at >= not_before {
                sent.retransmitted = true;
                picked.push(self.first.plus(offset));
            }
        }
        picked.reverse();
        picked
    }

    /// When the last of all was sent, if it is not known of all what became of them.
    pub(crate) fn last_sent(&self) -> Option<Instant> {
        self.sent.back().filter(|_| self.is_open()).map(|sent| sent.at)
    }

    /// Whether a packet may still be missing, or counts as under way. Parity does, although nobody retransmits it.
    pub(crate) fn is_open(&self) -> bool {
        let is_open = |sent: &Sent| sent.lost_at.is_none() || !sent.body.is_empty();
        self.sent.iter().rev().any(|sent| !sent.arrived && is_open(sent))
    }

    /// Forgets what was sent before then. Returns bytes of which it is not known what became of them.
    pub(crate) fn forget(&mut self, before: Instant) -> u64 {
        let mut unknown = 0;
        while self.sent.front().is_some_and(|sent| sent.arrived || sent.at < before) {
            unknown += self.forget_first();
        }
        unknown
    }

    fn forget_first(&mut self) -> u64 {
        let Some(sent) = self.sent.pop_front() else { return 0 };
        self.held -= sent.body.len();
        self.first = self.first.plus(1);
        while self.blocks.front().is_some_and(|block| !self.first.is_before(block.end())) {
            self.blocks.pop_front();
        }
        if sent.arrived || sent.lost_at.is_some() { 0 } else { sent.bytes }
    }

    fn get(&self, seq: Seq32) -> Option<&Sent> {
        self.sent.get(seq.distance_from(self.first) as usize)
    }

    /// The peer tells what arrived.
    pub(crate) fn report(&mut self, now: Instant, report: &Report, terms: &Terms) -> News {
        let mut news = News::default();
        let below = report.next.distance_from(self.first);
        if below > self.sent.len() as u32 {
            // Of before what is remembered, or of what was never sent.
            return news;
        }
        let missing = missing(report, below);
        let newest = below.checked_sub(1).and_then(|newest| self.sent.get(newest as usize));
        let newest_at = newest.map_or(Instant::ZERO, |newest| newest.at);
        if report.next.is_after(self.known) && newest.is_some_and(|newest| !newest.retransmitted) {
            let round_trip = now.since(newest_at).saturating_sub(report.held());
            news.round_trip = (!round_trip.is_zero()).then_some(round_trip);
        }
        self.known = self.known.latest(report.next);
        // The packet before was lost too.
        let mut is_run = false;
        for (offset, (sent, missing)) in (0..below).zip(self.sent.iter_mut().zip(&missing)) {
            let was_lost = std::mem::replace(&mut is_run, sent.lost_at.is_some());
            if sent.arrived {
                continue;
            }
            let overtaken =
                offset + REORDERED < below && newest_at.since(sent.at) >= self.reordering;
            if !missing {
                sent.arrived = true;
                news.is_direct |= !sent.retransmitted;
                self.held -= sent.body.len();
                sent.body = Bytes::new();
                match sent.lost_at {
                    // What was taken for lost was counted then. It was only late if it came before a retransmission
                    // could, and parity.
                    Some(lost)
                        if now.since(lost) < terms.round_trip.mul_div(3, 4)
                            && !was_made(&self.blocks, self.first.plus(offset), report.next) =>
                    {
                        self.reordering = terms.round_trip / REORDERING;
                    }
                    Some(_) => {}
                    None => {
                        news.arrived.add(sent.bytes);
                        news.newest = news.newest.max(Some(sent.at));
                        if sent.bytes >= terms.full {
                            news.judged(self.first.plus(offset));
                        }
                    }
                }
            } else if sent.lost_at.is_none() && overtaken {
                sent.lost_at = Some(now);
                is_run = true;
                news.lost.add(sent.bytes);
                news.oldest = Instant::earliest(news.oldest, Some(sent.at));
                if sent.bytes >= terms.full {
                    news.judged(self.first.plus(offset));
                    news.outcome.lost += 1;
                    news.outcome.runs += u32::from(!was_lost);
                }
            }
        }
        self.pick(below, newest_at, terms, &mut news.retransmit);
        news
    }

    /// Of each block that is over, as many packets as it lacks parity for.
    fn pick(&mut self, below: u32, newest: Instant, terms: &Terms, picked: &mut Vec<Seq32>) {
        for block in &self.blocks {
            let end = block.end().distance_from(self.first);
            if end > below {
                break;
            }
            let first = end.saturating_sub(u32::from(block.of) + u32::from(block.parity));
            let data = end.saturating_sub(u32::from(block.parity));
            let missing = |from: u32, to: u32| {
                let range = (from..to).filter_map(|n| self.sent.get(n as usize));
                range.filter(|sent| !sent.arrived)
            };
            // The last of its parity may have been overtaken.
            let last = self.sent.get(end.saturating_sub(1) as usize);
            let is_over = last.is_some_and(|last| newest.since(last.at) >= self.reordering);
            let lost = if block.parity > 0 {
                let parity = usize::from(block.parity).saturating_sub(missing(data, end).count());
                if is_over { missing(first, data).count().saturating_sub(parity) } else { 0 }
            } else {
                missing(first, data).filter(|sent| sent.lost_at.is_some()).count()
            };
            let coming = missing(first, data).filter(|sent| sent.retransmitted).count();
            let mut lacks = lost.saturating_sub(coming);
            if lacks > 0 {
                // Of these, too, some are lost.
                lacks += usize::from(terms.protection.count(lacks, false));
            }
            for n in first..data {
                let Some(sent) = self.sent.get_mut(n as usize) else { continue };
                let is_candidate = block.parity > 0 || sent.lost_at.is_some();
                let in_time = sent.at >= terms.not_before;
                if lacks > 0 && is_candidate && !sent.arrived && !sent.retransmitted && in_time {
                    sent.retransmitted = true;
                    lacks -= 1;
                    picked.push(self.first.plus(n));
                }
            }
        }
    }
}

/// Whether a packet may have been made of parity of its block, which came before the `next` one.
fn was_made(blocks: &VecDeque<Block>, packet: Seq32, next: Seq32) -> bool {
    let after = blocks.partition_point(|block| !packet.is_before(block.end()));
    let block = blocks.get(after).filter(|block| !packet.is_before(block.first));
    block.is_some_and(|block| block.parity > 0 && block.first.plus(block.of.into()).is_before(next))
}

/// Which of the packets before the next one are missing, so many of them.
fn missing(report: &Report, below: u32) -> Vec<bool> {
    let mut missing = vec![false; below as usize];
    for range in &report.missing {
        let before = u32::from(range.before);
        let from = below.saturating_sub(before);
        let count = u32::from(range.count).saturating_sub(before.saturating_sub(below));
        let to = from.saturating_add(count).min(below);
        missing[from.min(to) as usize..to as usize].fill(true);
    }
    missing
}

impl Block {
    const fn end(&self) -> Seq32 {
        self.first.plus(self.of as u32 + self.parity as u32)
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::xstp::ReceiveTimestamp;

    use super::*;
    use crate::message::Range;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    /// A block of ten with so much parity, a packet in each millisecond.
    fn block(parity: u8) -> UnderWay {
        let mut under_way = UnderWay::new(1 << 20);
        for n in 0..10 {
            under_way.sent(at(n), Bytes::from_static(b"body"), 100);
        }
        under_way.closed(Seq32::new(0), 10, parity);
        for n in 0..u64::from(parity) {
            under_way.sent(at(10 + n), Bytes::new(), 100);
        }
        under_way
    }

    fn report(next: u32, missing: &[u32]) -> Report {
        let range = |seq: &u32| Range { before: (next - seq) as u16, count: 1 };
        Report {
            run: 0,
            next: Seq32::new(next),
            held: 5_000,
            received_at: ReceiveTimestamp::from_ticks(0),
            missing: missing.iter().map(range).collect(),
        }
    }

    fn terms(not_before: u64) -> Terms {
        let (round_trip, protection) = (Span::from_millis(600), Protection::Off);
        Terms { not_before: at(not_before), round_trip, protection, full: 100 }
    }

    fn numbers(news: &News) -> Vec<u32> {
        news.retransmit.iter().map(|seq| seq.get()).collect()
    }

    #[test]
    fn as_many_are_retransmitted_as_parity_does_not_bring_back() {
        let mut under_way = block(3);
        let news = under_way.report(at(600), &report(13, &[1, 4, 5, 8, 11]), &terms(0));
        assert_eq!(numbers(&news), [1, 4], "four lack, two of three parity packets came");
        assert_eq!((news.arrived.packets, news.lost.packets), (8, 4));
        assert_eq!((news.newest, news.oldest), (Some(at(12)), Some(at(1))));
        assert_eq!(news.round_trip, Some(Span::from_millis(583)));
        let again = under_way.report(at(650), &report(13, &[1, 4, 5, 8, 11]), &terms(0));
        assert!(numbers(&again).is_empty() && again.lost.packets == 0, "once");
    }

    #[test]
    fn what_is_late_is_not_retransmitted_and_what_came_after_all_counts_once() {
        let mut under_way = block(0);
        assert_eq!(numbers(&under_way.report(at(600), &report(10, &[2, 6]), &terms(5))), [6]);
        let news = under_way.report(at(700), &report(10, &[]), &terms(5));
        assert_eq!((news.arrived.packets, news.lost.packets), (0, 0));
        assert_eq!((under_way.forget(at(0)), under_way.next()), (0, Seq32::new(10)));
    }

    #[test]
    fn nothing_is_retransmitted_before_parity_had_its_chance() {
        let mut under_way = block(3);
        assert!(
            numbers(&under_way.report(at(600), &report(12, &[1, 2, 3, 4]), &terms(0))).is_empty()
        );
    }

    #[test]
    fn what_was_made_of_parity_was_not_late_and_what_came_before_parity_was() {
        for (next, is_late) in [(13, false), (10, true)] {
            let mut under_way = block(3);
            let news = under_way.report(at(600), &report(10, &[1, 2, 4]), &terms(0));
            assert_eq!(news.outcome, Outcome { segments: 10, lost: 3, runs: 2 });
            assert_eq!(news.first_full, Some(Seq32::new(0)));
            under_way.report(at(650), &report(next, &[]), &terms(0));
            assert_eq!(!under_way.reordering.is_zero(), is_late);
        }
    }

    #[test]
    fn reports_of_nonsense_change_nothing() {
        let mut under_way = block(3);
        for next in [14, 1 << 31, u32::MAX] {
            let news = under_way.report(at(600), &report(next, &[next]), &terms(0));
            assert_eq!((news.arrived, news.retransmit.len()), (Tally::default(), 0));
        }
        let missing = vec![Range { before: u16::MAX, count: u16::MAX }; 128];
        let endless = Report { held: u32::MAX, missing, ..report(13, &[]) };
        under_way.report(at(600), &endless, &terms(0));
    }

    #[test]
    fn after_a_pause_what_is_missing_is_retransmitted_and_the_newest_packet_to_show_what_is() {
        let mut under_way = block(0);
        assert_eq!(under_way.tail(at(0)), [Seq32::new(9)]);
        assert!(under_way.tail(at(0)).is_empty() && under_way.is_open());
        assert_eq!(under_way.forget(at(100)), 1_000);
        let mut under_way = block(0);
        assert!(numbers(&under_way.report(at(600), &report(10, &[8]), &terms(0))).is_empty());
        assert_eq!(under_way.tail(at(0)), [Seq32::new(8)], "nothing overtook it by three");
        under_way.report(at(900), &report(10, &[]), &terms(0));
        assert!(!under_way.is_open());
    }

    #[test]
    fn parity_of_which_nobody_tells_is_under_way_until_it_is_forgotten() {
        let mut under_way = block(3);
        under_way.report(at(600), &report(10, &[]), &terms(0));
        assert_eq!((under_way.last_sent(), under_way.forget(at(12))), (Some(at(12)), 200));
        assert_eq!((under_way.forget(at(13)), under_way.last_sent()), (100, None));
        let mut lost = block(3);
        lost.report(at(600), &report(13, &[10, 11]), &terms(0));
        assert!(lost.is_open());
        lost.report(at(600), &report(13, &[]), &terms(0));
        assert!(!lost.is_open());
    }
}
