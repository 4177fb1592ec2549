//! Two gateways in a storm, and flows between the hosts on both sides.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use bentpipe_association::Fec;
use bentpipe_association::host::lock;
use bentpipe_gateway::{Config, Destination, Gateway, Here, Network as _};
use bentpipe_link::{Stream, Streams};
use bentpipe_units::{Instant, Span};

use super::flows::{Client, Server};
use super::hostile::{Hostile, Says};
use super::lan::{ABSENT, Arrivals, HUB_NAME, Lan, NAME, REFUSES, SERVER, SERVES};
use super::network::{Network, Weather};
use super::node::Node;
use super::settings::{IDLE, Second, Settings};
use super::talks::{Sockets, Talks};
use super::{CALENDAR, Finding, Log, Report, Time, history, keys};
use crate::lan::{Pipe, Read, Running};
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
            .map(|key| Node::new(key, settings.security, CALENDAR * 1_000_000_000))
            .collect();
        let hostile = Hostile::new(
            nodes[EVIL].key.clone(),
            nodes[HUB].key.public(),
            Says::Gateway,
            settings.security,
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
            let is_heard = self.talks.answered() > self.answered;
            if is_still && is_heard && self.last.0 >= self.wants() && since > GRACE {
                break;
            }
            if since > CALM {
                let (clients, servers) = (self.clients.len(), self.servers.len());
                return Err(format!(
                    "{clients} clients and {servers} servers wait {:.0} s after the storm, the gateways count \
                     {open} flows, and it is {is_heard} that datagrams are answered",
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
        // Once somebody was heard after the storm, nothing is said any more, and what gateways keep for it goes.
        let says = !self.is_calm || self.talks.answered() == self.answered;
        let says = says.then_some(self.talks.next());
        let mut next = Instant::earliest(nodes, clients);
        for other in [acts, opens, says, self.network.next(), self.hostile.next()] {
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
            self.act()?;
            let pause = self.random.exponential(4.0).min(60.0);
            self.acts_at = now + Span::from_secs_f64(pause);
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
            for client in &mut self.clients {
                client.go_on(now)?;
            }
            self.talks.go_on(&self.sockets[TERMINAL], &self.sockets[HUB])?;
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
        if self.settings.strangers_stay { 20 } else { 5 }
    }

    /// Somebody says something to the server, of whom the terminal may not know yet.
    fn say(&mut self) {
        let Some(first) = self.talks.say(self.now) else { return };
        let (Some(machine), Some(carries)) = (&self.machines[TERMINAL], &mut self.carries) else {
            return;
        };
        let to = SocketAddr::new(SERVER, SERVES);
        let here = Here { address: to, transparent: true };
        machine.carry_datagram(carries, "hub", first.client, here, to.into(), &first.datagram);
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
        if self.clients.len() >= if self.is_calm { CALM_FLOWS } else { FLOWS } {
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
        let to = match self.random.below(10) {
            0..=2 => Destination::Name(NAME.to_owned(), port),
            3 if !self.is_calm => Destination::Name(ABSENT.to_owned(), port),
            _ => SocketAddr::new(SERVER, port).into(),
        };
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

    /// The settings of a gateway.
    fn config(&self, number: usize) -> Result<Config, String> {
        let Settings { rate, second, direct, buffer, .. } = self.settings;
        let key = |number: usize| self.nodes[number].key.public();
        let rate = rate.map_or_else(String::new, |rate| format!("rate = \"{rate}\"\n"));
        let mode = if rate.is_empty() { "shared" } else { "dedicated" };
        let fec = match self.settings.fec {
            Fec::Auto => "\"auto\"".to_owned(),
            Fec::Off => "\"off\"".to_owned(),
            Fec::Ratio(ratio) => format!("{ratio:?}"),
        };
        let waits = if number == HUB { self.settings.hub_waits } else { IDLE };
        let buffer = buffer.map_or_else(String::new, |buffer| format!("buffer = \"{buffer}\"\n"));
        let backup = match second {
            None => String::new(),
            Some(_) => format!("[backup]\n{rate}"),
        };
        let spread = match second {
            Some(Second::Beside) if number == TERMINAL => "load_balance = true\n",
            _ => "",
        };
        let common = format!(
            "key = \"k\"\nlisten = \"0.0.0.0:25300\"\nudp = \"tunnel\"\n{}[link]\nmode = \"{mode}\"\n\
             {rate}fec = {fec}\n{backup}{spread}[limits]\nidle_timeout = \"{} s\"\nconnections = {}\n\
             connect_timeout = \"10 s\"\nmemory = \"{} B\"\n{buffer}",
            if number == HUB { "allow = [\"0.0.0.0/0\"]\n" } else { "" },
            waits.as_secs_f64(),
            self.settings.connections,
            self.settings.memory.get(),
        );
        let text = if number == HUB {
            let weight = if rate.is_empty() { "" } else { "weight = 3\n" };
            format!(
                "role = \"hub\"\n{common}[peers.sea]\nkey = \"{}\"\n{weight}[peers.evil]\nkey = \"{}\"\n{rate}",
                key(TERMINAL),
                key(EVIL)
            )
        } else {
            let early = self.seed.is_multiple_of(3);
            let fallback = if direct { "direct" } else { "wait" };
            // Where it is may have to be looked up.
            let hub = match self.seed % 4 {
                0 => format!("{HUB_NAME}:25300"),
                _ => self.network.address(HUB).to_string(),
            };
            let second = second.map_or_else(String::new, |_| {
                format!("backup = \"{}\"\n", self.network.second_address(HUB))
            });
            format!(
                "role = \"terminal\"\nearly_accept = {early}\nfallback = \"{fallback}\"\n{common}[peers.hub]\n\
                 key = \"{}\"\naddress = \"{hub}\"\n{second}",
                key(HUB)
            )
        };
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
                machine.reload(&config).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    fn kill(&mut self, number: usize, down: Span) {
        self.report.kills += 1;
        self.log.say(self.now, format_args!("{}: killed for {down:?}", name(number)));
        self.machines[number] = None;
        if number == TERMINAL {
            self.carries = None;
        }
        self.nodes[number].kill();
        self.nodes[number].returns = Some(self.now + down);
    }

    /// Something goes wrong, or right again.
    fn act(&mut self) -> Result<(), String> {
        let now = self.now;
        match self.random.below(15) {
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
            10 => {
                self.log.say(now, "the operator sets rates");
                self.reload()?;
            }
            11 => {
                let count = self.random.below(400);
                self.log.say(now, format_args!("{count} strangers repeat a request"));
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
        self.is_calm = true;
        self.answered = self.talks.answered();
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
