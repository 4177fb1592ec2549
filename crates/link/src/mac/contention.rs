//! Minislots that terminals choose at random: slotted ALOHA for requests.

use bentpipe_units::{Instant, Span};

use crate::Stream;

/// Terminals that ask in minislots which all of them share. Two that choose the same one of a frame are both not
/// heard; they know it when an answer could have come, and try again some frames later.
#[derive(Debug)]
pub(super) struct Contention {
    minislots: u64,
    /// Who was not heard tries again after 0 to so many frames, this one excluded.
    backoff: u64,
    contenders: Vec<Contender>,
}

#[derive(Debug)]
struct Contender {
    stream: Stream,
    /// The minislot of this frame in which it asks.
    choice: Option<u64>,
    /// It knows what became of its last request, and has waited if it was not heard.
    asks_from: Instant,
}

impl Contention {
    /// Terminals that draw from these streams what they choose out of so many minislots, and how many frames they
    /// wait.
    pub(super) fn new(
        minislots: u32,
        backoff: u32,
        streams: impl IntoIterator<Item = Stream>,
    ) -> Self {
        let new = |stream| Contender { stream, choice: None, asks_from: Instant::ZERO };
        Self {
            minislots: minislots.into(),
            backoff: backoff.into(),
            contenders: streams.into_iter().map(new).collect(),
        }
    }

    /// A frame begins at `at`: each terminal that wants to ask, and may, chooses a minislot.
    pub(super) fn begin_frame(&mut self, at: Instant, wants: impl Fn(usize) -> bool) {
        let minislots = self.minislots;
        for (number, contender) in self.contenders.iter_mut().enumerate() {
            let asks = contender.asks_from <= at && wants(number);
            contender.choice = asks.then(|| contender.stream.below(minislots));
        }
    }

    /// The terminal that is heard in this minislot, if one is. Whoever asked knows at `known_at` what became of it;
    /// frames have this length.
    pub(super) fn hear(
        &mut self,
        minislot: usize,
        known_at: Instant,
        frame: Span,
    ) -> Option<usize> {
        let backoff = self.backoff;
        let asks =
            |(_, contender): &(usize, &mut Contender)| contender.choice == Some(minislot as u64);
        let mut asking = self.contenders.iter_mut().enumerate().filter(asks);
        let (first, contender) = asking.next()?;
        contender.asks_from = known_at;
        let mut heard = Some(first);
        for (_, other) in asking {
            other.asks_from = known_at + frame * other.stream.below(backoff);
            heard = None;
        }
        if heard.is_none() {
            let contender = &mut self.contenders[first];
            contender.asks_from += frame * contender.stream.below(backoff);
        }
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;

    const FRAMES: u64 = 20_000;

    fn contention(minislots: u32, backoff: u32, terminals: usize) -> Contention {
        let streams = Streams::new(5);
        let stream = |n| streams.stream(&format!("terminal {n}"));
        Contention::new(minislots, backoff, (0..terminals).map(stream))
    }

    fn at(frame: u64) -> Instant {
        Instant::ZERO + Span::from_millis(frame)
    }

    /// Requests that are heard in each frame, where everybody knows at once what became of his.
    fn heard(minislots: u32, terminals: usize, wants: impl Fn(u64, usize) -> bool) -> f64 {
        let mut contention = contention(minislots, 1, terminals);
        let mut heard = 0;
        for frame in 0..FRAMES {
            contention.begin_frame(at(frame), |terminal| wants(frame, terminal));
            let answers = (0..minislots as usize)
                .filter_map(|n| contention.hear(n, at(frame), Span::from_millis(1)));
            heard += answers.count();
        }
        heard as f64 / FRAMES as f64
    }

    #[test]
    fn of_n_terminals_and_m_minislots_as_many_are_heard_as_chance_has_it() {
        // Each is heard if no other one of the n - 1 chooses the same: with probability (1 - 1/m)^(n - 1).
        for (n, m) in [(1, 1), (2, 4), (5, 8), (8, 8), (20, 8)] {
            let others = (0..n - 1).fold(1.0, |share, _| share * (1.0 - 1.0 / f64::from(m)));
            let expected = f64::from(n) * others;
            let heard = heard(m, n as usize, |_, _| true);
            assert!((heard / expected - 1.0).abs() < 0.02, "{n} {m}: {heard}, not {expected}");
        }
        assert_eq!(heard(1, 2, |_, _| true), 0.0);
    }

    #[test]
    fn many_terminals_are_heard_as_slotted_aloha_has_it() {
        // A hundred terminals, of which each asks in every eighth frame: G requests for each minislot, of which
        // G exp(-G) are heard.
        for (minislots, load) in [(50, 0.25), (25, 0.5), (12, 12.5 / 12.0)] {
            let wants = |frame: u64, terminal: usize| {
                (frame * 31 + terminal as u64 * 17).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 == 0
            };
            let heard = heard(minislots, 100, wants) / f64::from(minislots);
            let expected = load * libm::exp(-load);
            assert!((heard / expected - 1.0).abs() < 0.05, "{load}: {heard}, not {expected}");
        }
    }

    #[test]
    fn who_was_heard_asks_again_when_he_knows_and_who_was_not_some_frames_later() {
        let mut alone = contention(1, 4, 1);
        alone.begin_frame(at(0), |_| true);
        assert_eq!(alone.hear(0, at(10), Span::from_millis(1)), Some(0));
        for (frame, asks) in [(9, None), (10, Some(0))] {
            alone.begin_frame(at(frame), |_| true);
            assert_eq!(alone.hear(0, at(20), Span::from_millis(1)), asks);
        }
        // Two always meet at first; each of the four waits is as likely for both.
        let mut waits = [0_u32; 4];
        let mut two = contention(1, 4, 2);
        for round in 0..2_000 {
            let begin = 20 * round;
            two.begin_frame(at(begin), |_| true);
            assert_eq!(two.hear(0, at(begin + 10), Span::from_millis(1)), None);
            for contender in &two.contenders {
                let wait = contender.asks_from.since(at(begin + 10)).as_nanos() / 1_000_000;
                waits[wait as usize] += 1;
            }
        }
        assert!(waits.iter().all(|count| (900..1_100).contains(count)), "{waits:?}");
    }

    #[test]
    fn who_has_nothing_to_ask_for_draws_nothing() {
        let mut contention = contention(4, 4, 1);
        let before = format!("{:?}", contention.contenders[0].stream);
        (0..100).for_each(|frame| contention.begin_frame(at(frame), |_| false));
        assert_eq!(format!("{:?}", contention.contenders[0].stream), before);
    }
}
