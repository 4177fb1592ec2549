//! Two gateways in a storm, and flows between the hosts on both sides.

use std::net::SocketAddr;
use std::sync::Arc;

use bentpipe_gateway::places::Kind;
use bentpipe_gateway::{Config, Destination, Gateway, Here, Network as _};
use bentpipe_link::{Stream, Streams};
use bentpipe_units::{Instant, Span};
use bentpipe_wire::Ecn;

use super::config::Configured;
use super::flood::Flood;
use super::hostile::{Hostile, Says};
use super::hosts::Hosts;
use super::lan::{ABSENT, Arrivals, HUB_NAME, Lan, NAME, REFUSES, SERVER, SERVES};
use super::network::{Network, Weather};
use super::node::Node;
use super::operator;
use super::phase::Phase;
use super::scale::Scale;
use super::settings::Settings;
use super::talks::{Sockets, Talks};
use super::{CALENDAR, Finding, Log, Report, Time, history, keys};
use crate::lan::{Pipe, Running};
use crate::program::Program;

const HUB: usize = 0;
const TERMINAL: usize = 1;
const EVIL: usize = 2;
/// Places for those who have said nothing yet.
const UNKNOWN: usize = 16;
/// Time for the gateways to find each other again after the storm.
const GRACE: Span = Span::from_secs(60);
/// When everything works again, a flow is through or has failed within this time.
const CALM: Span = Span::from_secs(400);
/// Peers of each gateway.
const PEERS: [usize; 2] = [2, 1];
/// Futures of a gateway that are there without connections.
const TASKS: usize = 16;
/// Flows that are open at the same time at most.
const FLOWS: usize = 12;
/// The same after the storm: more than a slow link carries would have no place in the end.
const CALM_FLOWS: usize = 4;

type Machine = Arc<Gateway<Lan>>;

