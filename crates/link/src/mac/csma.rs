//! A half-duplex radio channel that stations share by p-persistent CSMA, as terminal node controllers do it.

mod station;

use bentpipe_units::{BitRate, Instant, Span};

use self::station::{State, Station};
use super::Mac;
use crate::queue::{Backlog, Discipline, Held, LineState, Packets};
use crate::{LossCause, Stream};

/// Settings of p-persistent CSMA. The names are those of the KISS protocol (Chepponis and Karn 1987), and so are the values at
/// first where it gives some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsmaConfig {
    /// P: a station that finds the channel free takes it with probability (P + 1) / 256.
    pub persistence: u8,
    /// A station that did not take the free channel looks again after this time; above zero.
    pub slot_time: Span,
    /// From key-up to the first frame.
    pub tx_delay: Span,
    /// From the end of the last frame until the carrier is off.
    pub tx_tail: Span,
    /// Others hear a carrier when it has been on for this long.
    pub carrier_detect: Span,
    /// Most frames behind one key-up; above zero.
    pub max_frames: u32,
    /// What the station's equipment needs after each of its frames before it can send the next one.
    pub proc_time: Span,
    /// A station waits for a slot in which the channel is free before it looks for the first time, too. Otherwise it takes a
    /// free channel at once, with the same probability.
    pub slot_first: bool,
    /// Frames that come after key-up join the transmission. Otherwise those that waited then are sent.
    pub late_frames: bool,
}

impl Default for CsmaConfig {
    fn default() -> Self {
        Self {
            persistence: 63,
            slot_time: Span::from_millis(100),
            tx_delay: Span::from_millis(500),
            tx_tail: Span::ZERO,
            carrier_detect: Span::from_millis(100),
            max_frames: 7,
            proc_time: Span::ZERO,
            slot_first: false,
            late_frames: true,
        }
    }
}

/// One way over the channel: from a station to another one, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The station that sends.
    pub from: usize,
    /// The station that receives.
    pub to: usize,
}

/// Stations that share a channel on which each one sends or listens, but never both.
///
/// A station with something to send waits until it hears no carrier. Then it keys up with the probability of
/// [`CsmaConfig::persistence`], or looks again after a slot; with [`CsmaConfig::slot_first`] a slot comes before the first look as
/// well. Behind one TXDELAY it sends all that waits, up to [`CsmaConfig::max_frames`]. Stations hear each other if a line leads from one to the other, and a frame is destroyed if its
/// receiver has its own carrier on meanwhile or hears a second one. Nothing takes notice of that: unnumbered frames are not
/// acknowledged. Propagation is that of the links, which is short beside everything here.
#[derive(Debug)]
pub struct Csma {
    rate: BitRate,
    config: CsmaConfig,
    lines: Vec<Line>,
    stations: Vec<Station>,
    /// Everything up to here has happened.
    clock: Instant,
}

/// What waits for one way over the channel.
#[derive(Debug)]
struct Line {
    hop: Hop,
    queue: Box<dyn Discipline>,
}

/// What happens first of several things at one moment: carriers end, frames begin, stations look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Ends,
    Begins,
    Looks,
}

impl Csma {
    /// A silent channel: its lines, and for each station the stream that says whether it takes a free channel.
    pub fn new(
        rate: BitRate,
        config: CsmaConfig,
        lines: impl IntoIterator<Item = (Hop, Box<dyn Discipline>)>,
        stations: impl IntoIterator<Item = Stream>,
    ) -> Self {
        let lines: Vec<Line> = lines.into_iter().map(|(hop, queue)| Line { hop, queue }).collect();
        let station = |(number, stream)| {
            let of = |end: fn(&Hop) -> usize| {
                let own = move |(_, line): &(usize, &Line)| end(&line.hop) == number;
                lines.iter().enumerate().filter(own)
            };
            let own: Vec<usize> = of(|hop| hop.from).map(|(line, _)| line).collect();
            let mut hears: Vec<usize> = of(|hop| hop.from).map(|(_, line)| line.hop.to).collect();
            hears.extend(of(|hop| hop.to).map(|(_, line)| line.hop.from));
            hears.sort_unstable();
            hears.dedup();
            Station::new(stream, own, hears)
        };
        let stations = stations.into_iter().enumerate().map(station).collect();
        // A slot without length would be an endless row of them.
        let slot_time = config.slot_time.max(Span::from_nanos(1));
        let config = CsmaConfig { slot_time, ..config };
        Self { rate, config, lines, stations, clock: Instant::ZERO }
    }

    /// Whether the station hears a carrier at this time, of those that are on now.
    fn hears_carrier(&self, station: usize, at: Instant) -> bool {
        let heard = |other: &usize| {
            let keyed = self.stations[*other].keyed_at();
            keyed.is_some_and(|keyed| keyed + self.config.carrier_detect <= at)
        };
        self.stations[station].hears().iter().any(heard)
    }

    /// When something waits for the station that may go: `None` if nothing waits.
    fn waits_from(&self, station: usize) -> Option<Instant> {
        let queues = self.stations[station].lines().iter().map(|line| &self.lines[*line].queue);
        queues.filter(|queue| queue.backlog().packets > 0).map(|queue| queue.ready_at()).min()
    }

