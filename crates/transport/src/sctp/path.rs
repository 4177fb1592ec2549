//! One path to the peer: its window, its round-trip time, its timers.

use bentpipe_cc::{Controller, PathView, Signal};
use bentpipe_units::{ByteCount, Instant, Seq32, Span};

use super::Config;
use super::mtu::PathSearch;
use super::path_ends::{PathEnds, Standing};
use crate::PathId;
use crate::rtt::RttEstimator;

/// A destination (RFC 9260, section 14.3).
#[derive(Debug)]
pub(super) struct Path {
    pub(super) id: PathId,
    pub(super) ends: PathEnds,
    pub(super) standing: Standing,
    pub(super) mtu: u16,
    pub(super) search: Option<PathSearch>,
    pub(super) reach: Reachability,
    pub(super) rtt: RttEstimator,
    /// Doublings of the timeout since the last measurement.
    backoff: u32,
    rto_max: Span,
    pub(super) controller: Box<dyn Controller>,
    /// What is in flight, as the window counts it.
    pub(super) flight: usize,
    /// When the retransmission timer runs out.
    pub(super) t3: Option<Instant>,
    /// Losses found by reports are repaired until this TSN is acknowledged.
    pub(super) recovery: Option<Seq32>,
    /// The chunk whose round trip is measured.
    pub(super) timed: Option<(Seq32, Instant)>,
    pub(super) rounds: Rounds,
    pub(super) last_data: Option<Instant>,
    pub(super) heartbeat: Heartbeat,
    /// The flight may not exceed this before the next event (Max.Burst).
    burst_edge: usize,
    pub(super) marks: Marked,
    pacer: Pacer,
}

/// Whether the peer answers on a path (RFC 9260, section 8.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Reachability {
    confirmed: bool,
    active: bool,
    /// Timeouts in a row, and when the last one was.
    errors: u32,
    failed_at: Option<Instant>,
}

/// Marks of routers on a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marked {
    /// The highest TSN that had been sent when a mark last reduced the window.
    reduced_up_to: Option<Seq32>,
    /// When the peer last told of a mark.
    at: Option<Instant>,
}

/// What waits on a path whose controller gives a rate.
#[derive(Clone, Copy, Debug)]
struct Pacer {
    /// Nothing leaves before.
    next: Instant,
    /// Something had to wait for it.
    waits: bool,
}

/// Round trips and bytes as controllers count them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    number: u64,
    ends_with: Seq32,
    delivered: u64,
}

/// HEARTBEATs of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heartbeat {
    /// Time from the last sign of use to the next HEARTBEAT, besides the timeout.
    pub(super) wait: Span,
    /// The last sign of use.
    pub(super) since: Instant,
    /// What the answer must say, and when it has failed to come.
    pub(super) asked: Option<(u64, Instant)>,
    /// One is to be sent, as soon as its turn comes.
    pub(super) wanted: bool,
}

impl Path {
    pub(super) fn new(config: &Config, id: PathId, first: Seq32, now: Instant) -> Self {
        Self {
            id,
            ends: PathEnds::default(),
            standing: Standing::Known,
            mtu: config.mtu,
            search: config.mtu_most.map(|most| PathSearch::new(config.mtu, most)),
            reach: Reachability { confirmed: false, active: true, errors: 0, failed_at: None },
            rtt: RttEstimator::new(config.rto_init, config.rto_min),
            backoff: 0,
            rto_max: config.rto_max,
            controller: controller(config, config.mtu),
            flight: 0,
            t3: None,
            recovery: None,
            timed: None,
            rounds: Rounds { number: 0, ends_with: first, delivered: 0 },
            last_data: None,
            heartbeat: Heartbeat { wait: Span::ZERO, since: now, asked: None, wanted: false },
            burst_edge: usize::MAX,
            marks: Marked::default(),
            pacer: Pacer { next: now, waits: false },
        }
    }

    /// May carry new data.
    pub(super) const fn is_usable(&self) -> bool {
        self.reach.active && self.reach.confirmed && self.carries()
    }

