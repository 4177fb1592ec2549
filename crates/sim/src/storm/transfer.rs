//! File transfers in a storm.

use std::net::SocketAddr;

use bentpipe_association::endpoint::{LINKS, LinkPlan, Multipath, Outer, Plan, PlannedPath, Route};
use bentpipe_association::host::lock;
use bentpipe_association::{PublicKey, Tuning};
use bentpipe_link::{Stream, Streams};
use bentpipe_transfer::Progress;
use bentpipe_transfer::memory_disk::MemoryDisk;
use bentpipe_units::{Instant, Span};

use super::flood::Flood;
use super::hostile::{Hostile, Says};
use super::network::{Network, Weather};
use super::node::Node;
use super::phase::Phase;
use super::programs::{send_once, serve};
use super::scale::Scale;
use super::settings::{Second, Settings};
use super::users::{Ends, User};
use super::{CALENDAR, Finding, Log, Report, Time, history, keys};

const SERVER: usize = 0;
/// Entries that failed in an attempt and are in the log.
const SHOWN: usize = 5;
/// When everything works again, everything has arrived within this time.
const CALM: Span = Span::from_secs(1200);

/// A server, clients that send, and a peer that is hostile.
pub(super) struct World {
    now: Instant,
    time: Time,
    seed: u64,
    settings: Settings,
    random: Stream,
    network: Network,
    nodes: Vec<Node>,
    users: Vec<User>,
    hostile: Hostile,
    disk: MemoryDisk,
    /// Changes of the disk that were looked at.
    looked: u64,
    /// What was not there after a success.
    absent: Option<String>,
    phase: Phase,
    log: Log,
    report: Report,
    scale: Scale,
}

impl World {
    pub(super) fn new(seed: u64, scale: Scale) -> Self {
        let streams = Streams::new(seed);
        let mut random = streams.stream("storm");
        let settings = Settings::draw(&mut streams.stream("settings"));
        let clients = 1 + random.below(2) as usize;
        let keys = keys(&mut random, clients + 2);
        let calendar = CALENDAR * 1_000_000_000;
        let nodes: Vec<Node> =
            keys.into_iter().map(|key| Node::new(key, settings.security, calendar)).collect();
        let disk = MemoryDisk::new(seed);
        let users: Vec<User> =
            (0..clients).map(|number| User::new(number, seed, &mut random)).collect();
        let hostile = Hostile::new(
            nodes[clients + 1].key.clone(),
            nodes[SERVER].key.public(),
            Says::Transfer,
            settings.security,
            Flood::new(streams.stream("flood")),
        );
        let lasts = Span::from_secs(20 + random.below(400));
        Self {
            now: Instant::ZERO,
            time: Time::default(),
            seed,
            network: Network::new(streams.stream("network"), nodes.len(), &settings),
            settings,
            nodes,
            users,
            hostile,
            looked: 0,
            absent: None,
            disk,
            phase: Phase::new(lasts),
            log: Log::default(),
            report: Report::default(),
            scale,
            random,
        }
    }

    /// Lets it all happen.
    pub(super) fn run(mut self) -> Result<Report, Box<Finding>> {
        for user in 0..self.users.len() {
            let weather = [(); 2].map(|()| Weather::draw(&mut self.random));
            for (direction, weather) in weather.into_iter().enumerate() {
                *self.network.weather_mut(user + 1, direction) = weather;
            }
        }
        self.log.say(self.now, format_args!("{:?}", self.settings));
        self.start_server();
        let ended = history(|| self.history());
        self.report.simulated = self.now.since(Instant::ZERO);
        self.report.datagrams = self.network.counts;
        self.report.digest = self.log.digest;
        match ended {
            Ok(()) => Ok(self.report),
            Err(what) => {
                let log = std::mem::take(&mut self.log.lines);
                let finding = Finding { at: self.now, what, log };
                // After a panic locks are poisoned, and what is dropped would panic once more.
                std::mem::forget(self);
                Err(Box::new(finding))
            }
        }
    }

