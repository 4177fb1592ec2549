//! Unslotted ALOHA: terminals send at once and hear for themselves whether it went well.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::Mac;
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
    /// Mean wait before a packet is retransmitted, exponential.
    pub mean_backoff: Span,
    /// How often a packet is retransmitted.
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
/// destroyed and retransmitted after a random time.
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

impl Mac for Aloha {
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
mod tests;