    /// Data may leave here if there is no better path.
    pub(super) const fn carries(&self) -> bool {
        match self.standing {
            Standing::Known => true,
            Standing::Later => self.reach.confirmed,
            Standing::Untold | Standing::Leaving | Standing::Gone => false,
        }
    }

    /// Packets may leave here: the peer knows the address, and this end has it.
    pub(super) const fn may_talk(&self) -> bool {
        matches!(self.standing, Standing::Known | Standing::Later)
    }

    /// Nothing leaves here any more.
    pub(super) fn leave(&mut self) {
        self.clear();
        self.standing = Standing::Leaving;
        self.heartbeat.wait = Span::MAX;
    }

    /// The timeout with its backoff.
    pub(super) fn rto(&self) -> Span {
        let factor = 1_u64 << self.backoff.min(20);
        (self.rtt.rto() * factor).min(self.rto_max)
    }

    /// A timer ran out.
    pub(super) const fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// A round trip was measured.
    pub(super) fn measured(&mut self, rtt: Span) {
        self.rtt.sample(rtt);
        self.backoff = 0;
    }

    /// The congestion window in bytes.
    pub(super) fn window(&self) -> usize {
        self.controller.limits().window.map_or(usize::MAX, |window| window.get() as usize)
    }

    /// Whether a packet may go now.
    pub(super) fn may_send(&mut self, now: Instant) -> bool {
        if self.flight >= self.window().min(self.burst_edge) || !self.carries() {
            return false;
        }
        self.pacer.waits = self.controller.limits().pacing.is_some() && self.pacer.next > now;
        !self.pacer.waits
    }

    /// What waited for its turn under a rate may ask again.
    pub(super) fn pace_is_over(&mut self, now: Instant) {
        self.pacer.waits &= self.pacer.next > now;
    }

    /// Bytes left: under a rate the next must wait.
    pub(super) fn pace(&mut self, now: Instant, bytes: usize) {
        if let Some(rate) = self.controller.limits().pacing {
            self.pacer.next =
                self.pacer.next.max(now) + rate.time_for(ByteCount::new(bytes as u64));
        }
    }

    /// Something happened that may set packets free: from here on at most so many full ones.
    pub(super) fn renew_burst(&mut self, config: &Config) {
        let full = config.payload(self.mtu) + config.charge();
        self.burst_edge = match config.max_burst as usize {
            0 => usize::MAX,
            packets => self.flight + packets * full,
        };
    }

    /// Idle time makes the window smaller, once for each timeout's time.
    pub(super) fn wake(&mut self, view: &PathView) {
        let Some(last) = self.last_data else { return };
        let timeouts = view.now.since(last).as_nanos() / self.rto().as_nanos().max(1);
        for _ in 0..timeouts.min(16) {
            self.controller.on_signal(view, &Signal::Idle { halvings: None });
        }
    }

    /// So many bytes were acknowledged, up to this TSN.
    pub(super) fn delivered(&mut self, bytes: usize, highest: Seq32, next: Seq32) {
        self.rounds.delivered += bytes as u64;
        if !highest.is_before(self.rounds.ends_with) {
            self.rounds.number += 1;
            self.rounds.ends_with = next;
        }
    }

    /// The path as its controller sees it.
    pub(super) fn view(
        &self,
        now: Instant,
        config: &Config,
        peer_window: usize,
        limited: bool,
    ) -> PathView {
        PathView {
            now,
            mss: unit(config, self.mtu),
            in_flight: ByteCount::new(self.flight as u64),
            peer_window: ByteCount::new(peer_window as u64),
            srtt: self.rtt.srtt(),
            latest_rtt: self.rtt.latest(),
            min_rtt: self.rtt.min(),
            return_delay: None,
            round: self.rounds.number,
            delivered: ByteCount::new(self.rounds.delivered),
            cwnd_limited: limited,
        }
    }