    fn history(&mut self) -> Result<(), String> {
        loop {
            self.step()?;
            let Some(calm) = self.phase.calm_since() else { continue };
            if self.users.iter().all(User::is_done) {
                break;
            }
            if self.now.since(calm) > CALM {
                let left: Vec<usize> =
                    (0..self.users.len()).filter(|n| !self.users[*n].is_done()).collect();
                return Err(format!(
                    "clients {left:?} have not sent everything {:.0} s after the storm",
                    CALM.as_secs_f64()
                ));
            }
        }
        // What was said to be there is there after a loss of power too.
        self.weigh_server()?;
        self.disk.lose_power();
        self.users.iter().try_for_each(|user| user.check_last(&self.disk))
    }

    /// Lets the next thing happen.
    fn step(&mut self) -> Result<(), String> {
        self.report.events += 1;
        let nodes = self.nodes.iter().filter_map(Node::next).min();
        let users = self.users.iter().filter_map(User::next).min();
        let is_calm = self.phase.is_calm();
        let acts = (!is_calm || self.settings.unknown_peers_stay).then_some(self.phase.next());
        let mut next = Instant::earliest(nodes, users);
        for other in [acts, self.network.next(), self.hostile.next()] {
            next = Instant::earliest(next, other);
        }
        let limit = self.phase.calms() + CALM + Span::from_secs(1);
        self.now = self.time.advance(next.unwrap_or(limit).min(limit))?;
        if self.phase.ends(self.now) {
            self.calm();
        } else if self.phase.acts(self.now) {
            if !is_calm {
                self.act()?;
            } else if self.settings.unknown_peers_stay {
                self.intrude();
            }
            let pause = self.random.exponential(4.0).min(60.0);
            self.phase.act_at(self.now + Span::from_secs_f64(pause));
        }
        self.deliver()?;
        self.go_on();
        self.check()
    }

    /// Datagrams arrive.
    fn deliver(&mut self) -> Result<(), String> {
        let now = self.now;
        while self.network.next().is_some_and(|at| at <= now) {
            let Some(flight) = self.network.take(now) else { continue };
            self.log.digest(now, &flight.bytes);
            if flight.to == self.hostile_node() {
                self.hostile.receive(&flight.bytes);
            } else {
                self.nodes[flight.to].receive(now, &flight)?;
            }
        }
        Ok(())
    }

