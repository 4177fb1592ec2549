//! The paths to a peer: over one link or another, by UDP or TCP.
//!
//! Whoever knows several of them monitors them ([`PathMonitor`]), sends by the first one that works, and tells the
//! peer, which does as it is told: one of the two decides for both directions. Without such a host there is
//! one path, which leads to where the peer's newest datagrams come from, once the peer has proved that it is there.

use bentpipe_transport::path_mtu::Unanswered;
use bentpipe_tunnel::PathPlan;
use bentpipe_units::{Instant, Span};

use super::links::{LINKS, LinkPlan, Links};
use super::path::{Path, PathProbe, PathProbeAnswer};
use super::path_monitor::{Multipath, PathMonitor, Plan, PlannedPath};
use super::roaming::Candidates;
use super::route::Route;

/// Most paths: each link by UDP and TCP.
pub(in crate::endpoint) const MAX_PATHS: usize = 2 * LINKS;

/// No probe comes so much later than one that was sent after it.
const LATE: Span = Span::from_secs(5);

/// What followed from the answer to a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathChange {
    /// Nothing.
    None,
    /// This host sends by another path from now on.
    Ours,
    /// The peer does.
    Theirs,
}

/// All paths to a peer, in the order of preference.
#[derive(Debug)]
pub(super) struct Paths {
    list: Vec<Path>,
    main: usize,
    up: u8,
    multipath: Multipath,
    /// This host monitors them.
    monitor: Option<PathMonitor>,
    /// The path that the peer sends by, as it says.
    theirs: u8,
    /// The peer monitors them, and this was its latest probe, which came then.
    last_probe: Option<(u32, Instant)>,
    /// The path that the peer told this host to use.
    peer_main: usize,
    /// Where the peer may be.
    candidates: Candidates,
    /// Where an application of this host said that the peer is.
    home: Option<Route>,
}

impl Paths {
    /// The only path, which this host or the peer has found.
    pub(super) fn single(route: Route) -> Self {
        let list = vec![Path::new(route, 0, LinkPlan::default())];
        Self::of_list(list, Multipath::Failover, None)
    }

    /// The paths of this plan, which this host monitors; the first one is taken for working.
    pub(super) fn planned(now: Instant, plan: &Plan) -> Self {
        let path = |path: &PlannedPath| Path::new(path.route, path.link, plan.links[path.link]);
        let list = plan.paths.iter().map(path).collect();
        let monitor = (plan.paths.len() > 1).then(|| PathMonitor::new(now, plan));
        Self::of_list(list, plan.multipath, monitor)
    }

    fn of_list(list: Vec<Path>, multipath: Multipath, monitor: Option<PathMonitor>) -> Self {
        Self {
            list,
            main: 0,
            up: 1,
            multipath,
            monitor,
            theirs: 0,
            last_probe: None,
            peer_main: 0,
            candidates: Candidates::default(),
            home: None,
        }
    }

    /// An application of this host says that the peer is there.
    pub(super) fn set_home(&mut self, route: Route) {
        self.home = Some(route);
    }

    /// The number of the path that leads there, where no other one does.
    fn away_from_home(&self) -> Option<usize> {
        let home = self.home.filter(|_| self.monitor.is_none())?;
        let leads = |path: &Path| path.ends_like(&home);
        (!self.list.iter().any(leads)).then_some(self.list.len())
    }

    /// The path to ask by, `before` being the one that brought no answer. What is known of a peer that has never
    /// proved where it is may be anybody's word: it is sought at home first.
    pub(super) fn to_ask_by(&self, before: Option<usize>, is_proven: bool) -> usize {
        let home = self.away_from_home();
        let Some(before) = before else {
            return home.filter(|_| !is_proven).unwrap_or(self.main);
        };
        let all = self.list.len() + usize::from(home.is_some());
        // Where a peer has not proved to be, somebody else may be.
        let may =
            |path: &usize| self.is_open(*path) && self.list.get(*path).is_none_or(Path::is_proved);
        (1..=all).map(|step| (before + step) % all).find(may).unwrap_or(self.main)
    }

    /// Where a request by this path goes.
    pub(super) fn route_to_ask(&self, path: usize) -> Route {
        match self.home {
            Some(home) if self.away_from_home() == Some(path) => home,
            _ => self.get(path).route(),
        }
    }

    /// The path that is used.
    pub(super) const fn main(&self) -> usize {
        self.main
    }

