//! A world of several paths between two tunnels.

use bentpipe_tunnel::{Config, Datagram, Message, PathPlan, Tunnel};
use bentpipe_units::{BitRate, Instant, Span};
use bentpipe_wire::Ecn;

use super::world::{Way, datagram, number};

pub(crate) const ROOM: usize = 1_430;

/// Paths between two tunnels, of which the first one receives nothing but reports.
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) tunnels: [Tunnel; 2],
    /// There and back, by path.
    pub(crate) ways: Vec<[Way; 2]>,
    pub(crate) plans: Vec<PathPlan>,
    /// Those by which nothing arrives.
    pub(crate) cut: Vec<bool>,
    /// Those of which both ends know that they work.
    pub(crate) open: Vec<usize>,
    pub(crate) out: Vec<(Instant, Datagram)>,
}

impl World {
    /// Paths of so many Mbit/s and milliseconds one way.
    pub(crate) fn new(seed: u64, paths: &[(u64, u64)]) -> Self {
        Self::with(seed, paths, Config::default())
    }

    /// The same of tunnels with these settings.
    pub(crate) fn with(seed: u64, paths: &[(u64, u64)], config: Config) -> Self {
        let way = |name: &str, mbit, millis| Way::new(mbit, millis, seed, name);
        let ways = paths.iter().enumerate().map(|(n, (mbit, millis))| {
            [format!("there {n}"), format!("back {n}")].map(|name| way(&name, *mbit, *millis))
        });
        let tunnels = [seed, seed + 1].map(|seed| Tunnel::new(config, seed));
        let plan = |(mbit, millis): &(u64, u64)| PathPlan {
            round_trip: Some(Span::from_millis(2 * millis)),
            rate: Some(BitRate::from_bps(mbit * 1_000_000)),
            spills: false,
        };
        let (plans, cut) = (paths.iter().map(plan).collect(), vec![false; paths.len()]);
        let open = (0..paths.len()).collect();
        Self { now: Instant::ZERO, tunnels, ways: ways.collect(), plans, cut, open, out: vec![] }
    }

    /// Both ends know by now which paths work.
    pub(crate) fn tell(&mut self) {
        let known: Vec<(usize, PathPlan)> =
            self.open.iter().map(|path| (*path, self.plans[*path])).collect();
        self.tunnels.iter_mut().for_each(|tunnel| tunnel.set_paths(self.now, &known));
    }

    /// Runs until `end`; the next datagrams are offered when `source` says.
    pub(crate) fn run(
        &mut self,
        end: Instant,
        source: &mut dyn FnMut(Instant) -> (Vec<Datagram>, Instant),
    ) {
        let mut next_offer = self.now;
        while self.now < end {
            self.tell();
            if next_offer <= self.now {
                let (datagrams, next) = source(self.now);
                next_offer = next;
                for datagram in datagrams {
                    assert!(self.tunnels[0].offer(self.now, datagram));
                }
            }
            self.carry();
            let mut next = next_offer.min(end);
            for from in [0, 1] {
                let tunnel = &self.tunnels[from];
                next = tunnel.timers_due().map_or(next, |due| due.max(self.now).min(next));
                for (path, ways) in self.ways.iter().enumerate() {
                    let due = tunnel.deadline(path, ROOM);
                    let due = due.map(|due| due.max(ways[from].free_at).max(self.now));
                    next =
                        [due, ways[from].arrival()].into_iter().flatten().fold(next, Instant::min);
                }
            }
            self.now = if next <= self.now { self.now + Span::from_micros(10) } else { next };
        }
    }

    pub(crate) fn carry(&mut self) {
        let now = self.now;
        for path in 0..self.ways.len() {
            for (from, to) in [(0, 1), (1, 0)] {
                while let Some(message) = self.ways[path][from].arrived(now) {
                    if !self.cut[path] {
                        self.tunnels[to].handle_message(now, Ecn::NotCapable, message);
                    }
                }
            }
        }
        for from in [0, 1] {
            let tunnel = &mut self.tunnels[from];
            tunnel.handle_timeout(now);
            while let Some(report) = tunnel.poll_report(now) {
                let path = report.path();
                let path = if self.open.contains(&path) { path } else { self.open[0] };
                self.ways[path][from].send(now, report);
            }
            let nearest = tunnel.nearest();
            let others = (0..self.ways.len()).filter(|path| *path != nearest);
            for path in std::iter::once(nearest).chain(others) {
                let way = &mut self.ways[path][from];
                while way.is_free(now)
                    && let Some(message) = tunnel.poll_transmit(now, path, ROOM)
                {
                    assert!(
                        path == nearest
                            || message.path() == path
                            || matches!(message, Message::Packet(_))
                    );
                    way.send(now, message);
                }
            }
        }
        while let Some(datagram) = self.tunnels[1].poll_datagram() {
            self.out.push((now, datagram));
        }
    }

    /// Offers datagrams of 1,200 bytes of flow 1 at this rate until then. Returns how many.
    pub(crate) fn download(&mut self, mbit: f64, end: Instant, first: u32) -> u32 {
        let each = Span::from_secs_f64(1_200.0 * 8.0 / mbit / 1e6);
        let mut next = first;
        self.run(end, &mut |now| {
            next += 1;
            (vec![datagram(1, next - 1, 1_200)], now + each)
        });
        next
    }

    /// Nothing more is offered, and what is under way arrives.
    pub(crate) fn settle(&mut self) {
        let end = self.now + Span::from_secs(3);
        self.run(end, &mut |_| (Vec::new(), end));
    }

    pub(crate) fn numbers(&self, flow: u16) -> Vec<u32> {
        let of = self.out.iter().filter(|(_, datagram)| datagram.flow == flow);
        of.map(|(_, datagram)| number(datagram)).collect()
    }

    /// Mbit/s of flow 1 that came between these.
    pub(crate) fn rate(&self, from: Instant, to: Instant) -> f64 {
        let came =
            |(at, datagram): &&(Instant, Datagram)| datagram.flow == 1 && (from..to).contains(at);
        let bytes: usize = self.out.iter().filter(came).map(|(_, one)| one.bytes.len()).sum();
        bytes as f64 * 8.0 / to.since(from).as_secs_f64() / 1e6
    }
}
