//! Two gateways in a storm, and flows between the hosts on both sides.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use bentpipe_association::host::lock;
use bentpipe_gateway::{Config, Gateway};
use bentpipe_link::{Stream, Streams};
use bentpipe_units::{Instant, Span};

use super::flows::{Client, Server};
use super::hostile::{Hostile, Says};
use super::lan::{Arrivals, Lan, REFUSES, SERVER, SERVES};
use super::network::{Network, Weather};
use super::node::Node;
use super::settings::{IDLE, Settings};
use super::{CALENDAR, Finding, Log, Report, Time, history, keys};
use crate::lan::{Pipe, Read};
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
/// Bytes of a hostile peer's flow that are read at a time.
const MOST_OTHER: usize = 4096;
/// Flows that are open at the same time at most.
const FLOWS: usize = 12;

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
    clients: Vec<Client>,
    servers: Vec<Server>,
    /// What a hostile peer has opened.
    others: Vec<Pipe>,
    /// Flows that have come to their server.
    came: BTreeSet<u64>,
    flows: u64,
    opens_at: Instant,
    calms: Instant,
    acts_at: Instant,
    is_calm: bool,
    /// Flows that were opened when everything worked, and how many of them came through.
    last: (u64, u64),
    log: Log,
    report: Report,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let streams = Streams::new(seed);
        let mut random = streams.stream("storm");
        let settings = Settings::draw(&mut streams.stream("settings"));
        let nodes: Vec<Node> = keys(&mut random, 3)
            .into_iter()
            .map(|key| Node::new(key, CALENDAR * 1_000_000_000))
            .collect();
        let hostile = Hostile::new(nodes[EVIL].key.clone(), nodes[HUB].key.public(), Says::Gateway);
        let lasts = Span::from_secs(20 + random.below(300));
        Self {
            now: Instant::ZERO,
            time: Time::default(),
            seed,
            network: Network::new(streams.stream("network"), nodes.len(), settings.overtakes),
            settings,
            nodes,
            machines: [None, None],
            hostile,
            arrivals: Default::default(),
            clients: Vec::new(),
            servers: Vec::new(),
            others: Vec::new(),
            came: BTreeSet::new(),
            flows: 0,
            opens_at: Instant::ZERO,
            calms: Instant::ZERO + lasts,
            acts_at: Instant::ZERO,
            is_calm: false,
            last: (0, 0),
            log: Log::default(),
            report: Report::default(),
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
            if !self.is_calm {
                continue;
            }
            let since = self.now.since(self.calms);
            let open = self.machines.iter().flatten().map(flows_of).sum::<usize>();
            let is_still = self.clients.is_empty() && self.servers.is_empty() && open == 0;
            if is_still && self.last.0 >= self.wants() && since > GRACE {
                break;
            }
            if since > CALM {
                let (clients, servers) = (self.clients.len(), self.servers.len());
                return Err(format!(
                    "{clients} clients and {servers} servers wait {:.0} s after the storm, and the gateways \
                     count {open} flows",
                    CALM.as_secs_f64()
                ));
            }
        }
        let (opened, through) = self.last;
        if opened != through {
            return Err(format!("{through} of {opened} flows came through after the storm"));
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        self.report.events += 1;
        let nodes = self.nodes.iter().filter_map(Node::next).min();
        let clients = self.clients.iter().filter_map(|client| client.next(self.now)).min();
        let acts = if self.is_calm {
            self.settings.strangers_stay.then_some(self.acts_at)
        } else {
            Some(self.acts_at.min(self.calms))
        };
        let opens = (!self.is_calm || self.last.0 < self.wants()).then_some(self.opens_at);
        let mut next = Instant::earliest(nodes, clients);
        for other in [acts, opens, self.network.next(), self.hostile.next()] {
            next = Instant::earliest(next, other);
        }
        let limit = self.calms + CALM + Span::from_secs(1);
        self.now = self.time.advance(next.unwrap_or(limit).min(limit))?;
        let now = self.now;
        if !self.is_calm && now >= self.calms {
            self.calm();
        } else if self.is_calm && self.settings.strangers_stay && now >= self.acts_at {
            self.network.intrude(now);
            self.acts_at = now + Span::from_millis(1 + self.random.below(500));
        } else if !self.is_calm && now >= self.acts_at {
            self.act();
            let pause = self.random.exponential(4.0).min(60.0);
            self.acts_at = now + Span::from_secs_f64(pause);
        }
        if opens.is_some_and(|at| at <= now) {
            self.open();
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
            for client in &mut self.clients {
                client.go_on(now)?;
            }
            let new: Vec<_> =
                self.arrivals.iter().flat_map(|all| std::mem::take(&mut *lock(all))).collect();
            for (at, pipe) in new {
                if at == SERVER {
                    self.servers.push(Server::new(pipe));
                } else {
                    self.others.push(pipe);
                }
            }
            for server in &mut self.servers {
                let knew = server.number().is_some();
                server.go_on()?;
                if let Some(number) = server.number().filter(|_| !knew)
                    && !self.came.insert(number)
                {
                    return Err(format!("flow {number} came to its server a second time"));
                }
            }
            let programs = self.nodes.iter().filter_map(|node| node.program.as_ref());
            if !programs.into_iter().any(Program::is_woken) {
                break;
            }
        }
        let mut through = 0;
        for client in &self.clients {
            if client.is_over() && client.is_complete() {
                self.report.successes += 1;
                through += u64::from(self.is_calm && client.began >= self.calms);
            }
        }
        self.last.1 += through;
        self.clients.retain(|client| !client.is_over());
        self.servers.retain(|server| !server.is_over());
        self.others.retain(|pipe| pipe.read(MOST_OTHER) != Read::Reset);
        let to = self.network.address(HUB);
        if let Some(datagram) = self.hostile.act(now, to, &mut self.random) {
            self.report.hostile += 1;
            self.network.send(now, EVIL, datagram);
        }
        Ok(())
    }

    /// Flows that are opened after the storm: many, if strangers are at work, and a few.
    const fn wants(&self) -> u64 {
        if self.settings.strangers_stay { 40 } else { 5 }
    }

    /// A client opens a flow at the terminal.
    fn open(&mut self) {
        let now = self.now;
        let pause = if self.is_calm { 1.0 } else { self.random.exponential(2.0).min(30.0) };
        self.opens_at = now + Span::from_secs_f64(pause);
        // A while for the gateways to find each other again.
        if self.is_calm && now.since(self.calms) < GRACE {
            self.opens_at = self.calms + GRACE;
            return;
        }
        let Some(machine) = self.machines[TERMINAL].clone() else { return };
        let Some(program) = &self.nodes[TERMINAL].program else { return };
        if self.clients.len() >= FLOWS {
            return;
        }
        self.flows += 1;
        self.report.attempts += 1;
        let [near, far] = Pipe::pair();
        let port = match self.random.below(12) {
            _ if self.is_calm => SERVES,
            0 => REFUSES,
            1 => 82,
            _ => SERVES,
        };
        let from = ([10, 1, 0, 1 + self.random.below(3) as u8], 1024 + self.flows as u16).into();
        let to = SocketAddr::new(SERVER, port).into();
        program.spawn(async move {
            let _ = machine.serve("hub", far, from, to, None).await;
        });
        let mut client = Client::new(self.flows, now, near, &mut self.random);
        if self.is_calm {
            client.be_patient();
            self.last.0 += 1;
        }
        self.clients.push(client);
    }

    fn start(&mut self, number: usize) -> Result<(), String> {
        let hub = self.nodes[HUB].key.public();
        let (terminal, evil) = (self.nodes[TERMINAL].key.public(), self.nodes[EVIL].key.public());
        let waits = if number == HUB { self.settings.hub_waits } else { IDLE };
        let buffer = self
            .settings
            .buffer
            .map_or_else(String::new, |buffer| format!("buffer = \"{} B\"\n", buffer.get()));
        let limits = format!(
            "[limits]\npatience = \"{} s\"\nconnections = {}\nconnect_timeout = \"10 s\"\n\
             memory = \"{} B\"\n{buffer}",
            waits.as_secs_f64(),
            self.settings.connections,
            self.settings.memory.get(),
        );
        let text = if number == HUB {
            format!(
                "role = \"hub\"\nkey = \"k\"\nlisten = \"0.0.0.0:25300\"\nallow = [\"0.0.0.0/0\"]\n{limits}\
                 [peers.sea]\nkey = \"{terminal}\"\n[peers.evil]\nkey = \"{evil}\"\n"
            )
        } else {
            let early = self.seed.is_multiple_of(3);
            format!(
                "role = \"terminal\"\nkey = \"k\"\nlisten = \"0.0.0.0:25300\"\nearly_accept = {early}\n{limits}\
                 [peers.hub]\nkey = \"{hub}\"\naddress = \"{}\"\n",
                self.network.address(HUB)
            )
        };
        let config = Config::parse("storm", &text).map_err(|error| error.to_string())?;
        self.log.say(self.now, format_args!("{}: starts", name(number)));
        let program = self.nodes[number].start(self.now, self.seed ^ number as u64);
        let lan = Lan::new(program.runtime().clone(), self.arrivals[number].clone());
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

    fn kill(&mut self, number: usize, down: Span) {
        self.report.kills += 1;
        self.log.say(self.now, format_args!("{}: killed for {down:?}", name(number)));
        self.machines[number] = None;
        self.nodes[number].kill();
        self.nodes[number].returns = Some(self.now + down);
    }

    /// Something goes wrong, or right again.
    fn act(&mut self) {
        let now = self.now;
        match self.random.below(13) {
            0..=2 => {
                let number = self.random.below(2) as usize;
                let down = [0, 0, 300, 2_000, 20_000, 90_000][self.random.below(6) as usize];
                let down = Span::from_millis(self.random.below(down + 1));
                self.kill(number, down);
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
                    self.kill(number, Span::from_millis(200));
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
                if !self.clients.is_empty() {
                    let at = self.random.below(self.clients.len() as u64) as usize;
                    self.log.say(now, format_args!("client {} quits", self.clients[at].number));
                    self.clients[at].quit();
                }
            }
            _ => {
                for _ in 0..=self.random.below(6) {
                    self.network.intrude(now);
                }
            }
        }
    }

    fn calm(&mut self) {
        self.is_calm = true;
        self.opens_at = self.now;
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
            if tasks > connections + self.clients.len() + TASKS {
                return Err(format!("{tasks} futures for {connections} connections at the {who}"));
            }
            for node in &self.nodes {
                let held = program.host().shared().endpoint().held(node.key.public());
                if held > self.settings.memory {
                    return Err(format!("a peer holds {held} bytes at the {who}"));
                }
            }
        }
        let [from, to] = self.network.stranger_bytes();
        if to > 3 * from {
            return Err(format!("{to} bytes to strangers who sent {from}"));
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
