//! Bundles in a storm: a source, a relay, and a destination whose link is there for seconds.

use std::collections::{BTreeMap, BTreeSet};

use bentpipe_bundle::{Answer, BundleId, MemoryFolder, Outgoing, Queue, Refusal, SessionId};
use bentpipe_link::{Stream, Streams};
use bentpipe_units::{Instant, Span};

use super::bundle_nodes::{DESTINATION, Machine, NODES, RELAY, SOURCE, request};
use super::network::{Network, Weather};
use super::node::Node;
use super::phase::Phase;
use super::settings::Settings;
use super::{CALENDAR, Finding, Log, Report, Time, history, keys};

/// When everything works again, everything has arrived within this time.
const CALM: Span = Span::from_secs(1200);
/// Most bundles of a storm.
const MOST: u64 = 150;

/// What the applications know.
#[derive(Debug, Default)]
struct Applications {
    /// Bundles of which the source's node has taken custody.
    taken: BTreeMap<BundleId, Vec<u8>>,
    /// Bundles that it could not put on its medium, it says.
    doubtful: BTreeMap<BundleId, Vec<u8>>,
    /// Bundles that the destination's application has.
    has: BTreeSet<BundleId>,
    /// Those of them of which the node knows that.
    confirmed: BTreeSet<BundleId>,
}

/// When the link to the destination is there.
#[derive(Clone, Copy, Debug)]
struct Contacts {
    every: Span,
    lasts: Span,
}

impl Contacts {
    fn draw(random: &mut Stream) -> Self {
        let every = Span::from_secs(20 + random.below(100));
        Self { every, lasts: Span::from_secs(2 + random.below(8)) }
    }

    fn are_on(self, now: Instant) -> bool {
        now.as_nanos() % self.every.as_nanos() < self.lasts.as_nanos()
    }

    /// When that changes.
    fn next(self, now: Instant) -> Instant {
        let since = now.as_nanos() % self.every.as_nanos();
        let until = if self.are_on(now) { self.lasts } else { self.every };
        now + Span::from_nanos(until.as_nanos() - since)
    }
}

