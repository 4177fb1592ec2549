//! CF-DAMA: slots on demand, and those that nobody has asked for free to all by turns.

use std::collections::VecDeque;

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::Mac;
use super::contention::Contention;
use super::frame::{Frames, Place};
use super::terminal::Terminal;
use crate::Stream;
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
    /// In one of the minislots of a frame that all terminals share, chosen at random.
    Random,
    /// So, and on the data that they send.
    RandomAndPiggyback,
}

impl Requests {
    /// Terminals have minislots of their own.
    const fn assigned(self) -> bool {
        matches!(self, Self::Minislot | Self::Both)
    }

    /// Terminals share minislots.
    pub const fn are_random(self) -> bool {
        matches!(self, Self::Random | Self::RandomAndPiggyback)
    }

    /// Data may carry a request.
    const fn piggybacked(self) -> bool {
        matches!(self, Self::Piggyback | Self::Both | Self::RandomAndPiggyback)
    }
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
    /// Length of a minislot: each terminal has one in each frame, unless they share them.
    pub minislot: ByteCount,
    /// Minislots in a frame that terminals share, if they do; at least 1.
    pub minislots: u32,
    /// A terminal whose request met another one waits for 0 to so many frames, this one excluded, once it knows;
    /// at least 1.
    pub backoff: u32,
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
            minislots: 8,
            backoff: 8,
            grant_delay: Span::from_millis(500),
            requests: Requests::Both,
            free: true,
        }
    }
}

/// Combined free and demand assignment (Le-Ngoc and Mohammed 1993, with requests in minislots that are assigned, or
/// chosen at random; Mitchell et al. for requests on data). Requests are served first in, first out, slot by slot. While there is
/// none, slots go to the terminals in a round; one that was just served on demand moves to its end.
///
/// A terminal asks for what waits less what it has asked for and not got. It sends its packets as a
/// stream of bytes: they are cut over slots, and a slot may hold pieces of several.
///
/// A request in a minislot that was chosen at random is lost if another terminal has chosen the same one. The terminal
/// knows when the first slot could have been had, and asks for nothing in minislots until then.
#[derive(Debug)]
pub struct CfDama {
    config: CfDamaConfig,
    frames: Frames,
    terminals: Vec<Terminal>,
    /// Slots that each terminal has asked for and not got.
    outstanding: Vec<u64>,
    requests: VecDeque<Request>,
    /// Who asks where, if terminals share minislots.
    contention: Option<Contention>,
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
    /// Terminals on an uplink of this rate, each with its queue and the stream that it draws from where and when it
    /// asks.
    pub fn new(
        rate: BitRate,
        config: CfDamaConfig,
        terminals: impl IntoIterator<Item = (Box<dyn Discipline>, Stream)>,
    ) -> Self {
        let (terminals, streams): (Vec<_>, Vec<_>) =
            terminals.into_iter().map(|(queue, stream)| (Terminal::new(queue), stream)).unzip();
        let random = config.requests.are_random();
        let contention = random.then(|| Contention::new(config.minislots, config.backoff, streams));
        let openings = match config.requests {
            requests if requests.assigned() => terminals.len(),
            _ if random => config.minislots as usize,
            _ => 0,
        };
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
            contention,
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
                Place::Opening(number) => self.open(at, number),
                Place::Slot(_) => self.assign(at, packets),
            }
        }
    }

    /// A minislot comes: that of a terminal, or one that several may have chosen.
    fn open(&mut self, at: Instant, number: usize) {
        let Some(mut contention) = self.contention.take() else { return self.ask(at, number) };
        if number == 0 {
            contention.begin_frame(at, |terminal| self.needs(terminal) > 0);
        }
        let known_at = at + self.config.grant_delay;
        if let Some(terminal) = contention.hear(number, known_at, self.frames.length()) {
            self.ask(at, terminal);
        }
        self.contention = Some(contention);
    }

    /// Slots that a terminal needs and has not asked for.
    fn needs(&self, terminal: usize) -> u64 {
        let needed = self.terminals[terminal].backlog().div_ceil(self.config.payload.get().max(1));
        needed.saturating_sub(self.outstanding[terminal])
    }

    /// The terminal asks for what it needs.
    fn ask(&mut self, at: Instant, terminal: usize) {
        let slots = self.needs(terminal);
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
        if sent && self.config.requests.piggybacked() {
            self.ask(at, terminal);
        }
    }
}

impl Mac for CfDama {
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
    use crate::Streams;
    use crate::queue::testing::{Watched, data, ms};

