//! The sending side: what waits, what is in flight, and on which path the next packet goes.
//!
//! What leaves is in [`super::sending`], what acknowledgements do in [`super::acks`], what timers do in
//! [`super::timers`].

use std::sync::Arc;

use bentpipe_cc::{PathView, Signal};
use bentpipe_record::SendLimit;
use bentpipe_units::{ByteCount, Instant, Seq32, Span};
use bytes::Bytes;

use super::auth::Random;
use super::draw::Draw;
use super::flight::{Flight, Status};
use super::path::{Path, unit};
use super::path_ends::{Standing, alive};
use super::send_queue::SendQueue;
use super::{Config, Notice};
use crate::PathId;

/// The sending side of an association.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) config: Arc<Config>,
    pub(super) queue: SendQueue,
    pub(super) flight: Flight,
    pub(super) paths: Vec<Path>,
    /// Index of the path that the user or the setup chose.
    pub(super) primary: usize,
    /// The window in the peer's last SACK.
    pub(super) peer_window: usize,
    /// Timeouts in a row on all paths that carry data.
    pub(super) errors: u32,
    /// No path that is not confirmed is tried before.
    pub(super) next_try: Instant,
    /// One packet of retransmissions may leave whatever the window says.
    pub(super) rush: bool,
    /// A chunk that left although the peer had no room.
    pub(super) probe: Option<Seq32>,
    /// A SACK came since the last timeout: a peer without room is not a peer that is gone.
    pub(super) heard: bool,
    /// No more writes will come: nothing waits for company any more.
    pub(super) flushing: bool,
    pub(super) ecn: bool,
    pub(super) reductions: u64,
    pub(super) timeouts: u64,
    /// Paths of which there is something to tell.
    pub(super) notices: Vec<Notice>,
    draw: Draw,
    /// A writer waits for so much room.
    writer_waits: Option<usize>,
    /// The stripe that the next written message goes to.
    turn: u16,
    pub(super) follows_sending: bool,
}

impl Sender {
    pub(super) fn new(
        config: Arc<Config>,
        first: Seq32,
        paths: &[PathId],
        now: Instant,
        draw: Draw,
    ) -> Self {
        let paths: Vec<_> = paths.iter().map(|id| Path::new(&config, *id, first, now)).collect();
        Self {
            queue: SendQueue::default(),
            flight: Flight::new(first),
            primary: 0,
            peer_window: 0,
            errors: 0,
            next_try: now,
            rush: false,
            probe: None,
            heard: false,
            flushing: false,
            ecn: false,
            reductions: 0,
            timeouts: 0,
            notices: Vec::new(),
            draw,
            writer_waits: None,
            turn: 0,
            follows_sending: paths.iter().any(|path| path.controller.follows_sending()),
            paths,
            config,
        }
    }

    /// Index of a path. One that leaves may have its number no more.
    pub(super) fn index_of(&self, id: PathId) -> Option<usize> {
        let find = |is: fn(Standing) -> bool| {
            self.paths.iter().position(|path| path.id == id && is(path.standing))
        };
        let is_there = |standing| !matches!(standing, Standing::Leaving | Standing::Gone);
        find(is_there).or_else(|| find(|standing| standing == Standing::Leaving))
    }

    /// Bytes of the send buffer that are taken.
    pub(super) fn kept(&self) -> usize {
        self.queue.len() + self.flight.bytes()
    }

    /// Free bytes of the send buffer.
    pub(super) fn space(&self) -> usize {
        (self.config.snd_buf.get() as usize).saturating_sub(self.kept())
    }

    /// Takes what fits from `data` as messages of the plain view.
    pub(super) fn write(&mut self, data: &mut Bytes) -> usize {
        let full = self.payload();
        let message = self.config.message.map_or(full, |length| length as usize);
        let before = data.len();
        while !data.is_empty() {
            let length = message.min(data.len());
            if length > self.space() {
                self.writer_waits = Some(length);
                break;
            }
            self.queue.push(self.turn, 0, false, data.split_to(length));
            self.turn = (self.turn + 1) % self.config.stripes();
        }
        before - data.len()
    }

    /// A message of this length did not fit: its writer waits.
    pub(super) const fn writer_waits(&mut self, length: usize) {
        self.writer_waits = Some(length);
    }

    /// What holds back the next data.
    pub(super) fn limit(&self) -> Option<SendLimit> {
        let cwnd = self.paths[self.data_path()].controller.limits().window;
        let cwnd = cwnd.map_or(u64::MAX, ByteCount::get);
        Some(if self.queue.len() == 0 {
            match self.writer_waits {
                Some(_) => SendLimit::SndBuf,
                None => SendLimit::Application,
            }
        } else if (self.peer_window as u64) < u64::from(self.config.mtu) {
            SendLimit::RcvBuf
        } else if cwnd >= self.config.snd_buf.get() {
            SendLimit::SndBuf
        } else {
            SendLimit::Cwnd
        })
    }

