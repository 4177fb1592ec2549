//! Unslotted ALOHA: terminals send at once and hear for themselves whether it went well.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::Station;
use crate::queue::{Backlog, Discipline, Held, LineState, Packets};
use crate::{LossCause, Stream};

/// Settings of unslotted ALOHA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlohaConfig {
    /// Link header of each transmission.
    pub header: ByteCount,
    /// From the end of a transmission until its sender has heard it: the way to the satellite and
    /// back.
    pub echo: Span,
    /// From the end of a transmission until its sender, which has not heard it, knows that it met
    /// another one; not below `echo`.
    pub timeout: Span,
    /// Mean wait before a packet is sent again, exponential.
    pub mean_backoff: Span,
    /// How often a packet is sent again.
    pub retries: u32,
}

impl Default for AlohaConfig {
    fn default() -> Self {
        Self {
            header: ByteCount::new(16),
            echo: Span::from_millis(250),
            timeout: Span::from_millis(270),
            mean_backoff: Span::from_secs(1),
            retries: 3,
        }
    }
}

/// Terminals that share an uplink by unslotted ALOHA, as in ns-2's `sat-aloha`: each one sends what
/// it has at once, stops, and waits until it hears its own packet. Transmissions that overlap are all
/// destroyed and sent again after a random time.
///
/// Terminals are equally far from the receiver, so that what overlaps when it is sent overlaps
/// there.
#[derive(Debug)]
pub struct Aloha {
    rate: BitRate,
    config: AlohaConfig,
    terminals: Vec<Terminal>,
}

#[derive(Debug)]
struct Terminal {
    queue: Box<dyn Discipline>,
    backoff: Stream,
    state: State,
}

/// What a terminal does, and until when.
#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    /// Sends a packet for the time numbered `tries` from 0.
    Sends {
        packet: Held,
        tries: u32,
        until: Instant,
        destroyed: bool,
    },
    /// Waits to hear the packet, which will come.
    Listens {
        until: Instant,
    },
    /// Waits in vain to hear it.
    Misses {
        packet: Held,
        tries: u32,
        until: Instant,
    },
    /// Waits to send it again.
    Backs {
        packet: Held,
        tries: u32,
        until: Instant,
    },
}

impl State {
    const fn until(&self) -> Option<Instant> {
        match self {
            Self::Idle => None,
            Self::Sends { until, .. }
            | Self::Listens { until }
            | Self::Misses { until, .. }
            | Self::Backs { until, .. } => Some(*until),
        }
    }
}

impl Aloha {
    /// Idle terminals, each with its queue and the stream that its waits are drawn from.
    pub fn new(
        rate: BitRate,
        config: AlohaConfig,
        terminals: impl IntoIterator<Item = (Box<dyn Discipline>, Stream)>,
    ) -> Self {
        let terminal = |(queue, backoff)| Terminal { queue, backoff, state: State::Idle };
        Self { rate, config, terminals: terminals.into_iter().map(terminal).collect() }
    }

    /// The terminal with the next deadline. At equal times transmissions end before others begin.
    fn next(&self) -> Option<(Instant, bool, usize)> {
        let deadline = |(n, terminal): (usize, &Terminal)| {
            let sends = matches!(terminal.state, State::Sends { .. });
            terminal.state.until().map(|until| (until, !sends, n))
        };
        self.terminals.iter().enumerate().filter_map(deadline).min()
    }

    fn send(&mut self, now: Instant, terminal: usize, packet: Held, tries: u32) {
        let mut destroyed = false;
        for other in &mut self.terminals {
            if let State::Sends { destroyed: hit, .. } = &mut other.state {
                (*hit, destroyed) = (true, true);
            }
        }
        let until = now + self.rate.time_for(packet.bytes + self.config.header);
        self.terminals[terminal].state = State::Sends { packet, tries, until, destroyed };
    }