    /// What happens next, and to which station.
    fn next(&self) -> Option<(Instant, Rank, usize)> {
        let deadline = |number: usize| match self.stations[number].state {
            State::KeysUp { until, .. } => Some((until, Rank::Begins, number)),
            State::Sends { until, .. } | State::Tails { until, .. } => {
                Some((until, Rank::Ends, number))
            }
            State::Listens { looks_at, .. } => {
                let at = looks_at.max(self.waits_from(number)?).max(self.clock);
                // With a carrier it waits until that ends, which is a deadline of its own.
                (!self.hears_carrier(number, at)).then_some((at, Rank::Looks, number))
            }
        };
        (0..self.stations.len()).filter_map(deadline).min()
    }

    /// The deadline of a station has come.
    fn step(&mut self, now: Instant, number: usize, packets: &mut dyn Packets) {
        self.clock = now;
        match self.stations[number].state {
            State::Listens { .. } => self.look(now, number),
            State::KeysUp { keyed_at, most, .. } => self.send(now, number, keyed_at, most, packets),
            State::Sends { packet, keyed_at, more, destroyed, .. } => {
                if destroyed {
                    packets.lost(&packet, LossCause::Collision);
                } else {
                    packets.departs(&packet, now);
                }
                self.stations[number].needs(now, self.config.proc_time);
                if more == 0 || !self.config.proc_time.is_zero() {
                    self.tail(now, number, keyed_at);
                } else {
                    self.send(now, number, keyed_at, more, packets);
                }
            }
            State::Tails { .. } => self.stations[number].listen(now),
        }
    }

    /// A station finds the channel free: it takes it, or looks again later.
    fn look(&mut self, now: Instant, number: usize) {
        let most = self.most_frames(number);
        let station = &mut self.stations[number];
        let waits = self.config.slot_first && !station.was_free(now);
        let takes = !waits && station.takes(self.config.persistence);
        station.state = if takes {
            State::KeysUp { keyed_at: now, until: now + self.config.tx_delay, most }
        } else {
            State::Listens { looks_at: now + self.config.slot_time, in_slot: true }
        };
        if takes {
            self.destroy_what_meets(number);
        }
    }

    /// How many frames may be behind the key-up of a station.
    fn most_frames(&self, number: usize) -> u32 {
        let lines = self.stations[number].lines().iter();
        let waiting = lines.map(|line| self.lines[*line].queue.backlog().packets).sum::<usize>();
        match self.config.late_frames {
            true => self.config.max_frames,
            false => self.config.max_frames.min(u32::try_from(waiting).unwrap_or(u32::MAX)),
        }
    }

    /// A carrier comes on: frames end for whoever hears it, or has it.
    fn destroy_what_meets(&mut self, number: usize) {
        for other in 0..self.stations.len() {
            if let State::Sends { packet, .. } = self.stations[other].state {
                let to = self.lines[usize::from(packet.line)].hop.to;
                if other != number && self.meets(to, number) {
                    self.stations[other].destroy();
                }
            }
        }
    }

    /// Whether what a station receives is disturbed by the carrier of another one, or by its own.
    fn meets(&self, receiver: usize, carrier: usize) -> bool {
        receiver == carrier || self.stations[receiver].hears().contains(&carrier)
    }

    /// The next frame begins, of `most` that still may; without one the transmission ends.
    fn send(
        &mut self,
        now: Instant,
        number: usize,
        keyed_at: Instant,
        most: u32,
        packets: &mut dyn Packets,
    ) {
        let Some(packet) = self.dequeue(now, number, packets) else {
            return self.tail(now, number, keyed_at);
        };
        let to = self.lines[usize::from(packet.line)].hop.to;
        let is_on = |other: &usize| self.stations[*other].keyed_at().is_some();
        let destroyed = (0..self.stations.len())
            .filter(|other| *other != number)
            .filter(is_on)
            .any(|other| self.meets(to, other));
        let until = now + self.rate.time_for(packet.bytes);
        let more = most.saturating_sub(1);
        self.stations[number].state = State::Sends { packet, keyed_at, more, until, destroyed };
    }

    /// The next packet of a station, whose lines have their turns.
    fn dequeue(&mut self, now: Instant, number: usize, packets: &mut dyn Packets) -> Option<Held> {
        let station = &mut self.stations[number];
        let lines = &mut self.lines;
        station.turns().find_map(|line| lines[line].queue.dequeue(now, packets))
    }

    fn tail(&mut self, now: Instant, number: usize, keyed_at: Instant) {
        if self.config.tx_tail.is_zero() {
            self.stations[number].listen(now);
        } else {
            let until = now + self.config.tx_tail;
            self.stations[number].state = State::Tails { keyed_at, until };
        }
    }
}

impl Mac for Csma {
    fn enqueue(&mut self, now: Instant, packet: Held, packets: &mut dyn Packets) {
        self.handle_timeout(now, packets);
        let queue = &mut self.lines[usize::from(packet.line)].queue;
        queue.enqueue(now, LineState::Busy, packet, packets);
        self.handle_timeout(now, packets);
    }

    fn handle_timeout(&mut self, now: Instant, packets: &mut dyn Packets) {
        while let Some((at, _, number)) = self.next()
            && at <= now
        {
            self.step(at, number, packets);
        }
        self.clock = self.clock.max(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next().map(|(at, _, _)| at)
    }

    fn waiting(&self, line: u16) -> Backlog {
        self.lines[usize::from(line)].queue.backlog()
    }
}

#[cfg(test)]
mod tests;