    fn hostile_node(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Programs do what they can do now.
    fn go_on(&mut self) {
        let now = self.now;
        let mut out = Vec::new();
        for number in 0..self.nodes.len() {
            if self.nodes[number].returns.is_some_and(|at| at <= now) {
                self.start_server();
            }
            let node = &mut self.nodes[number];
            node.keep(now);
            if let Some(program) = &mut node.program {
                program.run(now, &mut out);
            }
            for datagram in out.drain(..) {
                self.network.send(now, number, datagram);
            }
        }
        let (node, to) = (self.hostile_node(), self.network.address(SERVER));
        for datagram in self.hostile.act(now, to, &mut self.random) {
            self.report.hostile += 1;
            self.network.send(now, node, datagram);
        }
        for number in 0..self.users.len() {
            self.attend(number);
        }
    }

    /// Looks how far a user is.
    fn attend(&mut self, number: usize) {
        let now = self.now;
        let Some(Ends { ended, failed }) = self.users[number].news() else {
            if self.users[number].begins(now) {
                self.begin(number);
            }
            return;
        };
        for failed in failed.iter().take(SHOWN) {
            self.log.say(now, format_args!("client {number}: {failed}"));
        }
        let Some(ended) = ended else { return };
        self.log.say(now, format_args!("client {number}: {ended:?}"));
        drop(self.nodes[number + 1].kill());
        let pause = Span::from_millis(100 + self.random.below(5_000));
        let user = &mut self.users[number];
        let since = user.stop(now + pause);
        if let Some(since) = since.filter(|_| ended.is_ok_and(|outcome| outcome.failed == 0)) {
            self.report.successes += 1;
            user.succeed(since);
            self.absent = self.absent.take().or_else(|| user.absent(&self.disk, since));
            self.hostile.learn(user.names());
        }
    }

    /// A program that sends begins.
    fn begin(&mut self, number: usize) {
        let (now, seed) = (self.now, self.seed.wrapping_add(number as u64 * 77));
        let (to, peer) = (self.network.address(SERVER), self.nodes[SERVER].key.public());
        let ends = self.users[number].begin(now);
        self.report.attempts += 1;
        self.log.say(now, format_args!("client {number}: begins to send"));
        let program = self.nodes[number + 1].start(now, seed);
        let (host, runtime) = (program.host().clone(), program.runtime().clone());
        let (disk, entries, idle_timeout) = self.users[number].sends();
        let (buffer, rate) = (self.settings.buffer, self.settings.rate);
        let tuning = Tuning { idle_timeout, buffer, rate, ..Tuning::default() };
        host.set_fec(self.settings.fec);
        if let Some(second) = self.settings.second {
            let addresses = [to, self.network.second_address(SERVER)];
            let path = |(link, address): (usize, SocketAddr)| {
                let route = Route::from(address);
                let paths = [route, Route { outer: Outer::Tcp, ..route }];
                paths.map(|route| PlannedPath { route, link })
            };
            let multipath = match second {
                Second::Backup => Multipath::Failover,
                Second::Beside => Multipath::LoadBalance,
                Second::Bonded | Second::Spilling | Second::Capped => Multipath::Bond,
            };
            let links = [LinkPlan::default(); LINKS];
            let paths = addresses.into_iter().enumerate().flat_map(path).collect();
            host.plan(peer, Plan { paths, links, multipath });
        }
        program.spawn(async move {
            let sent =
                send_once(&host, &runtime, (to, peer), &disk, &entries, tuning, |progress| {
                    if let Progress::Failed { name, reason } = progress {
                        lock(&ends).failed.push(format!("{name}: {reason}"));
                    }
                });
            let sent = sent.await;
            lock(&ends).ended = Some(sent.map_err(|error| error.to_string()));
        });
    }

    fn start_server(&mut self) {
        let peers: Vec<PublicKey> = self.nodes[1..].iter().map(|node| node.key.public()).collect();
        self.log.say(self.now, "server: starts");
        let program = self.nodes[SERVER].start(self.now, self.seed);
        serve(program, &peers, &self.disk, &self.settings);
    }

    /// Something goes wrong, or right again.
    fn act(&mut self) -> Result<(), String> {
        let now = self.now;
        let user = self.random.below(self.users.len() as u64) as usize;
        match self.random.below(14) {
            0 | 1 => {
                let power = self.random.chance(0.5);
                let down = [0, 0, 300, 2_000, 20_000, 90_000][self.random.below(6) as usize];
                let down = Span::from_millis(self.random.below(down + 1));
                self.kill_server(power, down)?;
            }
            2 | 3 => {
                if self.users[user].is_sending() {
                    self.report.kills += 1;
                    self.log.say(now, format_args!("client {user}: killed"));
                    drop(self.nodes[user + 1].kill());
                    let pause = self.random.below(20_000);
                    self.users[user].stop(now + Span::from_millis(pause));
                }
            }
            4..=7 => {
                let said = self.network.change(user + 1, &mut self.random);
                self.report.changes += 1;
                self.log.say(now, said);
            }
            8 | 9 => self.spoil_disk(),
            10 => {
                let node = self.random.below(self.nodes.len() as u64) as usize;
                let calendar = super::jump(&mut self.random);
                self.report.calendars += 1;
                self.log.say(now, format_args!("node {node}: calendar {calendar}"));
                self.nodes[node].set_calendar(calendar);
            }
            11 => {
                self.users[user].edit(now, &mut self.random);
                self.report.edits += 1;
                self.log.say(now, format_args!("client {user}: a file is changed"));
            }
            _ => self.intrude(),
        }
        Ok(())
    }

    fn intrude(&mut self) {
        for _ in 0..=self.random.below(6) {
            self.network.intrude(self.now);
        }
    }

    /// The server is killed, with what its peers have made it keep.
    fn weigh_server(&mut self) -> Result<(), String> {
        let peers = self.nodes.len() - 1;
        self.scale.weigh(self.nodes[SERVER].kill(), peers, self.settings.memory)
    }

    fn kill_server(&mut self, power: bool, down: Span) -> Result<(), String> {
        self.report.kills += 1;
        self.log.say(self.now, format_args!("server: killed, power lost: {power}, for {down:?}"));
        self.weigh_server()?;
        if power {
            self.report.power_losses += 1;
            self.disk.lose_power();
        }
        self.nodes[SERVER].returns = Some(self.now + down);
        Ok(())
    }

    fn spoil_disk(&mut self) {
        self.report.disk_faults += 1;
        let mut some = |n: u64| if self.random.chance(0.5) { self.random.below(n) } else { 0 };
        let (failures, lies, stall) = (some(60), some(20), some(3_000));
        let room = (some(2) == 1).then(|| some(1_000_000));
        let (loses, stops) = (self.settings.loses && some(2) == 1, some(2) == 1);
        self.log.say(
            self.now,
            format_args!(
                "disk: failures {failures}, lies {lies}, room {room:?}, stall {stall} ms, the next sync fails: \
                 {loses}, and everything after it: {stops}"
            ),
        );
        self.disk.fail(failures, lies, room);
        match (loses, stops) {
            (true, true) => self.disk.lose_next_and_stop(),
            (true, false) => self.disk.lose_next(),
            (false, _) => {}
        }
        if let Some(program) = &self.nodes[SERVER].program {
            program.runtime().stall(Span::from_millis(stall));
        }
    }

    /// The storm is over.
    fn calm(&mut self) {
        self.phase.end();
        self.phase.act_at(self.now);
        self.log.say(self.now, "the storm is over");
        self.network.clear_up();
        self.nodes.iter_mut().for_each(|node| node.return_by(self.now));
        self.disk.fail(0, 0, None);
        if let Some(program) = &self.nodes[SERVER].program {
            program.runtime().stall(Span::ZERO);
        }
        // Everybody sends once more, whatever has arrived.
        self.users.iter_mut().for_each(User::start_over);
    }

    /// What must hold after every event.
    fn check(&mut self) -> Result<(), String> {
        if let Some(path) = &self.absent {
            return Err(format!("{path}: absent or old after a success"));
        }
        let changes = self.disk.changes();
        if changes != self.looked {
            self.looked = changes;
            for user in &self.users {
                user.check(&self.disk)?;
            }
            self.hostile.check(&self.disk)?;
        }
        if let Some(program) = &self.nodes[SERVER].program {
            let (tasks, connections) =
                (program.tasks(), program.host().shared().endpoint().connections());
            if connections > self.settings.most_connections() * (self.nodes.len() - 1) {
                return Err(format!("{connections} connections at the server"));
            }
            // One that accepts, and for each connection one that receives.
            if tasks > connections + 1 {
                return Err(format!("{tasks} futures for {connections} connections at the server"));
            }
            for node in &self.nodes[1..] {
                let held = program.host().shared().endpoint().held(node.key.public());
                if held > self.settings.memory {
                    return Err(format!("a peer holds {held} bytes at the server"));
                }
            }
        }
        let [from, to] = self.network.unknown_bytes();
        if to > 3 * from {
            return Err(format!("{to} bytes to unknown peers who sent {from}"));
        }
        Ok(())
    }
}
