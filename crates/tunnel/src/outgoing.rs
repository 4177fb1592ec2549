//! The sender's part: what waits is shared out among the paths, and what is lost is retransmitted by the nearest one.

use bentpipe_units::{Instant, Span};

use crate::backlog::Backlog;
use crate::bounds::Bounds;
use crate::message::{Message, PATH_BITS, Packet, Report};
use crate::packing::{LINGER, Source};
use crate::path_sender::PathSender;
use crate::protection::Protection;
use crate::record::Datagram;
use crate::schedule::{Candidate, PATHS, PathPlan, Schedule, UNKNOWN};
use crate::tunnel::Counters;
use crate::window::Window;

/// For so long a call goes on after the window was told of it, which it is again after half of that.
const CALL_LASTS: Span = Span::from_secs(4);

/// What is sent.
#[derive(Debug)]
pub(crate) struct Outgoing {
    run: u16,
    backlog: Backlog,
    protection: Protection,
    /// Longest time for which a lost datagram is worth retransmitting; after the round trip where it is none.
    useful: Option<Span>,
    /// Since when something of what was not begun waits.
    waits_since: Option<Instant>,
    /// By path. Some may be closed, or have never been open.
    paths: Vec<PathSender>,
    plans: [PathPlan; PATHS],
    /// The path that is used where nothing else counts.
    preferred: usize,
    schedule: Schedule,
    /// Bytes that all paths may remember.
    under_way: usize,
    /// The window is told of a call from then on.
    call_told: Instant,
}

impl Outgoing {
    pub(crate) fn new(useful: Option<Span>, bounds: &Bounds, seed: u64) -> Self {
        let mut outgoing = Self {
            run: seed as u16 & !PATH_BITS,
            backlog: Backlog::new(bounds.waiting, seed),
            protection: Protection::default(),
            useful,
            waits_since: None,
            paths: Vec::new(),
            plans: [PathPlan::default(); PATHS],
            preferred: 0,
            schedule: Schedule::default(),
            under_way: bounds.under_way,
            call_told: Instant::ZERO,
        };
        outgoing.open(Instant::ZERO, 0);
        outgoing
    }

    pub(crate) fn set_protection(&mut self, protection: Protection) {
        self.protection = protection;
    }

    /// These paths work, as far as is known, the first one being used where nothing else counts.
    pub(crate) fn set_paths(&mut self, now: Instant, plans: &[(usize, PathPlan)]) {
        let Some((preferred, _)) = plans.first() else { return };
        self.preferred = *preferred;
        for (path, plan) in plans {
            self.plans[*path] = *plan;
            self.open(now, *path);
            self.paths[*path].expect(plan.round_trip);
        }
        let not_before = now.before(self.hold());
        for (path, sender) in self.paths.iter_mut().enumerate() {
            if sender.is_open() && plans.iter().all(|(open, _)| *open != path) {
                sender.close(now, not_before);
                self.backlog.labels().forget(sender.run());
            }
        }
        self.decide(now);
    }

    fn open(&mut self, now: Instant, path: usize) {
        if path >= self.paths.len() {
            let most = self.under_way / (path + 1);
            self.paths.iter_mut().for_each(|sender| sender.limit(now, most));
            let run = self.run;
            let more = (self.paths.len()..=path).map(|n| PathSender::new(run | n as u16, most));
            self.paths.extend(more);
        }
        self.paths[path].open(now);
    }

    /// Who takes what from now on.
    fn decide(&mut self, now: Instant) {
        self.schedule.set_waits(now, !self.backlog.is_empty());
        if self.is_alone() {
            self.schedule.choose_alone(self.preferred);
            return self.tell_windows(now);
        }
        let (hold, late) = (self.hold(), self.useful.is_none());
        self.paths.iter_mut().for_each(|sender| sender.look_for_stall(now, hold, late));
        let candidate = |(path, sender): (usize, &PathSender)| Candidate {
            path,
            round_trip: self.plans[path].round_trip.or(sender.srtt()),
            rate: self.plans[path].rate,
            spills: self.plans[path].spills,
            is_stalled: sender.is_stalled(),
        };
        let open = self.paths.iter().enumerate().filter(|(_, sender)| sender.is_open());
        let mut open: Vec<Candidate> = open.map(candidate).collect();
        open.sort_by_key(|candidate| candidate.path != self.preferred);
        self.schedule.decide(now, self.useful, &open);
        self.tell_windows(now);
    }

    /// Whether a single path is open.
    fn is_alone(&self) -> bool {
        self.paths.iter().filter(|sender| sender.is_open()).count() < 2
    }

    /// Those windows are wanted of whose path something waits.
    fn tell_windows(&mut self, now: Instant) {
        let waits = !self.backlog.is_empty();
        for (path, sender) in self.paths.iter_mut().enumerate() {
            let is_hungry = sender.packing().has_begun() || waits && self.schedule.carries(path);
            sender.window().set_hungry(now, is_hungry);
        }
    }

