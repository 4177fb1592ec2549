//! A path of links between two nodes: it holds packets until they leave at the other end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::Kind;

use crate::{Direction, Fate, LossCause, Model as _, ModelSpec, Passing, Series, Streams};

/// Models may forget their history after so many packets.
const FORGET_EVERY: u64 = 1024;

/// One link of a path.
#[derive(Clone, Debug)]
pub struct Hop {
    /// Its name, which names its random streams.
    pub name: String,
    /// What happens on the forward link, from the side where packets enter.
    pub forward_link: Vec<ModelSpec>,
    /// What happens on the return link.
    pub return_link: Vec<ModelSpec>,
}

/// What became of the packets that went one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that entered.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that left at the other end.
    pub delivered: u64,
    /// Bytes that left at the other end.
    pub delivered_bytes: u64,
    /// Packets that found a queue full.
    pub lost_queue_full: u64,
    /// Packets that were lost or damaged on the way.
    pub lost: u64,
}

/// A path: packets of type `P` enter on one side and leave on the other, later or never.
#[derive(Debug)]
pub struct Path<P> {
    series: [Vec<Series>; 2],
    counters: [Counters; 2],
    leaving: BinaryHeap<Leaving<P>>,
    serial: u64,
}

#[derive(Debug)]
struct Leaving<P> {
    order: Reverse<(Instant, u64)>,
    direction: Direction,
    length: u64,
    packet: P,
}

impl<P> PartialEq for Leaving<P> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl<P> Eq for Leaving<P> {}

impl<P> PartialOrd for Leaving<P> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Leaving<P> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

impl<P> Path<P> {
    /// The path over these links. The same seed loses the same packets again.
    pub fn new(hops: &[Hop], seed: u64) -> Self {
        let streams = Streams::new(seed);
        let build = |specs, hop: &Hop, direction: Direction| {
            ModelSpec::build_series(specs, &streams, &hop.name, direction.stream())
        };
        let forward =
            hops.iter().map(|hop| build(&hop.forward_link, hop, Direction::Forward)).collect();
        let returning =
            hops.iter().rev().map(|hop| build(&hop.return_link, hop, Direction::Return)).collect();
        Self::of([forward, returning])
    }

    /// The path over what packets pass one after the other, from the first node to the last and the other way.
    pub fn of(series: [Vec<Series>; 2]) -> Self {
        Self { series, counters: [Counters::default(); 2], leaving: BinaryHeap::new(), serial: 0 }
    }

    /// A packet enters that counts `length` bytes on the links.
    pub fn enter(&mut self, now: Instant, direction: Direction, length: u64, packet: P) {
        let counters = &mut self.counters[direction as usize];
        let series = &mut self.series[direction as usize];
        if counters.packets.is_multiple_of(FORGET_EVERY) {
            series.iter_mut().for_each(|series| series.forget_before(now));
        }
        counters.packets += 1;
        counters.bytes += length;
        let passing = Passing { bytes: ByteCount::new(length), kind: Kind::NONE };
        let mut at = now;
        for series in series {
            match series.pass(at, &passing) {
                Fate::Leaves(leaves) => at = leaves,
                Fate::Lost(LossCause::QueueFull) => {
                    counters.lost_queue_full += 1;
                    return;
                }
                // A checksum on the way would find damage.
                Fate::Lost(_) | Fate::LeavesCorrupt(_) => {
                    counters.lost += 1;
                    return;
                }
            }
        }
        self.serial += 1;
        self.leaving.push(Leaving { order: Reverse((at, self.serial)), direction, length, packet });
    }

    /// Lets the links go on with the time, also while no packets come. Called often enough, no packet
    /// waits for what it could have done before.
    pub fn pass_time(&mut self, now: Instant) {
        self.series.iter_mut().flatten().for_each(|series| series.forget_before(now));
    }

    /// When the next packet leaves.
    pub fn next(&self) -> Option<Instant> {
        self.leaving.peek().map(|leaving| leaving.order.0.0)
    }

    /// Takes a packet that has to leave by now.
    pub fn leave(&mut self, now: Instant) -> Option<(Direction, P)> {
        if self.next()? > now {
            return None;
        }
        let Leaving { direction, length, packet, .. } = self.leaving.pop()?;
        let counters = &mut self.counters[direction as usize];
        counters.delivered += 1;
        counters.delivered_bytes += length;
        Some((direction, packet))
    }

    /// What became of the packets that went one way.
    pub const fn counters(&self, direction: Direction) -> &Counters {
        &self.counters[direction as usize]
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::{BitRate, Span};

    use super::*;
    use crate::QueueLimit;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Span::from_millis(n)
    }

    fn hop(name: &str, delay: u64, loss: f64) -> Hop {
        let rate =
            ModelSpec::Rate { rate: BitRate::from_bps(8_000_000), queue: QueueLimit::Packets(2) };
        let models =
            vec![rate, ModelSpec::Delay(Span::from_millis(delay)), ModelSpec::RandomLoss(loss)];
        Hop { name: name.to_owned(), forward_link: models.clone(), return_link: models }
    }

    #[test]
    fn packets_take_their_time_over_every_link_and_wait_for_each_other() {
        let mut path = Path::new(&[hop("a", 10, 0.0), hop("b", 20, 0.0)], 1);
        for n in 0..5 {
            // A thousand bytes take a millisecond on each of the two.
            path.enter(ms(0), Direction::Forward, 1000, n);
        }
        assert_eq!(path.next(), Some(ms(32)));
        assert_eq!(path.leave(ms(31)), None);
        let left: Vec<_> = std::iter::from_fn(|| path.leave(ms(40))).map(|(_, n)| n).collect();
        assert_eq!(left, [0, 1, 2], "one on the line and two waiting");
        let counters = path.counters(Direction::Forward);
        assert_eq!((counters.packets, counters.delivered, counters.lost_queue_full), (5, 3, 2));
        assert_eq!((counters.bytes, counters.delivered_bytes), (5000, 3000));
        assert_eq!(path.counters(Direction::Return), &Counters::default());
    }

    #[test]
    fn the_same_seed_loses_the_same_packets() {
        let survivors = |seed| -> Vec<u64> {
            let mut path = Path::new(&[hop("a", 10, 0.3)], seed);
            for n in 0..200 {
                path.enter(ms(2 * n), Direction::Return, 1000, n);
            }
            std::iter::from_fn(|| path.leave(Instant::MAX)).map(|(_, n)| n).collect()
        };
        assert_eq!(survivors(1), survivors(1));
        assert_ne!(survivors(1), survivors(2));
        assert!((120..160).contains(&survivors(1).len()));
    }
}
