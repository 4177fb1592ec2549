//! One direction of a connection: the data that go out, and their acknowledgements.

use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::tcp::{Flags, Options, SackBlock, Segment};

use super::Config;
use super::cache::Cache;
use crate::Verdict;

/// How often duplicates of one acknowledgement can ask for the same repair: more of them say that
/// what the agent believes is wrong.
const MOST_ASKED: u32 = 2;

/// What the agent knows of one direction.
#[derive(Debug)]
pub(super) struct Connection {
    cache: Cache,
    /// The end of the data seen.
    end: Seq32,
    /// The last acknowledgement, its window, and when it came.
    ack: Seq32,
    window: Option<u16>,
    progress_at: Instant,
    /// Duplicates of it so far, and how many of them were not expected since the last repair.
    duplicates: u32,
    unexpected: u32,
    /// Duplicates that what is on its way will still cause.
    expected: u32,
    srtt: Span,
    rttvar: Span,
    /// Where the sender ends.
    fin: Option<Seq32>,
}

impl Connection {
    /// A connection of which this segment is the first that was seen.
    pub(super) const fn new(first: &Segment, config: &Config) -> Self {
        Self {
            cache: Cache::new(),
            end: first.seq,
            ack: first.seq,
            window: None,
            progress_at: Instant::ZERO,
            duplicates: 0,
            unexpected: 0,
            expected: 0,
            srtt: config.srtt,
            rttvar: config.rttvar,
            fin: None,
        }
    }

    /// A segment of the sender goes out.
    pub(super) fn on_data(&mut self, now: Instant, segment: &Segment, config: &Config) {
        let end = segment.seq.plus(segment.seq_len());
        if segment.flags.contains(Flags::SYN) {
            (self.end, self.ack) = (end, end);
            return;
        }
        if segment.flags.contains(Flags::FIN) {
            self.fin = Some(end);
        }
        if segment.payload.is_empty() || !end.is_after(self.ack) {
            return;
        }
        if self.cache.len() == 0 {
            self.progress_at = now;
        }
        if let Some(cached) = self.cache.at(segment.seq) {
            cached.segment = segment.clone();
            (cached.sent_at, cached.repairs, cached.of_sender) = (now, 0, true);
            return;
        }
        let is_new = !segment.seq.is_before(self.end);
        self.end = self.end.latest(end);
        if self.cache.len() >= config.cache.max(1) {
            if !config.drop_oldest {
                return;
            }
            self.cache.drop_first();
        }
        self.cache.insert(now, segment, !is_new);
    }

    /// The queue of the link had no room for a segment: congestion, which is the sender's to know.
    pub(super) fn on_drop(&mut self, segment: &Segment) {
        self.cache.remove(segment.seq);
    }

    /// An acknowledgement comes in. Returns what becomes of it, and a segment to be retransmitted.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        config: &Config,
    ) -> (Verdict, Option<Segment>) {
        const PASSES: (Verdict, Option<Segment>) = (Verdict::Forward, None);
        if !segment.flags.contains(Flags::ACK) || segment.ack.is_before(self.ack) {
            return PASSES;
        }
        if segment.ack.is_after(self.ack) {
            self.advance(now, segment);
            return PASSES;
        }
        let same_window = self.window.replace(segment.window) == Some(segment.window);
        if segment.seq_len() > 0 || !same_window || reports_twice(segment) {
            return PASSES;
        }
        self.duplicates += 1;
        let above = self.cache.len().saturating_sub(1) as u32;
        let ack = self.ack;
        let Some(first) = self.cache.first_mut().filter(|first| first.segment.seq == ack) else {
            return PASSES; // Lost before it came here.
        };
        if first.of_sender {
            return PASSES;
        }
        if self.expected > 0 {
            self.expected -= 1;
            return (Verdict::Suppress, None);
        }
        if first.repairs >= config.most_repairs || first.asked >= MOST_ASKED {
            return PASSES;
        }
        if self.unexpected < config.threshold {
            self.unexpected += 1;
            return PASSES;
        }
        (first.repairs, first.asked, first.sent_at) = (first.repairs + 1, first.asked + 1, now);
        // The segments behind the lost one cause a duplicate each, of which some have come.
        self.expected = above.saturating_sub(self.duplicates);
        self.unexpected = 0;
        (Verdict::Suppress, Some(first.segment.clone()))
    }

    /// The receiver has got further.
    fn advance(&mut self, now: Instant, segment: &Segment) {
        if let Some(sent) = self.cache.free_before(segment.ack) {
            self.measure(now.since(sent));
        }
        (self.ack, self.window) = (segment.ack, Some(segment.window));
        self.end = self.end.latest(segment.ack);
        (self.duplicates, self.unexpected, self.expected) = (0, 0, 0);
        self.progress_at = now;
    }

    /// Smooths the round trip with a gain of 1/8, and its deviation with 1/4.
    fn measure(&mut self, rtt: Span) {
        let deviation = rtt.abs_diff(self.srtt);
        self.rttvar = (self.rttvar * 3 + deviation) / 4;
        self.srtt = (self.srtt * 7 + rtt) / 8;
    }

    /// When the first copy is retransmitted, if nothing happens: it is what the receiver waits for.
    pub(super) fn deadline(&self, config: &Config) -> Option<Instant> {
        let first = self.cache.first()?;
        if first.segment.seq != self.ack || first.repairs >= config.most_repairs {
            return None;
        }
        let timeout = (self.srtt + self.rttvar * 4).max(config.min_timeout);
        Some(first.sent_at.max(self.progress_at) + timeout)
    }

    /// Time has come to this point. Returns a segment to be retransmitted.
    pub(super) fn on_timeout(&mut self, now: Instant, config: &Config) -> Option<Segment> {
        if self.deadline(config)? > now {
            return None;
        }
        let first = self.cache.first_mut()?;
        (first.repairs, first.sent_at) = (first.repairs + 1, now);
        Some(first.segment.clone())
    }

    /// True when the receiver has all that the sender had to send.
    pub(super) fn is_over(&self) -> bool {
        self.fin.is_some_and(|fin| !fin.is_after(self.ack))
    }
}

/// The acknowledgement answers something that came twice (RFC 2883, section 4): it asks for nothing. A
/// needless repair has such an answer, and to take it for a request would call for the next one.
fn reports_twice(segment: &Segment) -> bool {
    let Options::Sack(blocks) = &segment.options else { return false };
    blocks.first().is_some_and(|twice| {
        let within = |outer: &SackBlock| {
            !twice.first.is_before(outer.first) && !twice.end.is_after(outer.end)
        };
        !twice.end.is_after(segment.ack) || blocks.get(1).is_some_and(within)
    })
}
