//! TDMA with assignment on demand: the slots of a frame are shared by what terminals have asked for.

use std::collections::VecDeque;

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::Mac;
use super::frame::{Frames, Place};
use super::terminal::Terminal;
use crate::queue::{Backlog, Discipline, Held, Packets};

/// A terminal asks once in so many frames, in a slot that is its own for ever.
const ASKS_EVERY: usize = 8;

/// What a terminal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// The bytes that wait.
    Volume,
    /// Those, and as many as came since the last request.
    RateAndVolume,
}

/// Settings of TDMA-DAMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TdmaConfig {
    /// Length of a frame; slots are equal parts of it.
    pub frame: Span,
    /// Slots in a frame, those for requests included.
    pub slots: u32,
    /// From a request to the first frame that knows of it: a round trip.
    pub grant_delay: Span,
    /// What is asked for.
    pub demand: Demand,
}

impl Default for TdmaConfig {
    fn default() -> Self {
        Self {
            frame: Span::from_millis(50),
            slots: 64,
            grant_delay: Span::from_millis(500),
            demand: Demand::Volume,
        }
    }
}

/// Proportional assignment after R. Secchi's TDMA-DAMA for ns-2 (CNR-ISTI, 2006). In each frame
/// terminal i gets the share Rᵢ / ΣR of the slots, rounded up, where Rᵢ is its last request that has
/// got to the scheduler; what it got too much by rounding is taken off its next shares.
///
/// A transmission is cut where the terminal's slots end and goes on in its next ones.
#[derive(Debug)]
pub struct Tdma {
    config: TdmaConfig,
    frames: Frames,
    /// What a slot carries.
    room: ByteCount,
    terminals: Vec<Member>,
    /// Requests on their way: when they are known, who asks, and for how many bytes.
    requests: VecDeque<(Instant, usize, u64)>,
    /// Who has each data slot of this frame.
    owners: Vec<usize>,
}

#[derive(Debug)]
struct Member {
    terminal: Terminal,
    /// Bytes that came since it last asked.
    came: u64,
    /// What it last asked for.
    asked: u64,
    /// Its request that the scheduler knows.
    request: u64,
    /// Slots that it got beyond its share; below 0 what it lacks.
    excess: f64,
}

impl Tdma {
    /// Terminals with these queues on an uplink of this rate.
    pub fn new(
        rate: BitRate,
        config: TdmaConfig,
        queues: impl IntoIterator<Item = Box<dyn Discipline>>,
    ) -> Self {
        let member = |queue| {
            let terminal = Terminal::new(queue);
            Member { terminal, came: 0, asked: 0, request: 0, excess: 0.0 }
        };
        let terminals: Vec<_> = queues.into_iter().map(member).collect();
        let slot = config.frame / u64::from(config.slots.max(1));
        let openings = terminals.len().div_ceil(ASKS_EVERY);
        let slots = (config.slots as usize).saturating_sub(openings);
        Self {
            config,
            frames: Frames::new(openings, slot, slots, slot),
            room: rate.bytes_in(slot),
            terminals,
            requests: VecDeque::new(),
            owners: Vec::new(),
        }
    }

    fn backlogged(&self) -> bool {
        self.terminals.iter().any(|member| member.terminal.backlog() > 0)
    }

    /// True when nothing happens until a packet comes.
    fn is_idle(&self) -> bool {
        self.requests.is_empty()
            && !self.backlogged()
            && self.terminals.iter().all(|member| member.request == 0 && member.came == 0)
    }

    /// Passes all places on the grid that begin by now.
    fn advance(&mut self, now: Instant, packets: &mut dyn Packets) {
        while self.frames.next_at() <= now {
            if self.is_idle() {
                self.frames.skip_frames(now);
            }
            let at = self.frames.next_at();
            let frame = self.frames.number();
            match self.frames.pass() {
                Place::Opening(opening) => {
                    let turn = (frame % ASKS_EVERY as u64) as usize;
                    self.ask(at, opening * ASKS_EVERY + turn);
                }
                Place::Slot(slot) => {
                    if slot == 0 {
                        self.share_out(at);
                    }
                    if let Some(owner) = self.owners.get(slot) {
                        let (end, room) = (at + self.frames.slot(), self.room);
                        self.terminals[*owner].terminal.fill(at, end, room, packets);
                    }
                }
            }
        }
    }

    fn ask(&mut self, at: Instant, terminal: usize) {
        let Some(member) = self.terminals.get_mut(terminal) else { return };
        let came = std::mem::take(&mut member.came);
        let demand = match self.config.demand {
            Demand::Volume => member.terminal.backlog(),
            Demand::RateAndVolume => member.terminal.backlog() + came,
        };
        // Who needs nothing and has nothing is silent.
        if demand > 0 || member.asked > 0 {
            member.asked = demand;
            self.requests.push_back((at + self.config.grant_delay, terminal, demand));
        }
    }