    /// The window of a path.
    pub(crate) fn window(&mut self, path: usize) -> Option<&mut Window> {
        self.paths.get_mut(path).map(PathSender::window)
    }

    /// Those of all paths.
    pub(crate) fn windows(&mut self) -> impl Iterator<Item = &mut Window> {
        self.paths.iter_mut().map(PathSender::window)
    }

    pub(crate) fn counters(&self) -> Counters {
        let (dropped, marked) = self.backlog.hits();
        let mut all = Counters { dropped, marked, ..Counters::default() };
        for counters in self.paths.iter().map(PathSender::counters) {
            all.packets += counters.packets;
            all.retransmitted += counters.retransmitted;
            all.parity += counters.parity;
        }
        all
    }

    /// The path by which those go that cannot wait.
    pub(crate) const fn nearest(&self) -> usize {
        self.schedule.nearest()
    }

    /// A datagram waits.
    pub(crate) fn push(&mut self, now: Instant, datagram: Datagram) {
        if self.backlog.push(now, datagram) && now >= self.call_told {
            self.call_told = now + CALL_LASTS / 2;
            let nearest = self.nearest();
            if let Some(window) = self.window(nearest) {
                window.set_low_latency(now, now + CALL_LASTS);
            }
        }
        if !self.backlog.is_empty() {
            self.waits_since.get_or_insert(now);
        }
        self.decide(now);
    }

    /// The paths that carry something.
    fn carrying(&self) -> impl Iterator<Item = &PathSender> {
        let carries = |(path, sender): &(usize, &PathSender)| {
            sender.is_open() && self.schedule.carries(*path)
        };
        self.paths.iter().enumerate().filter(carries).map(|(_, sender)| sender)
    }

    /// How long a lost datagram is worth waiting for: those of its flow may come by the slowest path.
    fn hold(&self) -> Span {
        self.carrying().map(|sender| sender.hold(self.useful)).max().unwrap_or(UNKNOWN)
    }

    /// What leaves next by a path, in a datagram with room for so many bytes.
    pub(crate) fn poll(&mut self, now: Instant, path: usize, room: usize) -> Option<Message> {
        self.decide(now);
        if path == self.nearest()
            && let Some(packet) = self.poll_retransmit(now, path, path)
        {
            return Some(Message::Packet(packet));
        }
        let (protection, more) = (self.protection, !self.backlog.is_empty());
        let sender = self.paths.get_mut(path).filter(|sender| sender.is_open())?;
        if let Some(parity) = sender.poll_parity(now, protection, more) {
            return Some(Message::Parity(parity));
        }
        if self.repairs_others(path)
            && self.window_due(path, room).is_some_and(|due| due <= now)
            && let Some(packet) =
                (0..self.paths.len()).find_map(|of| self.poll_retransmit(now, of, path))
        {
            return Some(Message::Packet(packet));
        }
        let sender = self.paths.get_mut(path)?;
        sender.set_room(room);
        let most = sender.body(room, protection);
        let takes = self.takes(now, path);
        if !self.may_pack(now, path, most, takes) {
            return None;
        }
        let is_nearest = path == self.nearest();
        if self.window_due(path, room).is_none_or(|due| due > now) {
            return None;
        }
        let hold = self.hold_told(now, path);
        let source = Source { backlog: &mut self.backlog, protection, repeats: is_nearest };
        let sender = self.paths.get_mut(path)?;
        let packet = sender.pack(now, most, hold, takes.then_some(source));
        self.waits_since = (!self.backlog.is_empty()).then_some(now);
        self.schedule.set_waits(now, !self.backlog.is_empty());
        self.schedule.sent(path, packet.as_ref().map_or(0, Packet::len));
        self.tell_windows(now);
        Some(Message::Packet(packet?))
    }

    /// What was lost of a path, by another one perhaps; what is not worth it any more is left out.
    fn poll_retransmit(&mut self, now: Instant, of: usize, by: usize) -> Option<Packet> {
        let (hold, late, told) = (self.hold(), self.useful.is_none(), self.hold_told(now, of));
        let packet = self.paths.get_mut(of)?.poll_retransmit(now, hold, late, told)?;
        self.window(by)?.sent(now, packet.len(), false);
        Some(packet)
    }

    /// Whether a path is to retransmit what others have lost. A wide path may have lost more than this one carries for long:
    /// calls go ahead of it, and it waits for the window.
    fn repairs_others(&self, path: usize) -> bool {
        path == self.nearest()
            && !self.has_sparse()
            && self.paths.iter().any(PathSender::has_retransmissions)
    }

    /// When the window of a path lets a packet out; what calls send may exceed that of the nearest one a little.
    fn window_due(&self, path: usize, room: usize) -> Option<Instant> {
        let is_sparse = path == self.nearest() && self.has_sparse();
        self.paths.get(path)?.window_due(room, is_sparse)
    }