    /// When something is to be done for the path.
    pub(super) fn deadline(&self, heart_beats: bool) -> Option<Instant> {
        let pace = self.pacer.waits.then_some(self.pacer.next);
        if matches!(self.standing, Standing::Leaving | Standing::Gone) {
            return None;
        }
        let controller = self.controller.next_timer();
        let timers = Instant::earliest(self.t3, Instant::earliest(pace, controller));
        if !heart_beats {
            return timers;
        }
        let search = self.search.as_ref().and_then(PathSearch::deadline);
        let timers = Instant::earliest(timers, search);
        let heartbeat = match self.heartbeat.asked {
            Some((_, deadline)) => Some(deadline),
            None => self.heartbeat_due(),
        };
        Instant::earliest(timers, heartbeat)
    }

    /// Everything in flight on it is given up: it timed out, or the association ends.
    pub(super) fn forget_flight(&mut self) {
        (self.flight, self.t3, self.timed, self.recovery) = (0, None, None, None);
    }

    /// The association ends or begins anew: nothing of before counts.
    pub(super) fn clear(&mut self) {
        self.forget_flight();
        self.pacer.waits = false;
        self.marks.reduced_up_to = None;
        self.heartbeat.asked = None;
        self.heartbeat.wanted = false;
    }

    /// A HEARTBEAT is to be sent that would confirm it.
    pub(super) const fn waits_to_be_tried(&self) -> bool {
        self.heartbeat.wanted && !self.reach.confirmed
    }

    /// When the next HEARTBEAT leaves, if none is out.
    pub(super) fn heartbeat_due(&self) -> Option<Instant> {
        let idle = self.may_talk() && self.heartbeat.asked.is_none() && !self.heartbeat.wanted;
        (idle && self.heartbeat.wait != Span::MAX)
            .then(|| self.heartbeat.since + self.rto() + self.heartbeat.wait)
    }
}

impl Reachability {
    /// The peer has answered on it once.
    pub(super) const fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    pub(super) const fn is_active(&self) -> bool {
        self.active
    }

    /// Timeouts in a row.
    pub(super) const fn errors(&self) -> u32 {
        self.errors
    }

    /// What was sent then says something of the path: it had not failed since.
    pub(super) fn counts(&self, sent_at: Instant) -> bool {
        self.failed_at.is_none_or(|failed| sent_at >= failed)
    }

    /// The peer has answered. Whether that is the first time, and whether the path was given up.
    pub(super) const fn answered(&mut self) -> (bool, bool) {
        let news = (!self.confirmed, !self.active);
        (self.errors, self.confirmed, self.active) = (0, true, true);
        news
    }

    /// The peer has not answered. True if the path is given up with this.
    pub(super) const fn failed(&mut self, now: Instant, most: u32) -> bool {
        self.errors += 1;
        self.failed_at = Some(now);
        let ends = self.active && self.errors > most;
        self.active &= !ends;
        ends
    }
}

impl Marked {
    /// The peer tells of a mark on this TSN. True if the window is to shrink, which it does once for each window
    /// sent and not beside a loss.
    pub(super) fn told(&mut self, now: Instant, tsn: Seq32, highest: Seq32, lost: bool) -> bool {
        self.at = Some(now);
        let reduces = self.reduced_up_to.is_none_or(|edge| tsn.is_after(edge)) && !lost;
        if reduces {
            self.reduced_up_to = Some(highest);
        }
        reduces
    }

    /// Whether the peer told of one in the last so much time.
    pub(super) fn within(&self, now: Instant, time: Span) -> bool {
        self.at.is_some_and(|at| now.since(at) <= time)
    }
}

/// What the window counts as one segment.
pub(super) fn unit(config: &Config, mtu: u16) -> ByteCount {
    ByteCount::new((config.payload(mtu) + config.charge()) as u64)
}

/// The controller of a new path.
fn controller(config: &Config, mtu: u16) -> Box<dyn Controller> {
    let one = unit(config, mtu);
    let init = match config.cwnd_init {
        Some(packets) => one * u64::from(packets),
        // RFC 9260, section 7.2.1.
        None => (one * 4).min((one * 2).max(ByteCount::new(4404))),
    };
    config.controller.build(one, init, one, config.snd_buf.max(one * 4))
}
