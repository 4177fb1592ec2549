//! CF-DAMA: slots on demand, and those that nobody has asked for free to all by turns.

use std::collections::VecDeque;

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::Station;
use super::frame::{Frames, Place};
use super::terminal::Terminal;
use crate::queue::{Backlog, Discipline, Held, Packets};

/// How terminals ask for slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// In a minislot of their own in each frame.
    Minislot,
    /// On the data that they send.
    Piggyback,
    /// Both ways.
    Both,
}

/// Settings of CF-DAMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CfDamaConfig {
    /// Bytes of packets that a slot carries; at least 1.
    pub payload: ByteCount,
    /// Other bytes of a slot.
    pub overhead: ByteCount,
    /// Data slots in a frame; at least 1.
    pub slots: u32,
    /// Length of the minislot that each terminal has in each frame.
    pub minislot: ByteCount,
    /// From a request to the first slot that it can get: two hops where the scheduler is on the
    /// ground, one where it is on the satellite.
    pub grant_delay: Span,
    /// How terminals ask.
    pub requests: Requests,
    /// Slots that nobody has asked for go to the terminals by turns; without, they stay empty.
    pub free: bool,
}

impl Default for CfDamaConfig {
    fn default() -> Self {
        Self {
            payload: ByteCount::new(128),
            overhead: ByteCount::new(8),
            slots: 128,
            minislot: ByteCount::new(8),
            grant_delay: Span::from_millis(500),
            requests: Requests::Both,
            free: true,
        }
    }
}

/// Combined free and demand assignment (Le-Ngoc and Mohammed 1993; Mitchell et al. for requests in
/// minislots and on data). Requests are served first in, first out, slot by slot. While there is
/// none, slots go to the terminals in a round; one that was just served on demand moves to its end.
///
/// A terminal asks for what waits less what it has asked for and not got. It sends its packets as a
/// stream of bytes: they are cut over slots, and a slot may hold pieces of several.
#[derive(Debug)]
pub struct CfDama {
    config: CfDamaConfig,
    frames: Frames,
    terminals: Vec<Terminal>,
    /// Slots that each terminal has asked for and not got.
    outstanding: Vec<u64>,
    requests: VecDeque<Request>,
    /// Whose turn it is, the next first.
    round: VecDeque<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    terminal: usize,
    slots: u64,
    /// When the first slot can be had.
    ready: Instant,
}

impl CfDama {
    /// Terminals with these queues on an uplink of this rate.
    pub fn new(
        rate: BitRate,
        config: CfDamaConfig,
        queues: impl IntoIterator<Item = Box<dyn Discipline>>,
    ) -> Self {
        let terminals: Vec<_> = queues.into_iter().map(Terminal::new).collect();
        let openings = if config.requests == Requests::Piggyback { 0 } else { terminals.len() };
        let slot = rate.time_for(config.payload + config.overhead);
        Self {
            config,
            frames: Frames::new(
                openings,
                rate.time_for(config.minislot),
                config.slots as usize,
                slot,
            ),
            outstanding: vec![0; terminals.len()],
            requests: VecDeque::new(),
            round: (0..terminals.len()).collect(),
            terminals,
        }
    }

    fn backlogged(&self) -> bool {
        self.terminals.iter().any(|terminal| terminal.backlog() > 0)
    }

    /// Passes all places on the grid that begin by now.
    fn advance(&mut self, now: Instant, packets: &mut dyn Packets) {
        while self.frames.next_at() <= now {
            if self.requests.is_empty() && !self.backlogged() {
                let frames = self.frames.skip_frames(now);
                let slots = u128::from(frames) * self.frames.slots() as u128;
                let turns = slots.checked_rem(self.round.len() as u128).unwrap_or(0);
                self.round.rotate_left(if self.config.free { turns as usize } else { 0 });
            }
            let at = self.frames.next_at();
            match self.frames.pass() {
                Place::Opening(terminal) => self.ask(at, terminal),
                Place::Slot(_) => self.assign(at, packets),
            }
        }
    }

    /// The terminal asks for what it needs.
    fn ask(&mut self, at: Instant, terminal: usize) {
        let needed = self.terminals[terminal].backlog().div_ceil(self.config.payload.get().max(1));
        let slots = needed.saturating_sub(self.outstanding[terminal]);
        if slots > 0 {
            self.outstanding[terminal] += slots;
            let ready = at + self.config.grant_delay;
            self.requests.push_back(Request { terminal, slots, ready });
        }
    }

    /// The slot that begins at `at` goes to somebody.
    fn assign(&mut self, at: Instant, packets: &mut dyn Packets) {
        let terminal = match self.requests.front_mut() {
            Some(request) if request.ready <= at => {
                let terminal = request.terminal;
                request.slots -= 1;
                self.outstanding[terminal] -= 1;
                if request.slots == 0 {
                    self.requests.pop_front();
                }
                terminal
            }
            _ if !self.config.free => return,
            _ => match self.round.front() {
                Some(terminal) => *terminal,
                None => return,
            },
        };
        if let Some(place) = self.round.iter().position(|other| *other == terminal) {
            self.round.remove(place);
            self.round.push_back(terminal);
        }
        let (end, room) = (at + self.frames.slot(), self.config.payload);
        let sent = self.terminals[terminal].fill(at, end, room, packets);
        if sent && self.config.requests != Requests::Minislot {
            self.ask(at, terminal);
        }
    }
}

impl Station for CfDama {
    fn enqueue(&mut self, now: Instant, packet: Held, packets: &mut dyn Packets) {
        self.advance(now, packets);
        self.terminals[usize::from(packet.line)].enqueue(now, packet, packets);
    }