    pub(super) fn get(&self, path: usize) -> &Path {
        // What used a path that is gone uses the first one.
        self.list.get(path).unwrap_or(&self.list[0])
    }

    pub(super) fn get_mut(&mut self, path: usize) -> &mut Path {
        let path = if path < self.list.len() { path } else { 0 };
        &mut self.list[path]
    }

    /// Does for the lengths of datagrams and for ECN what time demands. Returns on which paths a probe had no answer.
    pub(super) fn handle_mtu_timeouts(&mut self, now: Instant) -> Vec<(usize, Unanswered)> {
        let unanswered = |(number, path): (usize, &mut Path)| {
            path.handle_timeout(now).map(|unanswered| (number, unanswered))
        };
        self.list.iter_mut().enumerate().filter_map(unanswered).collect()
    }

    /// Whether one works, as far as is known.
    pub(super) fn is_up(&self, path: usize) -> bool {
        self.up & 1 << path != 0 && self.list.get(path).is_some_and(Path::is_proved)
    }

    /// Whether the link of a path may be used at all.
    fn is_open(&self, path: usize) -> bool {
        self.monitor.as_ref().is_none_or(|monitor| monitor.is_open(path))
    }

    /// Whether nothing of connections may go by a path any more, although some are bound to its link.
    pub(super) fn is_shut(&self, now: Instant, path: usize) -> bool {
        self.monitor.as_ref().is_some_and(|monitor| monitor.is_shut(now, path))
    }

    /// A link may be used from now on, or no more. True if another path is used now.
    pub(super) fn set_link_open(&mut self, now: Instant, link: usize, is_open: bool) -> bool {
        let Some(monitor) = &mut self.monitor else { return false };
        for (number, path) in self.list.iter().enumerate() {
            if path.link() == link {
                monitor.set_open(now, number, is_open);
            }
        }
        self.choose_and_tell(now)
    }

    /// The links to the peer.
    pub(super) fn links(&self) -> Links {
        let is_of = |path: &Path, link| path.link() == link;
        let all = (0..LINKS).filter(|link| self.list.iter().any(|path| is_of(path, *link)));
        let open = all.clone().filter(|link| self.by_link(*link).is_some()).collect();
        let is_barred = |link: &usize| {
            let mut paths = self.list.iter().enumerate().filter(|(_, path)| is_of(path, *link));
            let monitor = self.monitor.as_ref();
            monitor.is_some_and(|monitor| paths.all(|(number, _)| monitor.is_barred(number)))
        };
        Links { open, barred: all.filter(is_barred).collect() }
    }

    /// Counts a datagram of so many bytes, all headers included, that was sent or came by a path.
    pub(super) fn count(&mut self, path: usize, bytes: usize) {
        self.get_mut(path).count(bytes);
    }

    /// Bytes that each link has carried, both directions, all headers included.
    pub(super) fn carried(&self) -> [u64; LINKS] {
        let mut all = [0; LINKS];
        for path in &self.list {
            all[path.link()] += path.carried();
        }
        all
    }

    /// The round-trip time of a path, if this host monitors it.
    pub(super) fn round_trip(&self, path: usize) -> Option<Span> {
        self.monitor.as_ref()?.round_trip(path)
    }

    /// The path that something came by; the one in use where that is not known.
    pub(super) fn of(&self, from: &Route) -> usize {
        // Where two links lead to one address, that of this host tells them apart.
        let same = |path: &Path| path.ends_like(from) && path.route().local == from.local;
        let any = |path: &Path| path.ends_like(from) && path.route().local.is_none();
        let found = self.list.iter().position(same).or_else(|| self.list.iter().position(any));
        found.unwrap_or(self.main)
    }

    /// The paths that connections may take: the best one of each link that works if they are spread, and
    /// the one in use otherwise.
    pub(super) fn open(&self) -> Vec<usize> {
        match self.multipath {
            Multipath::LoadBalance => self.of_all_links(),
            Multipath::Failover | Multipath::Bond => vec![self.main],
        }
    }

    /// The path that something came by, where connections are bound to links.
    pub(super) fn bonded(&self, from: &Route) -> Option<usize> {
        (self.multipath == Multipath::Bond).then(|| self.of(from)).filter(|path| self.is_up(*path))
    }

    /// The paths that carry something: the best one of each link that works where several are used.
    pub(super) fn in_use(&self) -> Vec<usize> {
        match self.multipath {
            Multipath::Failover => vec![self.main],
            Multipath::LoadBalance | Multipath::Bond => self.of_all_links(),
        }
    }