    /// The deadline of a terminal has come.
    fn step(&mut self, now: Instant, number: usize, packets: &mut dyn Packets) {
        let terminal = &mut self.terminals[number];
        terminal.state = match terminal.state {
            State::Sends { packet, tries, destroyed: true, .. } => {
                State::Misses { packet, tries, until: now + self.config.timeout }
            }
            State::Sends { packet, .. } => {
                packets.departs(&packet, now);
                State::Listens { until: now + self.config.echo }
            }
            State::Misses { packet, tries, .. } if tries < self.config.retries => {
                let mean = self.config.mean_backoff.as_secs_f64();
                let wait = Span::from_secs_f64(terminal.backoff.exponential(mean));
                State::Backs { packet, tries: tries + 1, until: now + wait }
            }
            State::Misses { packet, .. } => {
                packets.lost(&packet, LossCause::Collision);
                State::Idle
            }
            State::Backs { packet, tries, .. } => return self.send(now, number, packet, tries),
            State::Listens { .. } | State::Idle => State::Idle,
        };
        self.begin(now, number, packets);
    }

    /// An idle terminal sends its next packet.
    fn begin(&mut self, now: Instant, number: usize, packets: &mut dyn Packets) {
        let terminal = &mut self.terminals[number];
        if let State::Idle = terminal.state
            && let Some(packet) = terminal.queue.dequeue(now, packets)
        {
            self.send(now, number, packet, 0);
        }
    }
}

impl Station for Aloha {
    fn enqueue(&mut self, now: Instant, packet: Held, packets: &mut dyn Packets) {
        self.handle_timeout(now, packets);
        let number = usize::from(packet.line);
        let terminal = &mut self.terminals[number];
        let idle = matches!(terminal.state, State::Idle) && terminal.queue.backlog().packets == 0;
        let state = if idle { LineState::Idle } else { LineState::Busy };
        terminal.queue.enqueue(now, state, packet, packets);
        self.begin(now, number, packets);
    }