/// Three nodes in a row.
pub(super) struct World {
    now: Instant,
    time: Time,
    seed: u64,
    settings: Settings,
    random: Stream,
    network: Network,
    nodes: Vec<Node>,
    machines: Vec<Machine>,
    /// The sessions of the applications that receive: bundles at the destination, reports at the source.
    mail: Option<SessionId>,
    reports: Option<SessionId>,
    /// What that node was like when the application looked last.
    looked: u64,
    contacts: Contacts,
    applications: Applications,
    phase: Phase,
    log: Log,
    report: Report,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let streams = Streams::new(seed);
        let mut random = streams.stream("storm");
        let drawn = Settings::draw(&mut streams.stream("settings"));
        let settings = Settings { second: None, rate: None, ..drawn };
        let keys = keys(&mut random, NODES);
        let calendar = CALENDAR * 1_000_000_000;
        let nodes: Vec<Node> =
            keys.into_iter().map(|key| Node::new(key, settings.security, calendar)).collect();
        let folder = |place: usize| MemoryFolder::new(seed.wrapping_mul(4) + place as u64);
        let machines = (0..NODES).map(|place| Machine::new(place, folder(place))).collect();
        let lasts = Span::from_secs(20 + random.below(400));
        Self {
            now: Instant::ZERO,
            time: Time::default(),
            seed,
            network: Network::new(streams.stream("network"), NODES, &settings),
            settings,
            nodes,
            machines,
            mail: None,
            reports: None,
            looked: 0,
            contacts: Contacts::draw(&mut random),
            applications: Applications::default(),
            phase: Phase::new(lasts),
            log: Log::default(),
            report: Report::default(),
            random,
        }
    }

    /// Lets it all happen.
    pub(super) fn run(mut self) -> Result<Report, Box<Finding>> {
        for node in [SOURCE, DESTINATION] {
            let weather = [(); 2].map(|()| Weather::draw(&mut self.random));
            for (direction, weather) in weather.into_iter().enumerate() {
                *self.network.weather_mut(node, direction) = weather;
            }
        }
        self.log.say(self.now, format_args!("{:?}, {:?}", self.settings, self.contacts));
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
        for place in 0..NODES {
            self.start(place);
        }
        loop {
            self.step()?;
            let Some(calm) = self.phase.calm_since() else { continue };
            let Applications { taken, has, .. } = &self.applications;
            let missing = taken.keys().filter(|id| !has.contains(id)).count();
            if missing == 0 {
                return Ok(());
            }
            if self.now.since(calm) > CALM {
                let holds: Vec<_> = self.machines.iter().map(Machine::holds).collect();
                return Err(format!(
                    "{missing} of {} bundles have not arrived {:.0} s after the storm; the nodes hold {holds:?}",
                    taken.len(),
                    CALM.as_secs_f64(),
                ));
            }
        }
    }

    /// Lets the next thing happen.
    fn step(&mut self) -> Result<(), String> {
        self.report.events += 1;
        let nodes = self.nodes.iter().filter_map(Node::next).min();
        let is_calm = self.phase.is_calm();
        let acts = (!is_calm).then(|| self.phase.next().min(self.contacts.next(self.now)));
        let next = Instant::earliest(Instant::earliest(nodes, acts), self.network.next());
        let limit = self.phase.calms() + CALM + Span::from_secs(1);
        self.now = self.time.advance(next.unwrap_or(limit).min(limit))?;
        if self.phase.ends(self.now) {
            self.calm();
        } else if !is_calm {
            let is_dark = !self.contacts.are_on(self.now);
            for direction in 0..2 {
                self.network.weather_mut(DESTINATION, direction).is_dark = is_dark;
            }
            if self.phase.acts(self.now) {
                self.act();
                let pause = self.random.exponential(4.0).min(60.0);
                self.phase.act_at(self.now + Span::from_secs_f64(pause));
            }
        }
        self.deliver()?;
        self.go_on();
        self.receive_reports();
        self.receive_mail()
    }

    /// Datagrams arrive.
    fn deliver(&mut self) -> Result<(), String> {
        let now = self.now;
        while self.network.next().is_some_and(|at| at <= now) {
            let Some(flight) = self.network.take(now) else { continue };
            self.log.digest(now, &flight.bytes);
            self.nodes[flight.to].receive(now, &flight)?;
        }
        Ok(())
    }

    /// Programs do what they can do now.
    fn go_on(&mut self) {
        let now = self.now;
        let mut out = Vec::new();
        for place in 0..NODES {
            if self.nodes[place].returns.is_some_and(|at| at <= now) {
                self.start(place);
            }
            let node = &mut self.nodes[place];
            node.keep(now);
            if let Some(program) = &mut node.program {
                program.run(now, &mut out);
            }
            for datagram in out.drain(..) {
                self.network.send(now, place, datagram);
            }
        }
    }

    /// The destination's application takes what there is. Now and then it ends before it has said that it has a bundle.
    fn receive_mail(&mut self) -> Result<(), String> {
        let (Some(node), Some(session)) = (&self.machines[DESTINATION].node, self.mail) else {
            return Ok(());
        };
        let version = node.look(bentpipe_bundle::Node::version);
        if std::mem::replace(&mut self.looked, version) == version {
            return Ok(());
        }
        while let Some(out) = node.at_once(|node, now| node.next(now, session, u64::MAX)) {
            let Outgoing { id, bundle } = out;
            let known = &mut self.applications;
            if known.confirmed.contains(&id) {
                return Err(format!("{id} is delivered once more"));
            }
            let sent = known.taken.get(&id).or_else(|| known.doubtful.get(&id));
            if sent.map(Vec::as_slice) != Some(bundle.payload()) {
                return Err(format!("{id} is not what was sent"));
            }
            if self.phase.is_calm() || self.random.chance(0.9) {
                known.has.insert(id.clone());
                let said =
                    node.at_once(|node, now| node.answered(now, session, &id, Answer::Accepted));
                if said.is_ok() {
                    self.report.successes += 1;
                    known.confirmed.insert(id);
                }
            } else {
                let said = |node: &mut bentpipe_bundle::Node<_>, now| {
                    node.answered(now, session, &id, Answer::Later)
                };
                node.at_once(said).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// The source's application reads its reports.
    fn receive_reports(&mut self) {
        let (Some(node), Some(session)) = (&self.machines[SOURCE].node, self.reports) else {
            return;
        };
        while let Some(out) = node.at_once(|node, now| node.next(now, session, u64::MAX)) {
            let said = |node: &mut bentpipe_bundle::Node<_>, now| {
                node.answered(now, session, &out.id, Answer::Accepted)
            };
            if node.at_once(said).is_err() {
                return;
            }
        }
    }

    fn start(&mut self, place: usize) {
        self.log.say(self.now, format_args!("node {place} starts"));
        let peers: Vec<_> = self.nodes.iter().map(|node| node.key.public()).collect();
        let relay = self.network.address(RELAY);
        let program = self.nodes[place].start(self.now, self.seed.wrapping_add(place as u64 * 77));
        let salt = self.random.bits();
        let machine = &mut self.machines[place];
        if let Err(error) = machine.start(program, &peers, relay, salt, &self.settings) {
            // Its disk has died meanwhile: somebody turns the machine off and on.
            self.log.say(self.now, format_args!("node {place} does not begin: {error}"));
            self.kill(place, true, Span::from_secs(1));
            return;
        }
        let begin = |queue: &str| {
            let queue = Queue::Endpoint(queue.to_owned());
            machine.node.as_ref().map(|node| node.at_once(|node, _| node.begin(queue)))
        };
        match place {
            DESTINATION => {
                self.mail = begin("dtn://mars/mail");
                self.looked = 0;
            }
            SOURCE => self.reports = begin("dtn://earth/reports"),
            _ => {}
        }
    }

    /// Something goes wrong, or right again, or the source sends.
    fn act(&mut self) {
        let place = self.random.below(NODES as u64) as usize;
        match self.random.below(14) {
            0..=5 => self.send(),
            6 | 7 => {
                let power = self.random.chance(0.6);
                let down = [0, 0, 300, 2_000, 20_000, 90_000][self.random.below(6) as usize];
                let down = Span::from_millis(self.random.below(down + 1));
                self.kill(place, power, down);
            }
            8 | 9 => {
                let node = 1 + self.random.below(2) as usize;
                let said = self.network.change(node, &mut self.random);
                self.report.changes += 1;
                self.log.say(self.now, said);
            }
            10 | 11 => {
                let (dies, changes) = (self.random.chance(0.5), self.random.below(12));
                self.report.disk_faults += 1;
                self.log.say(self.now, format_args!("node {place}: disk dies {dies}, {changes}"));
                let folder = &self.machines[place].folder;
                if dies { folder.die_after(changes) } else { folder.fail(changes * 20) }
            }
            12 => {
                let stall = Span::from_millis(self.random.below(3_000));
                if let Some(program) = &self.nodes[place].program {
                    program.runtime().stall(stall);
                }
            }
            _ => self.network.intrude(self.now),
        }
    }

    /// The source's application sends a few bundles.
    fn send(&mut self) {
        let Some(node) = &self.machines[SOURCE].node else { return };
        for _ in 0..=self.random.below(4) {
            if self.report.attempts >= MOST {
                return;
            }
            self.report.attempts += 1;
            let len = [1, 100, 3_000, 60_000][self.random.below(4) as usize];
            let len = self.random.below(len) as usize;
            let payload: Vec<u8> = (0..len).map(|_| self.random.bits() as u8).collect();
            let asked = request(payload.clone(), self.random.chance(0.3));
            match node.at_once(|node, now| node.submit(now, &asked)) {
                Ok(id) => {
                    self.applications.taken.insert(id, payload);
                }
                // It said so, and may have it all the same.
                Err(Refusal::Medium { id, .. }) => {
                    self.applications.doubtful.insert(id, payload);
                }
                Err(_) => {}
            }
        }
    }

    /// A node is killed, and perhaps its power goes: what was not synchronised is gone then.
    fn kill(&mut self, place: usize, power: bool, down: Span) {
        self.report.kills += 1;
        self.log
            .say(self.now, format_args!("node {place}: killed, power lost: {power}, for {down:?}"));
        self.machines[place].node = None;
        match place {
            DESTINATION => self.mail = None,
            SOURCE => self.reports = None,
            _ => {}
        }
        drop(self.nodes[place].kill());
        // A disk that has died works again after a loss of power.
        if power || self.machines[place].has_dead_disk() {
            self.report.power_losses += 1;
            self.machines[place].lose_power();
        }
        self.nodes[place].returns = Some(self.now + down);
    }

    /// The storm is over. Everybody is started once more, and what was said to be on a disk is there after a loss of power.
    fn calm(&mut self) {
        self.phase.end();
        self.log.say(self.now, "the storm is over");
        self.network.clear_up();
        for place in 0..NODES {
            self.kill(place, true, Span::ZERO);
        }
    }
}