    /// A waiting writer can go on; true once for each wait.
    pub(super) fn take_writable(&mut self) -> bool {
        let wake = self.writer_waits.is_some_and(|length| length <= self.space());
        if wake {
            self.writer_waits = None;
        }
        wake
    }

    /// User bytes of a full chunk, the same on all paths.
    pub(super) fn payload(&self) -> usize {
        let mtu = alive(self).map(|(_, path)| path.mtu).min().unwrap_or(self.config.mtu);
        self.config.payload(mtu)
    }

    /// Nothing is unsent or unacknowledged.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.len() == 0 && self.flight.len() == 0
    }

    /// The path for new data: the primary, or another one that works.
    pub(super) fn data_path(&self) -> usize {
        if self.paths[self.primary].is_usable() {
            return self.primary;
        }
        self.other_than(self.primary).unwrap_or(self.primary)
    }

    /// The next path after this one that works: several take turns as one after the other fails.
    pub(super) fn other_than(&self, index: usize) -> Option<usize> {
        let count = self.paths.len();
        let mut others = (1..count).map(|step| (index + step) % count);
        others.find(|other| self.paths[*other].is_usable())
    }

    /// The path as its controller sees it.
    pub(super) fn view(&self, now: Instant, path: usize, limited: bool) -> PathView {
        self.paths[path].view(now, &self.config, self.peer_window, limited)
    }

    /// The longest packet of a path is known.
    pub(super) fn set_mtu(&mut self, now: Instant, index: usize, mtu: u16) {
        self.paths[index].mtu = mtu;
        let view = self.view(now, index, false);
        let mss = unit(&self.config, mtu);
        self.paths[index].controller.on_signal(&view, &Signal::MtuChanged { mss });
    }

    /// A router says that a path carries packets of `mtu` bytes. What is under way there was too long, as far as anybody knows:
    /// it leaves again, in packets that routers may cut, and is no sign of congestion (RFC 9260, section 7.3).
    pub(super) fn told_mtu(&mut self, now: Instant, index: usize, mtu: u16) {
        if let Some(search) = &mut self.paths[index].search {
            search.told(now, mtu);
        }
        self.set_mtu(now, index, mtu);
        let charge = self.config.charge();
        for place in 0..self.flight.len() {
            let Some(chunk) = self.flight.get(place) else { break };
            if chunk.path == index && chunk.status == Status::InFlight {
                self.paths[index].flight -= chunk.fragment.payload.len() + charge;
                self.flight.set(place, Status::Lost);
            }
        }
    }

    /// The peer tells of a mark on the packet with this lowest TSN. Gives the TSN that the answer, CWR,
    /// names; `None` when it was not sent.
    pub(super) fn handle_ecne(&mut self, now: Instant, tsn: Seq32) -> Option<Seq32> {
        if !self.ecn || !tsn.is_before(self.flight.next()) {
            return None;
        }
        let index = self.flight.of(tsn).map_or(self.data_path(), |chunk| chunk.path);
        let highest = self.flight.next().plus(u32::MAX);
        let path = &mut self.paths[index];
        if path.marks.told(now, tsn, highest, path.recovery.is_some()) {
            let view = self.view(now, index, true);
            self.paths[index].controller.on_signal(&view, &Signal::EcnCe);
            self.reductions += 1;
        }
        Some(tsn)
    }

    /// Something happened that may set packets free.
    pub(super) fn renew_bursts(&mut self) {
        for path in &mut self.paths {
            path.renew_burst(&self.config);
        }
    }

    /// The peer answered on a path.
    pub(super) fn confirm(&mut self, now: Instant, index: usize) {
        let wait = self.heartbeat_wait();
        let path = &mut self.paths[index];
        let (is_new, was_given_up) = path.reach.answered();
        if is_new {
            self.notices.push(Notice::PathConfirmed(path.id));
        }
        if was_given_up {
            self.notices.push(Notice::PathActive(path.id));
        }
        path.heartbeat.since = now;
        path.heartbeat.wait = wait;
    }

    /// Time to the next HEARTBEAT: the interval, more or less up to the half of it.
    pub(super) fn heartbeat_wait(&mut self) -> Span {
        let interval = self.config.heartbeat;
        if interval.is_zero() {
            return Span::MAX;
        }
        interval.mul_div(512 + self.draw.bits() % 1024, 1024)
    }

    /// A number that HEARTBEAT ACK must bring back.
    pub(super) fn nonce(&mut self) -> u64 {
        self.draw.bits()
    }

    pub(super) fn tag(&mut self) -> u32 {
        self.draw.tag()
    }

    pub(super) fn random(&mut self) -> Random {
        self.draw.random()
    }

    /// Forgets all data. What is sent from now on begins at `first`.
    pub(super) fn clear(&mut self, first: Seq32) {
        self.queue.clear();
        self.flight.clear(first);
        (self.rush, self.writer_waits, self.turn) = (false, None, 0);
        self.probe = None;
        self.paths.iter_mut().for_each(Path::clear);
    }
}
