//! What never came of the data that come in over the link.

use std::collections::VecDeque;

use bentpipe_units::Seq32;
use bentpipe_wire::tcp::{Flags, Segment};

/// Holes that are remembered; older ones are forgotten.
const MOST_HOLES: usize = 64;

/// The holes in the data of one direction.
#[derive(Debug)]
pub(super) struct Holes {
    /// The end of the data seen.
    end: Seq32,
    /// First and end of each hole, oldest first.
    holes: VecDeque<(Seq32, Seq32)>,
}

impl Holes {
    /// No holes before the end of this segment.
    pub(super) fn new(first: &Segment) -> Self {
        Self { end: first.seq.plus(first.seq_len()), holes: VecDeque::new() }
    }

    /// Data come in.
    pub(super) fn on_data(&mut self, segment: &Segment) {
        let (seq, end) = (segment.seq, segment.seq.plus(segment.seq_len()));
        if seq.is_after(self.end) {
            if self.holes.len() == MOST_HOLES {
                self.holes.pop_front();
            }
            self.holes.push_back((self.end, seq));
        } else {
            let missing =
                |(first, after): &(Seq32, Seq32)| first.is_before(seq) || after.is_after(end);
            self.holes.retain(missing);
        }
        self.end = self.end.latest(end);
    }

    /// True when this segment does nothing but ask for data that were lost on the link.
    pub(super) fn explains(&self, segment: &Segment) -> bool {
        segment.flags.contains(Flags::ACK)
            && segment.seq_len() == 0
            && self.holes.iter().any(|(first, end)| segment.ack.is_in(*first, *end))
    }
}