    fn handle_timeout(&mut self, now: Instant, packets: &mut dyn Packets) {
        while let Some((at, _, number)) = self.next()
            && at <= now
        {
            self.step(at, number, packets);
        }
        for number in 0..self.terminals.len() {
            self.begin(now, number, packets);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let idle = self.terminals.iter().filter(|t| matches!(t.state, State::Idle));
        let held_back = idle.filter(|t| t.queue.backlog().packets > 0).map(|t| t.queue.ready_at());
        self.next().map(|(at, _, _)| at).into_iter().chain(held_back).min()
    }

    fn waiting(&self, line: u16) -> Backlog {
        self.terminals[usize::from(line)].queue.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::DropTail;
    use crate::queue::testing::{Watched, data, ms};
    use crate::{QueueLimit, Streams};

    /// 1000 bytes take a millisecond.
    const RATE: BitRate = BitRate::from_bps(8_000_000);

    fn aloha(terminals: u16, config: AlohaConfig) -> Aloha {
        let streams = Streams::new(1);
        let terminal = |n: u16| -> (Box<dyn Discipline>, Stream) {
            let queue = DropTail::new(QueueLimit::Packets(50));
            (Box::new(queue), streams.stream(&format!("backoff {n}")))
        };
        let config = AlohaConfig { header: ByteCount::ZERO, ..config };
        Aloha::new(RATE, config, (0..terminals).map(terminal))
    }

    /// Hands over packets at their times, numbered from 0, given as microseconds and terminals.
    fn play(aloha: &mut Aloha, arrivals: impl IntoIterator<Item = (u64, u16)>) -> Watched {
        let mut seen = Watched::default();
        for (id, (at, line)) in arrivals.into_iter().enumerate() {
            let at = Instant::from_nanos(at * 1000);
            while let Some(due) = aloha.poll_timeout()
                && due <= at
            {
                aloha.handle_timeout(due, &mut seen);
            }
            aloha.enqueue(at, Held { line, ..data(id as u32) }, &mut seen);
        }
        while let Some(due) = aloha.poll_timeout() {
            aloha.handle_timeout(due, &mut seen);
        }
        seen
    }

    #[test]
    fn a_terminal_sends_at_once_and_then_waits_until_it_hears_its_packet() {
        let seen = play(&mut aloha(2, AlohaConfig::default()), [(0, 0), (500, 0), (2000, 1)]);
        assert_eq!(seen.departed, [(0, ms(1)), (2, ms(3)), (1, ms(252))]);
    }

    #[test]
    fn what_overlaps_is_destroyed_even_if_only_in_a_chain_and_what_touches_is_not() {
        let config = AlohaConfig { retries: 0, ..AlohaConfig::default() };
        let chain = [(0, 0), (600, 1), (1500, 2), (2500, 3)];
        let seen = play(&mut aloha(4, config), chain);
        let lost: Vec<_> = seen.lost.iter().map(|(id, _)| *id).collect();
        assert_eq!(
            (lost, seen.departed),
            (vec![0, 1, 2], vec![(3, ms(3) + Span::from_micros(500))])
        );
        assert!(seen.lost.iter().all(|(_, cause)| *cause == LossCause::Collision));
    }

    #[test]
    fn both_are_sent_again_after_waits_of_their_own() {
        let seen = play(&mut aloha(2, AlohaConfig::default()), [(0, 0), (100, 1)]);
        assert!(seen.lost.is_empty());
        // Not before the timeout, and apart.
        let times: Vec<_> = seen.departed.iter().map(|(_, at)| *at).collect();
        assert!(times[0] > ms(271) && times[1].since(times[0]) > Span::from_millis(1), "{times:?}");
    }

    #[test]
    fn what_collides_every_time_is_sent_four_times_and_then_lost() {
        // Both wait for a nanosecond or so, and meet again.
        let mean_backoff = Span::from_nanos(1);
        let config = AlohaConfig { mean_backoff, ..AlohaConfig::default() };
        let mut seen = play(&mut aloha(2, config), [(0, 0), (100, 1), (200_000, 0)]);
        seen.lost.sort_unstable_by_key(|(id, _)| *id);
        assert_eq!(seen.lost, [(0, LossCause::Collision), (1, LossCause::Collision)]);
        // Four transmissions of a millisecond, each missed after 270 ms: then the next packet has its turn.
        let [(2, left)] = seen.departed[..] else { panic!("{:?}", seen.departed) };
        let expected = ms(4 * 271 + 1);
        assert!((expected..expected + Span::from_micros(1)).contains(&left), "{left}");
    }

    #[test]
    fn waits_before_a_packet_is_sent_again_are_exponential() {
        // One packet of each pair has long found its way when the next pair comes.
        let pairs = (0..4_000u64).flat_map(|n| [(n * 100_000_000, 0), (n * 100_000_000 + 100, 1)]);
        let seen =
            play(&mut aloha(2, AlohaConfig { retries: 99, ..AlohaConfig::default() }), pairs);
        assert_eq!(seen.departed.len(), 8_000);
        let waits = seen.departed.iter().map(|(id, at)| {
            let began = u64::from(id / 2) * 100_000_000 + u64::from(id % 2) * 100;
            at.since(Instant::from_nanos(began * 1000)).as_secs_f64() - 0.272
        });
        // Two that wait for a second on average meet again now and then, once in some 500 times.
        let mean = waits.sum::<f64>() / 8_000.0;
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
    }

    #[test]
    fn the_link_header_takes_its_time() {
        let queue: Box<dyn Discipline> = Box::new(DropTail::new(QueueLimit::Unlimited));
        let terminals = [(queue, Streams::new(1).stream("backoff"))];
        let seen = play(&mut Aloha::new(RATE, AlohaConfig::default(), terminals), [(0, 0)]);
        assert_eq!(seen.departed, [(0, Instant::ZERO + Span::from_micros(1016))]);
    }

    #[test]
    fn of_random_transmissions_as_many_survive_as_theory_says() {
        // 200 terminals that never send again and need not listen: with load G the share exp(-2G)
        // survives.
        let config = AlohaConfig {
            echo: Span::ZERO,
            timeout: Span::ZERO,
            retries: 0,
            ..AlohaConfig::default()
        };
        for load in [0.1, 0.3, 0.5] {
            let mut stream = Streams::new(2).stream("arrivals");
            let mut at = 0.0;
            let arrivals: Vec<_> = (0..40_000u64)
                .map(|_| {
                    at += stream.exponential(1000.0 / load);
                    (at as u64, stream.below(200) as u16)
                })
                .collect();
            let seen = play(&mut aloha(200, config), arrivals);
            let survived = seen.departed.len() as f64 / 40_000.0;
            assert!((survived - libm::exp(-2.0 * load)).abs() < 0.015, "{load}: {survived}");
        }
    }
}