    fn handle_timeout(&mut self, now: Instant, packets: &mut dyn Packets) {
        self.advance(now, packets);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.backlogged().then(|| self.frames.next_at())
    }

    fn waiting(&self, line: u16) -> Backlog {
        self.terminals[usize::from(line)].waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{drop_tail, load};
    use super::*;
    use crate::queue::testing::{Watched, data, ms};

    const RATE: BitRate = BitRate::from_bps(2_000_000);
    const TERMINALS: u16 = 5;
    /// 136 bytes.
    const SLOT: Span = Span::from_micros(544);

    fn cf_dama(config: CfDamaConfig) -> CfDama {
        CfDama::new(RATE, config, drop_tail(TERMINALS))
    }

    /// Mean delay in seconds and bytes of packets per second, for packets of 128 bytes that offer
    /// this share of what the slots can carry.
    fn measure(config: CfDamaConfig, share: f64) -> (f64, f64) {
        let rate = share * 128.0 / SLOT.as_secs_f64();
        load(&mut cf_dama(config), TERMINALS, 128, rate)
    }

    #[test]
    fn at_light_load_a_packet_waits_for_half_a_round_of_free_slots() {
        let (delay, _) = measure(CfDamaConfig::default(), 0.02);
        // And for its slot to end, now and then for the minislots.
        let round = f64::from(TERMINALS) * SLOT.as_secs_f64();
        let expected = round / 2.0 + SLOT.as_secs_f64();
        assert!((delay / expected - 1.0).abs() < 0.1, "{delay}, not {expected}");
    }

    #[test]
    fn without_free_slots_every_packet_waits_for_its_request() {
        let config = CfDamaConfig { free: false, ..CfDamaConfig::default() };
        let (delay, _) = measure(config, 0.02);
        // Half a frame to the minislot, then the grant; the slot may be that of a packet before.
        assert!((0.5..0.56).contains(&delay), "{delay}");
    }

    #[test]
    fn the_mean_delay_grows_with_the_load() {
        let shares = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9];
        let delays = shares.map(|share| measure(CfDamaConfig::default(), share).0);
        assert!(delays.is_sorted(), "{delays:?}");
        // However high the load, free slots spare most packets the way to the scheduler.
        assert!(delays[5] > 5.0 * delays[0] && delays[5] < 0.1, "{delays:?}");
    }

    #[test]
    fn at_heavy_load_all_but_the_overhead_is_used() {
        let (_, throughput) = measure(CfDamaConfig::default(), 1.5);
        let frame = 128.0 * 136.0 + 5.0 * 8.0;
        let expected = 250_000.0 * 128.0 * 128.0 / frame;
        assert!((throughput / expected - 1.0).abs() < 0.01, "{throughput}, not {expected}");
    }

    #[test]
    fn a_request_is_served_after_the_grant_delay_and_moves_its_terminal_to_the_end_of_the_round() {
        let mut uplink = cf_dama(CfDamaConfig { slots: 1000, ..CfDamaConfig::default() });
        let mut seen = Watched::default();
        // Terminal 3 asks in its first free slot for the rest of its packet of eight slots.
        let packet = Held { line: 3, bytes: ByteCount::new(1024), ..data(1) };
        uplink.enqueue(Instant::ZERO, packet, &mut seen);
        let mut asked = None;
        while let Some(at) = uplink.poll_timeout() {
            uplink.handle_timeout(at, &mut seen);
            asked = asked.or(uplink.requests.front().copied());
        }
        let asked = asked.expect("a request");
        assert_eq!((asked.terminal, asked.slots), (3, 8));
        // Eight free slots came sooner: the grant is of no use any more.
        assert_eq!(seen.departed.len(), 1);
        uplink.advance(asked.ready, &mut seen);
        assert_eq!(uplink.outstanding[3], 7);
        assert_eq!(uplink.round.back(), Some(&3));
    }

    #[test]
    fn a_terminal_asks_for_nothing_twice() {
        let mut uplink = cf_dama(CfDamaConfig { free: false, ..CfDamaConfig::default() });
        let mut seen = Watched::default();
        for id in 0..10 {
            let packet = Held { line: 2, bytes: ByteCount::new(128), ..data(id) };
            uplink.enqueue(Instant::ZERO, packet, &mut seen);
        }
        uplink.advance(ms(400), &mut seen);
        assert_eq!(uplink.requests.iter().map(|request| request.slots).sum::<u64>(), 10);
        uplink.advance(ms(1000), &mut seen);
        assert_eq!((seen.departed.len(), uplink.outstanding[2]), (10, 0));
        // They leave slot by slot.
        let gaps = seen.departed.windows(2).map(|pair| pair[1].1.since(pair[0].1));
        assert!(gaps.filter(|gap| *gap == SLOT).count() >= 8);
    }

    #[test]
    fn a_long_silence_leaves_the_round_where_slot_after_slot_would_have() {
        let (mut slowly, mut at_once) =
            (cf_dama(CfDamaConfig::default()), cf_dama(CfDamaConfig::default()));
        let mut seen = Watched::default();
        (0..=7_000).for_each(|n| slowly.advance(ms(n), &mut seen));
        at_once.advance(ms(7_000), &mut seen);
        assert_eq!(slowly.round, at_once.round);
        assert_eq!(slowly.frames.next_at(), at_once.frames.next_at());
        at_once.advance(Instant::ZERO + Span::from_secs(366 * 86_400), &mut seen);
    }
}
