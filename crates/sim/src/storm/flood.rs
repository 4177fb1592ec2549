//! More requests for keys at once than a host reads: it asks for proofs of addresses, and some are given.

use bentpipe_association::secure::{Index, Initiator, SealedCookie};
use bentpipe_link::Stream;
use bentpipe_units::{Instant, Span};

/// Requests of a flood; more than a host reads in a second without a proof.
const REQUESTS: u64 = 300;
/// Seconds from one flood to the next, on average.
const PAUSE: f64 = 60.0;

/// The floods of one peer, in some storms. They draw from a stream of their own, so that a storm without them is the same
/// as ever.
pub(super) struct Flood {
    random: Stream,
    next: Option<Instant>,
    asked: Vec<(Index, Initiator)>,
    proved: Vec<Vec<u8>>,
}

impl Flood {
    pub(super) fn new(mut random: Stream) -> Self {
        let next = random.chance(0.25).then(|| Instant::ZERO + pause(&mut random));
        Self { random, next, asked: Vec::new(), proved: Vec::new() }
    }

    pub(super) const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// The host that is flooded asks for a proof.
    pub(super) fn challenge(&mut self, receiver: Index, sealed: &SealedCookie<'_>) {
        if let Some((_, asked)) = self.asked.iter().find(|(index, _)| *index == receiver)
            && let Some(cookie) = asked.open_cookie(sealed)
            && self.random.chance(0.5)
        {
            self.proved.push(asked.datagram(Some(&cookie)));
        }
    }

    /// What it sends now: requests that `request` makes, once it is time, and proofs that were asked for.
    pub(super) fn act(
        &mut self,
        now: Instant,
        mut request: impl FnMut(&mut Stream, Index) -> Initiator,
    ) -> Vec<Vec<u8>> {
        let mut out = std::mem::take(&mut self.proved);
        if self.next.is_some_and(|at| at <= now) {
            self.next = Some(now + pause(&mut self.random));
            self.asked.clear();
            for _ in 0..REQUESTS {
                let index = Index::new(self.random.bits() as u32);
                let asked = request(&mut self.random, index);
                out.push(asked.datagram(None));
                self.asked.push((index, asked));
            }
        }
        out
    }
}

fn pause(random: &mut Stream) -> Span {
    Span::from_secs_f64(1.0 + random.exponential(PAUSE))
}