/// Two gateways, the hosts beside them, and a peer of the hub that is hostile.
pub(super) struct World {
    now: Instant,
    time: Time,
    seed: u64,
    settings: Settings,
    random: Stream,
    network: Network,
    nodes: Vec<Node>,
    machines: [Option<Machine>; 2],
    hostile: Hostile,
    arrivals: [Arrivals; 2],
    sockets: [Sockets; 2],
    talks: Talks,
    /// What carries datagrams at the terminal.
    carries: Option<Running>,
    /// Datagrams that were answered before the end of the storm.
    answered: u64,
    hosts: Hosts,
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
        let nodes: Vec<Node> = keys(&mut random, 3)
            .into_iter()
            .map(|key| Node::new(key, settings.security, CALENDAR * 1_000_000_000))
            .collect();
        let hostile = Hostile::new(
            nodes[EVIL].key.clone(),
            nodes[HUB].key.public(),
            Says::Gateway,
            settings.security,
            Flood::new(streams.stream("flood")),
        );
        let lasts = Span::from_secs(20 + random.below(300));
        Self {
            now: Instant::ZERO,
            time: Time::default(),
            seed,
            network: Network::new(streams.stream("network"), nodes.len(), &settings),
            settings,
            nodes,
            machines: [None, None],
            hostile,
            arrivals: Default::default(),
            sockets: Default::default(),
            talks: Talks::new(streams.stream("talks")),
            carries: None,
            answered: 0,
            hosts: Hosts::default(),
            phase: Phase::new(lasts),
            log: Log::default(),
            report: Report::default(),
            scale,
            random,
        }
    }

    /// Lets it all happen.
    pub(super) fn run(mut self) -> Result<Report, Box<Finding>> {
        for direction in 0..2 {
            *self.network.weather_mut(TERMINAL, direction) = Weather::draw(&mut self.random);
        }
        self.log.say(self.now, format_args!("{:?}", self.settings));
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
        self.start(HUB)?;
        self.start(TERMINAL)?;
        loop {
            self.step()?;
            let Some(since) = self.phase.calm_since() else { continue };
            let since = self.now.since(since);
            let open = self.machines.iter().flatten().map(flows_of).sum::<usize>();
            let (clients, servers) = self.hosts.waiting();
            let is_still = clients + servers + open == 0;
            let is_heard = self.talks.answered() > self.answered;
            if is_still && is_heard && self.hosts.calm().0 >= self.wants() && since > GRACE {
                break;
            }
            if since > CALM {
                return Err(format!(
                    "{clients} clients and {servers} servers wait {:.0} s after the storm, the gateways count \
                     {open} flows, and it is {is_heard} that datagrams are answered",
                    CALM.as_secs_f64()
                ));
            }
        }
        let (opened, through) = self.hosts.calm();
        if opened != through {
            return Err(format!("{through} of {opened} flows came through after the storm"));
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        self.report.events += 1;
        let nodes = self.nodes.iter().filter_map(Node::next).min();
        let (clients, is_calm) = (self.hosts.next(self.now), self.phase.is_calm());
        let acts = !is_calm || self.settings.unknown_peers_stay;
        let acts = acts.then_some(self.phase.next());
        let opens = !is_calm || self.hosts.calm().0 < self.wants();
        let opens = opens.then_some(self.hosts.opens_at());
        // Once somebody was heard after the storm, nothing is said any more, and what gateways keep for it goes.
        let says = !is_calm || self.talks.answered() == self.answered;
        let says = says.then_some(self.talks.next());
        let mut next = Instant::earliest(nodes, clients);
        for other in [acts, opens, says, self.network.next(), self.hostile.next()] {
            next = Instant::earliest(next, other);
        }
        let limit = self.phase.calms() + CALM + Span::from_secs(1);
        self.now = self.time.advance(next.unwrap_or(limit).min(limit))?;
        let now = self.now;
        if self.phase.ends(now) {
            self.calm();
        } else if acts.is_some() && self.phase.acts(now) {
            let pause = if is_calm {
                self.network.intrude(now);
                Span::from_millis(1 + self.random.below(500))
            } else {
                self.act()?;
                Span::from_secs_f64(self.random.exponential(4.0).min(60.0))
            };
            self.phase.act_at(now + pause);
        }
        if opens.is_some_and(|at| at <= now) {
            self.open();
        }
        if says.is_some_and(|at| at <= now) {
            self.say();
        }
        while self.network.next().is_some_and(|at| at <= now) {
            let Some(flight) = self.network.take(now) else { continue };
            self.log.digest(now, &flight.bytes);
            if flight.to == EVIL {
                self.hostile.receive(&flight.bytes);
            } else {
                self.nodes[flight.to].receive(now, &flight)?;
            }
        }
        self.go_on()?;
        self.check()
    }

    /// Programs and hosts do what they can do now, until nobody has anything for anybody.
    fn go_on(&mut self) -> Result<(), String> {
        let now = self.now;
        for number in [HUB, TERMINAL] {
            if self.nodes[number].returns.is_some_and(|at| at <= now) {
                self.start(number)?;
            }
            self.nodes[number].keep(now);
        }
        let mut out = Vec::new();
        loop {
            for number in [HUB, TERMINAL] {
                if let Some(program) = &mut self.nodes[number].program {
                    program.run(now, &mut out);
                }
                for datagram in out.drain(..) {
                    self.network.send(now, number, datagram);
                }
            }
            self.hosts.clients_go_on(now)?;
            self.talks.go_on(&self.sockets[TERMINAL], &self.sockets[HUB])?;
            self.hosts.servers_go_on(self.arrivals.each_ref())?;
            let programs = self.nodes.iter().filter_map(|node| node.program.as_ref());
            if !programs.into_iter().any(Program::is_woken) {
                break;
            }
        }
        self.report.successes += self.hosts.reap(self.phase.calm_since());
        let to = self.network.address(HUB);
        for datagram in self.hostile.act(now, to, &mut self.random) {
            self.report.hostile += 1;
            self.network.send(now, EVIL, datagram);
        }
        Ok(())
    }

    /// Flows that are opened after the storm: many, if unknown peers are at work, and a few.
    const fn wants(&self) -> u64 {
        if self.settings.unknown_peers_stay { 20 } else { 5 }
    }

    /// Somebody says something to the server, of whom the terminal may not know yet.
    fn say(&mut self) {
        let Some(first) = self.talks.say(self.now) else { return };
        let (Some(machine), Some(carries)) = (&self.machines[TERMINAL], &mut self.carries) else {
            return;
        };
        let to = SocketAddr::new(SERVER, SERVES);
        let here = Here { address: to, transparent: true };
        machine.carry_datagram(
            carries,
            "hub",
            first.client,
            here,
            to.into(),
            (&first.datagram, Ecn::NotCapable),
        );
    }

    /// A client opens a flow at the terminal.
    fn open(&mut self) {
        let now = self.now;
        let is_calm = self.phase.is_calm();
        let pause = if is_calm { 1.0 } else { self.random.exponential(2.0).min(30.0) };
        self.hosts.open_at(now + Span::from_secs_f64(pause));
        // A while for the gateways to find each other again.
        if is_calm && now.since(self.phase.calms()) < GRACE {
            return self.hosts.open_at(self.phase.calms() + GRACE);
        }
        let Some(machine) = self.machines[TERMINAL].clone() else { return };
        let Some(program) = &self.nodes[TERMINAL].program else { return };
        if self.hosts.waiting().0 >= if is_calm { CALM_FLOWS } else { FLOWS } {
            return;
        }
        self.report.attempts += 1;
        let [near, far] = Pipe::pair();
        let port = match self.random.below(12) {
            _ if is_calm => SERVES,
            0 => REFUSES,
            1 => 82,
            _ => SERVES,
        };
        let port_of_client = 1024 + self.hosts.next_number() as u16;
        let from = SocketAddr::from(([10, 1, 0, 1 + self.random.below(3) as u8], port_of_client));
        let to = match self.random.below(10) {
            0..=2 => Destination::Name(NAME.to_owned(), port),
            3 if !is_calm => Destination::Name(ABSENT.to_owned(), port),
            _ => SocketAddr::new(SERVER, port).into(),
        };
        program.spawn(async move {
            // It has connected, and so it is where it says.
            let unknown = machine.unknown().take(from.ip(), Kind::Connection, 0);
            let _ = machine.serve("hub", far, from, to, unknown).await;
        });
        self.hosts.open(now, near, is_calm, &mut self.random);
    }

    /// The settings of a gateway.
    fn config(&self, number: usize) -> Result<Config, String> {
        let key = |number: usize| self.nodes[number].key.public();
        let configured = Configured {
            settings: &self.settings,
            early_accept: self.seed.is_multiple_of(3),
            // Where it is may have to be looked up.
            hub: match self.seed % 4 {
                0 => format!("{HUB_NAME}:25300"),
                _ => self.network.address(HUB).to_string(),
            },
            second_hub: self.network.second_address(HUB),
            keys: [key(HUB), key(TERMINAL), key(EVIL)],
        };
        let text = if number == HUB { configured.hub() } else { configured.terminal() };
        Config::parse("storm", &text).map_err(|error| format!("{error}\n{text}"))
    }

    fn start(&mut self, number: usize) -> Result<(), String> {
        let config = self.config(number)?;
        self.log.say(self.now, format_args!("{}: starts", name(number)));
        let program = self.nodes[number].start(self.now, self.seed ^ number as u64);
        let arrivals = self.arrivals[number].clone();
        let lan = Lan::new(program.runtime().clone(), arrivals, self.sockets[number].clone());
        if number == TERMINAL {
            self.carries = Some(lan.tasks());
        }
        let machine = Gateway::new(config, program.host().clone(), lan, UNKNOWN);
        let machine = Arc::new(machine.map_err(|error| error.to_string())?);
        for work in machine.work() {
            program.spawn(async move {
                let _ = work.await;
            });
        }
        self.machines[number] = Some(machine);
        Ok(())
    }

    /// The link carries another rate now, and the operator says so.
    fn reload(&mut self) -> Result<(), String> {
        if self.settings.rate.is_some() {
            self.settings.rate = Some(Settings::draw_rate(&mut self.random));
        }
        for number in [HUB, TERMINAL] {
            let config = self.config(number)?;
            if let Some(machine) = &self.machines[number] {
                operator::look(machine, PEERS[number])?;
                machine.reload(&config).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    fn kill(&mut self, number: usize, down: Span) -> Result<(), String> {
        self.report.kills += 1;
        self.log.say(self.now, format_args!("{}: killed for {down:?}", name(number)));
        if let Some(machine) = self.machines[number].take() {
            operator::look(&machine, PEERS[number])?;
        }
        if number == TERMINAL {
            self.carries = None;
        }
        self.nodes[number].returns = Some(self.now + down);
        self.scale.weigh(self.nodes[number].kill(), PEERS[number], self.settings.memory)
    }

    /// Something goes wrong, or right again.
    fn act(&mut self) -> Result<(), String> {
        let now = self.now;
        match self.random.below(15) {
            0..=2 => {
                let number = self.random.below(2) as usize;
                let down = [0, 0, 300, 2_000, 20_000, 90_000][self.random.below(6) as usize];
                let down = Span::from_millis(self.random.below(down + 1));
                self.kill(number, down)?;
                // It comes back elsewhere.
                if number == TERMINAL && self.random.chance(0.5) {
                    self.network.readdress(TERMINAL);
                }
            }
            3 => {
                // It is stopped by its operator.
                let number = self.random.below(2) as usize;
                if let Some(program) = &self.nodes[number].program {
                    program.host().close();
                    self.report.closes += 1;
                    self.log.say(now, format_args!("{}: stops", name(number)));
                    let mut out = Vec::new();
                    if let Some(program) = &mut self.nodes[number].program {
                        program.run(now, &mut out);
                    }
                    for datagram in out {
                        self.network.send(now, number, datagram);
                    }
                    self.kill(number, Span::from_millis(200))?;
                }
            }
            4..=7 => {
                let said = self.network.change(TERMINAL, &mut self.random);
                self.report.changes += 1;
                self.log.say(now, said);
            }
            8 => {
                let number = self.random.below(2) as usize;
                let calendar = super::jump(&mut self.random);
                self.report.calendars += 1;
                self.log.say(now, format_args!("{}: calendar {calendar}", name(number)));
                self.nodes[number].set_calendar(calendar);
            }
            9 => {
                if let Some(client) = self.hosts.quit_one(&mut self.random) {
                    self.log.say(now, format_args!("client {client} quits"));
                }
            }
            10 => {
                self.log.say(now, "the operator sets rates");
                self.reload()?;
            }
            11 => {
                let count = self.random.below(400);
                self.log.say(now, format_args!("{count} unknown peers repeat a request"));
                self.network.flood(now, count);
            }
            _ => {
                for _ in 0..=self.random.below(6) {
                    self.network.intrude(now);
                }
            }
        }
        Ok(())
    }

    fn calm(&mut self) {
        self.phase.end();
        self.answered = self.talks.answered();
        self.hosts.open_at(self.now);
        self.log.say(self.now, "the storm is over");
        self.network.clear_up();
        self.nodes.iter_mut().for_each(|node| node.return_by(self.now));
    }

    /// What must hold after every event.
    fn check(&mut self) -> Result<(), String> {
        for number in [HUB, TERMINAL] {
            let Some(program) = &self.nodes[number].program else { continue };
            let (tasks, who) = (program.tasks(), name(number));
            let connections = program.host().shared().endpoint().connections();
            if connections > self.settings.most_connections() * PEERS[number] {
                return Err(format!("{connections} connections at the {who}"));
            }
            if tasks > connections + self.hosts.waiting().0 + TASKS {
                return Err(format!("{tasks} futures for {connections} connections at the {who}"));
            }
            for node in &self.nodes {
                let held = program.host().shared().endpoint().held(node.key.public());
                if held > self.settings.memory {
                    return Err(format!("a peer holds {held} bytes at the {who}"));
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

/// Flows that a gateway counts, but for those of the hostile peer.
fn flows_of(machine: &Machine) -> usize {
    machine.status().flows.iter().filter(|flow| flow.peer != "evil").count()
}

const fn name(number: usize) -> &'static str {
    if number == HUB { "hub" } else { "terminal" }
}