    /// The paths that datagrams of applications take, the one in use first, and what is known of them.
    pub(super) fn tunnelled(&self) -> impl Iterator<Item = (usize, PathPlan)> + Clone {
        let others = (0..LINKS).filter(|_| self.multipath == Multipath::Bond);
        let others = others.filter_map(|link| self.by_link(link)).filter(|path| *path != self.main);
        std::iter::once(self.main).chain(others).map(|path| {
            let known = self.get(path);
            let round_trip = self.round_trip(path).or(known.told());
            (path, PathPlan { round_trip, rate: None, spills: known.plan().spills })
        })
    }

    /// The best path of each link that works, or the one in use.
    fn of_all_links(&self) -> Vec<usize> {
        let all: Vec<usize> = (0..LINKS).filter_map(|link| self.by_link(link)).collect();
        if all.is_empty() { vec![self.main] } else { all }
    }

    /// The best path over this link that works.
    pub(super) fn by_link(&self, link: usize) -> Option<usize> {
        (0..self.list.len()).find(|&path| self.is_up(path) && self.list[path].link() == link)
    }

    /// Whether a connection on this path has to take another one.
    pub(super) fn must_leave(&self, path: usize) -> bool {
        !self.open().contains(&path)
    }

    /// The peer has answered a request that went by this path: it works.
    pub(super) fn answered_by(&mut self, path: usize) {
        let route = self.route_to_ask(path);
        if self.away_from_home() == Some(path) {
            return self.list[self.main].lead(route);
        }
        self.main = path.min(self.list.len() - 1);
        if let Some(monitor) = &mut self.monitor {
            monitor.associated(self.main);
        }
        // Its link may have been closed in the meantime.
        self.choose();
        // A peer that watches its paths has said which one to use: an answer that TCP has held back for long says less.
        self.follow_peer();
    }

    /// The newest datagram of the peer came by this route. If the peer is elsewhere now, it has to prove it.
    pub(super) fn came_by(&mut self, now: Instant, from: Route, token: impl FnOnce() -> u64) {
        if self.monitor.is_some() {
            let by = self.of(&from);
            return self.monitor.iter_mut().for_each(|monitor| monitor.heard(now, by));
        }
        if self.last_probe.is_some() {
            return;
        }
        let path = &mut self.list[0];
        // Where this host's own address was the system's choice it stays so.
        let local = path.route().local.and(from.local);
        if path.ends_like(&from) {
            path.set_local(local);
        } else {
            self.candidates.add(now, 0, Route { local, ..from }, token);
        }
    }

    /// The peer has answered a challenge by this route. True when a path leads elsewhere now.
    pub(super) fn proved(&mut self, token: u64, from: Route) -> bool {
        let Some((path, route)) = self.candidates.proved(token, from) else { return false };
        let Some(path) = self.list.get_mut(path) else { return false };
        path.lead(route);
        self.follow_peer();
        true
    }

    /// The peer has proved by a handshake that it is at the end of this route. True when a path leads elsewhere now.
    pub(super) fn is_at(&mut self, route: Route) -> bool {
        if self.monitor.is_some() || self.list.iter().any(|path| path.ends_like(&route)) {
            return false;
        }
        let main = &mut self.list[self.main];
        main.lead(Route { local: main.route().local.and(route.local), ..route });
        true
    }

    /// The challenges that are due.
    pub(super) fn challenges(&mut self, now: Instant) -> Vec<(Route, u64)> {
        self.candidates.challenges(now)
    }

    /// The peer was restarted and is there: what it told of paths is forgotten.
    pub(super) fn forget(&mut self, route: Route) {
        if self.monitor.is_none() {
            *self = Self { home: self.home, ..Self::single(route) };
        }
    }