    /// Gives the slots of the frame that begins at `at` to the terminals.
    fn share_out(&mut self, at: Instant) {
        while let Some((known, terminal, demand)) = self.requests.front().copied()
            && known <= at
        {
            self.terminals[terminal].request = demand;
            self.requests.pop_front();
        }
        self.owners.clear();
        let all: u64 = self.terminals.iter().map(|member| member.request).sum();
        let slots = self.frames.slots();
        for (number, member) in self.terminals.iter_mut().enumerate() {
            if member.request == 0 {
                member.excess = 0.0;
                continue;
            }
            let share = slots as f64 * member.request as f64 / all as f64;
            let wanted = (share - member.excess).max(0.0).ceil();
            let given = (wanted as usize).min(slots - self.owners.len());
            member.excess += given as f64 - share;
            self.owners.extend(std::iter::repeat_n(number, given));
        }
    }
}

impl Mac for Tdma {
    fn enqueue(&mut self, now: Instant, packet: Held, packets: &mut dyn Packets) {
        self.advance(now, packets);
        let member = &mut self.terminals[usize::from(packet.line)];
        member.came += packet.bytes.get();
        member.terminal.enqueue(now, packet, packets);
    }

    fn handle_timeout(&mut self, now: Instant, packets: &mut dyn Packets) {
        self.advance(now, packets);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.backlogged().then(|| self.frames.next_at())
    }

    fn waiting(&self, line: u16) -> Backlog {
        self.terminals[usize::from(line)].terminal.waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{drop_tail, load};
    use super::*;
    use crate::queue::testing::{Watched, data};

    const RATE: BitRate = BitRate::from_bps(2_000_000);
    const TERMINALS: u16 = 5;

    fn tdma(config: TdmaConfig) -> Tdma {
        Tdma::new(RATE, config, drop_tail(TERMINALS))
    }

    /// The slots of each terminal in 20 frames for these requests.
    fn shares(requests: [u64; 5]) -> [usize; 5] {
        let mut uplink = tdma(TdmaConfig::default());
        for (member, request) in uplink.terminals.iter_mut().zip(requests) {
            member.request = request;
        }
        let mut counts = [0; 5];
        for _ in 0..20 {
            uplink.share_out(Instant::ZERO);
            assert!(uplink.owners.len() <= 63 && uplink.owners.is_sorted());
            uplink.owners.iter().for_each(|owner| counts[*owner] += 1);
        }
        counts
    }

    #[test]
    fn slots_are_shared_in_proportion_and_rounding_evens_out() {
        for (requests, expected) in [
            ([1, 1, 1, 1, 1], [252; 5]),
            ([0, 500, 0, 0, 0], [0, 1260, 0, 0, 0]),
            ([1, 2, 3, 0, 0], [210, 420, 630, 0, 0]),
            ([1, 1000, 0, 0, 0], [1, 1259, 0, 0, 0]),
        ] {
            let counts = shares(requests);
            for (count, expected) in counts.into_iter().zip(expected) {
                assert!(count.abs_diff(expected) <= 1, "{requests:?}: {counts:?}");
            }
        }
    }

    #[test]
    fn a_packet_waits_for_its_request_and_then_for_its_slots() {
        let mut uplink = tdma(TdmaConfig::default());
        let mut seen = Watched::default();
        // Terminal 2 asks in frames 2, 10, ...: at 100 ms. Known in the frame that begins after
        // 600 ms, in which all slots are its own: the first after that for requests.
        uplink.enqueue(Instant::ZERO, Held { line: 2, ..data(1) }, &mut seen);
        while let Some(at) = uplink.poll_timeout() {
            uplink.handle_timeout(at, &mut seen);
        }
        let slot = Span::from_millis(50) / 64;
        // 195 bytes in a slot: the sixth one brings the last of 1000.
        assert_eq!(uplink.room, ByteCount::new(195));
        assert_eq!(seen.departed, [(1, Instant::ZERO + Span::from_millis(600) + slot * 7)]);
    }

    #[test]
    fn asking_for_what_comes_as_well_shortens_the_wait() {
        let measure = |demand| {
            let config = TdmaConfig { demand, ..TdmaConfig::default() };
            load(&mut tdma(config), TERMINALS, 195, 60_000.0)
        };
        let (volume, with_rate) = (measure(Demand::Volume), measure(Demand::RateAndVolume));
        assert!(with_rate.0 <= volume.0, "{with_rate:?} {volume:?}");
    }

    #[test]
    fn at_heavy_load_all_but_the_slots_for_requests_is_used() {
        let (_, throughput) = load(&mut tdma(TdmaConfig::default()), TERMINALS, 195, 400_000.0);
        let expected = 63.0 * 195.0 / 0.05;
        assert!((throughput / expected - 1.0).abs() < 0.02, "{throughput}, not {expected}");
    }

    #[test]
    fn a_long_silence_costs_no_time() {
        let mut uplink = tdma(TdmaConfig::default());
        uplink.advance(Instant::ZERO + Span::from_secs(366 * 86_400), &mut Watched::default());
        assert!(uplink.is_idle());
    }
}