    const RATE: BitRate = BitRate::from_bps(2_000_000);
    const TERMINALS: u16 = 5;
    /// 136 bytes.
    const SLOT: Span = Span::from_micros(544);

    fn cf_dama(config: CfDamaConfig) -> CfDama {
        let streams = Streams::new(1);
        let stream = |n| streams.stream(&format!("terminal {n}"));
        CfDama::new(RATE, config, drop_tail(TERMINALS).zip((0..TERMINALS).map(stream)))
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

    fn random(free: bool) -> CfDamaConfig {
        CfDamaConfig { requests: Requests::Random, free, ..CfDamaConfig::default() }
    }

    #[test]
    fn with_random_minislots_a_lonely_packet_waits_for_a_frame_and_its_grant() {
        let (mut uplink, mut seen) = (cf_dama(random(false)), Watched::default());
        let mut delays = 0.0;
        for id in 0..1_000 {
            // No multiple of a frame.
            let came = Instant::ZERO + Span::from_micros(1_700_321) * u64::from(id);
            let packet = Held { bytes: ByteCount::new(128), ..data(id) };
            uplink.enqueue(came, packet, &mut seen);
            uplink.advance(came + Span::from_secs(1), &mut seen);
            let (last, left) = seen.departed.last().copied().expect("a departure");
            assert_eq!(last, id);
            delays += left.since(came).as_secs_f64();
        }
        // Half a frame of 128 slots and eight minislots, and half a slot until its own one.
        let frame = 128.0 * SLOT.as_secs_f64() + 8.0 * 32e-6;
        let (delay, expected) = (delays / 1_000.0, 0.5 + frame / 2.0 + 1.5 * SLOT.as_secs_f64());
        assert!((delay / expected - 1.0).abs() < 0.005, "{delay}, not {expected}");
        // With free slots it waits for none of them.
        let (delay, _) = measure(random(true), 0.02);
        let expected = 3.5 * SLOT.as_secs_f64();
        assert!((delay / expected - 1.0).abs() < 0.1, "{delay}, not {expected}");
    }

    #[test]
    fn with_random_minislots_heavy_load_uses_all_but_the_overhead() {
        for free in [false, true] {
            let (_, throughput) = measure(random(free), 1.5);
            let expected = 250_000.0 * 128.0 * 128.0 / (128.0 * 136.0 + 8.0 * 8.0);
            assert!((throughput / expected - 1.0).abs() < 0.01, "{throughput}, not {expected}");
        }
    }

    #[test]
    fn requests_that_meet_are_lost_and_made_again_when_that_is_known() {
        let mut uplink = cf_dama(CfDamaConfig { minislots: 1, ..random(false) });
        let mut seen = Watched::default();
        for line in [1, 3] {
            let packet = Held { line, bytes: ByteCount::new(128), ..data(line.into()) };
            uplink.enqueue(Instant::ZERO, packet, &mut seen);
        }
        uplink.advance(ms(499), &mut seen);
        assert!(uplink.requests.is_empty());
        uplink.advance(ms(20_000), &mut seen);
        // No sooner than twice the delay of a grant, and one after the other.
        let [(_, first), (_, second)] = seen.departed[..] else { panic!("{:?}", seen.departed) };
        assert!(ms(1_000) < first && first < second, "{first} {second}");
        // Alone a terminal is heard at once.
        let mut uplink = cf_dama(CfDamaConfig { minislots: 1, ..random(false) });
        let mut seen = Watched::default();
        uplink.enqueue(Instant::ZERO, Held { bytes: ByteCount::new(128), ..data(0) }, &mut seen);
        uplink.advance(ms(1_000), &mut seen);
        // In the next frame, that is.
        assert!((ms(569)..ms(572)).contains(&seen.departed[0].1), "{:?}", seen.departed);
    }

    #[test]
    fn data_carry_requests_only_where_they_may() {
        for (requests, asks) in [(Requests::Random, 0), (Requests::RandomAndPiggyback, 1)] {
            let mut uplink = cf_dama(CfDamaConfig { requests, ..CfDamaConfig::default() });
            let mut seen = Watched::default();
            // Behind the minislots of the first frame.
            uplink.advance(ms(1), &mut seen);
            let packet = Held { line: 2, bytes: ByteCount::new(1024), ..data(1) };
            uplink.enqueue(ms(1), packet, &mut seen);
            uplink.advance(ms(4), &mut seen);
            assert_eq!(uplink.requests.len(), asks, "{requests:?}");
        }
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