    /// A probe of the peer came by this route. True when something else is to be done than before.
    pub(super) fn handle_probe(
        &mut self,
        now: Instant,
        probe: PathProbe,
        from: Route,
        token: impl FnOnce() -> u64,
    ) -> bool {
        let path = usize::from(probe.path);
        // No probe comes so late: a peer that has forgotten the association counts anew.
        let newer = |(last, at): (u32, Instant)| {
            probe.serial.wrapping_sub(last).cast_signed() > 0 || at + LATE <= now
        };
        let is_news = self.last_probe.is_none_or(newer);
        if self.monitor.is_some() || path >= MAX_PATHS || !is_news {
            return false;
        }
        self.last_probe = Some((probe.serial, now));
        while self.list.len() <= path {
            let is_proved = self.list.iter().any(|path| path.is_proved() && path.ends_like(&from));
            self.list.push(Path::received(from, is_proved));
        }
        let known = &mut self.list[path];
        let link = usize::from(probe.link).min(LINKS - 1);
        let plan =
            LinkPlan { is_metered: probe.is_metered, spills: probe.spills, ..LinkPlan::default() };
        let mut changed = known.set_link(link, plan, probe.round_trip);
        if known.ends_like(&from) {
            changed |= known.set_local(from.local);
        }
        if !known.is_proved() || !known.ends_like(&from) {
            self.candidates.add(now, path, from, token);
        }
        self.peer_main = usize::from(probe.main);
        let known = u8::MAX >> (MAX_PATHS - self.list.len());
        changed |= (self.up, self.multipath) != (probe.up & known, probe.multipath);
        (self.up, self.multipath) = (probe.up & known, probe.multipath);
        self.follow_peer() || changed
    }

    /// Uses the path that the peer told, if it has proved to be there. True when it is another one than before.
    fn follow_peer(&mut self) -> bool {
        let can =
            self.last_probe.is_some() && self.list.get(self.peer_main).is_some_and(Path::is_proved);
        can && std::mem::replace(&mut self.main, self.peer_main) != self.peer_main
    }

    /// Content is sent: from now on for a while the paths are monitored closely.
    pub(super) fn used(&mut self, now: Instant) {
        let main = self.main;
        if let Some(monitor) = &mut self.monitor {
            monitor.used(now, main);
        }
    }

    /// The peer has answered a probe.
    pub(super) fn handle_answer(&mut self, now: Instant, answer: PathProbeAnswer) -> PathChange {
        let newer = match &mut self.monitor {
            Some(monitor) => monitor.answered(now, usize::from(answer.path), answer.serial),
            None => false,
        };
        let moved = newer && std::mem::replace(&mut self.theirs, answer.main) != answer.main;
        match (self.choose(), moved && usize::from(answer.main) == self.main) {
            (true, _) => PathChange::Ours,
            (false, true) => PathChange::Theirs,
            (false, false) => PathChange::None,
        }
    }

    /// The probes that are due, and whether another path is to be used.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> (Vec<PathProbe>, bool) {
        if self
            .monitor
            .as_ref()
            .and_then(|monitor| monitor.due(self.main))
            .is_none_or(|due| due > now)
        {
            return (Vec::new(), false);
        }
        if let Some(monitor) = &mut self.monitor {
            monitor.give_up(now);
        }
        let changed = self.choose_and_tell(now);
        let (main, up, multipath) = (self.main, self.up, self.multipath);
        let Some(monitor) = &mut self.monitor else { return (Vec::new(), changed) };
        let probes = monitor.probe(now, main).into_iter().map(|(path, serial)| PathProbe {
            path: path as u8,
            link: self.list[path].link() as u8,
            is_metered: self.list[path].plan().is_metered,
            spills: self.list[path].plan().spills,
            round_trip: monitor.round_trip(path).unwrap_or(Span::ZERO),
            serial,
            main: main as u8,
            up,
            multipath,
        });
        (probes.collect(), changed)
    }

    /// Takes over what was found out, of which the peer is told at once; true when anything is different.
    fn choose_and_tell(&mut self, now: Instant) -> bool {
        let changed = self.choose();
        if let Some(monitor) = &mut self.monitor
            && changed
        {
            monitor.probe_soon(now, self.main);
        }
        changed
    }

    /// Takes over what was found out; true when anything is different.
    fn choose(&mut self) -> bool {
        let Some(monitor) = &mut self.monitor else { return false };
        let up = monitor.usable();
        let all = 0..self.list.len();
        let works = all.clone().find(|path| up & 1 << path != 0);
        // If none works it may as well be the one before, unless its link is closed.
        let mut others = std::iter::once(self.main).chain(all);
        let main = works.or_else(|| others.find(|path| monitor.is_open(*path)));
        let main = main.unwrap_or(self.main);
        let changed = (main, up) != (self.main, self.up);
        (self.main, self.up) = (main, up);
        changed
    }

    /// When [`Paths::handle_timeout`] must be called.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let all = self.list.iter().map(Path::deadline);
        let monitor = self.monitor.as_ref().and_then(|monitor| monitor.due(self.main));
        let others = Instant::earliest(monitor, self.candidates.deadline());
        all.fold(others, Instant::earliest)
    }
}

#[cfg(test)]
mod tests;