    /// For how long the receiver of a packet waits for what was sent before it. It knows of each path by which something came how
    /// long that takes, but not of one that has begun to carry since.
    fn hold_told(&self, now: Instant, path: usize) -> Span {
        let own = self.paths.get(path).map_or(UNKNOWN, |sender| sender.hold(self.useful));
        if self.schedule.has_joined(now) { self.hold().max(own) } else { own }
    }

    /// Whether a path takes something of what was not begun: the nearest one always, others of bulk when no call waits, and
    /// where nothing arrives any more one packet now and then.
    fn takes(&self, now: Instant, path: usize) -> bool {
        let Some(sender) = self.paths.get(path).filter(|sender| sender.is_open()) else {
            return false;
        };
        if path == self.nearest() {
            return true;
        }
        let is_tried = sender.trial_due().is_some_and(|due| due <= now);
        let may = !self.backlog.has_sparse() || self.schedule.is_beside(path);
        may && !self.backlog.is_empty() && (self.schedule.carries(path) || is_tried)
    }

    /// Whether a packet leaves now: it is full, or has waited for long enough, or brings what waits for nobody.
    fn may_pack(&self, now: Instant, path: usize, most: usize, takes: bool) -> bool {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let sender = &self.paths[path];
        let waiting = sender.packing().begun() + if takes { self.backlog.bytes() } else { 0 };
        let is_nearest = path == self.nearest();
        waiting >= most
            || sender.packing().has_stash()
            || due(sender.packing().linger_due())
            || is_nearest && (self.has_sparse() || due(self.linger_due()))
            || is_nearest && due(self.backlog.repeat_due())
    }

    fn linger_due(&self) -> Option<Instant> {
        self.waits_since.filter(|_| !self.backlog.is_empty()).map(|since| since + LINGER)
    }

    /// Flows of which something waits.
    pub(crate) fn flows_waiting(&self) -> usize {
        self.backlog.flows_waiting()
    }

    /// Whether a call waits for the nearest path.
    pub(crate) fn has_sparse(&self) -> bool {
        let nearest = self.paths.get(self.nearest());
        self.backlog.has_sparse() || nearest.is_some_and(|sender| sender.packing().has_sparse())
    }

    /// The peer tells what arrived.
    pub(crate) fn handle_report(&mut self, now: Instant, report: &Report) {
        let hold = self.hold();
        let path = usize::from(report.run & PATH_BITS);
        let Some(sender) = self.paths.get_mut(path).filter(|sender| sender.run() == report.run)
        else {
            return;
        };
        let hold = hold.max(sender.hold(self.useful));
        sender.handle_report(now, report, hold, (&mut self.backlog, self.protection));
        self.decide(now);
        if let Some(round_trip) = self.carrying().filter_map(PathSender::srtt).max() {
            self.backlog.set_round_trip(round_trip);
        }
    }

    /// When something leaves by a path if nothing more comes. `room` is that of a packet.
    pub(crate) fn due(&self, path: usize, room: usize) -> Option<Instant> {
        let sender = self.paths.get(path).filter(|sender| sender.is_open())?;
        let is_nearest = path == self.nearest();
        if is_nearest && sender.has_retransmissions() || sender.has_parity() {
            return Some(Instant::ZERO);
        }
        let may = !self.backlog.has_sparse() || self.schedule.is_beside(path);
        let carries = is_nearest || may && self.schedule.carries(path);
        let most = sender.body(room, self.protection);
        let tried = sender.trial_due().filter(|_| may && self.backlog.bytes() >= most);
        let waiting = sender.packing().begun() + if carries { self.backlog.bytes() } else { 0 };
        let is_urgent = is_nearest && (self.has_sparse() || self.repairs_others(path));
        let pack = if waiting >= most || sender.packing().has_stash() || is_urgent {
            Some(Instant::ZERO)
        } else if is_nearest {
            let others = Instant::earliest(self.linger_due(), self.backlog.repeat_due());
            Instant::earliest(sender.packing().linger_due(), others)
        } else {
            Instant::earliest(sender.packing().linger_due(), tried)
        };
        // Where the window is closed a report opens it.
        let open = self.window_due(path, room);
        let pack = pack.and_then(|at| Some(at.max(open?)));
        Instant::earliest(pack, sender.block_due(self.protection, !self.backlog.is_empty()))
    }

    /// When what is under way has to be looked after.
    pub(crate) fn timers_due(&self) -> Option<Instant> {
        let stalls = |sender: &PathSender| sender.stall_due().filter(|_| !self.is_alone());
        let of = |sender: &PathSender| Instant::earliest(sender.tail_due(), stalls(sender));
        self.paths.iter().map(of).fold(None, Instant::earliest)
    }

    /// The time passes.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let (hold, late) = (self.hold(), self.useful.is_none());
        self.paths.iter_mut().for_each(|sender| sender.handle_timeout(now, hold, late));
        self.decide(now);
    }
}
