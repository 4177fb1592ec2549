//! The longest packet of each path, and the HEARTBEATs with padding that find it (RFC 8899, section 6.2).

use bentpipe_cc::Signal;
use bentpipe_units::Instant;
use bentpipe_wire::sctp::{Chunk, Packet};

use super::association::Association;
use super::path::unit;
use super::sender::Sender;
use crate::PathId;
use crate::path_mtu::{Search, Unanswered};

/// Length of the header of PAD.
const PAD_HEADER: usize = 4;

/// The search on one path and the probe that is out or to be sent.
#[derive(Debug)]
pub(super) struct PathSearch {
    search: Search,
    /// A probe of this length is to be sent.
    wanted: Option<u16>,
    /// What the answer to the latest probe brings back, and its length.
    out: Option<(u64, u16)>,
}

impl PathSearch {
    pub(super) const fn new(base: u16, most: u16) -> Self {
        Self { search: Search::new(base, most), wanted: None, out: None }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.search.deadline()
    }
}

impl Sender {
    /// The longest packet of a path is known.
    pub(super) fn set_mtu(&mut self, now: Instant, index: usize, mtu: u16) {
        self.paths[index].mtu = mtu;
        let view = self.view(now, index, false);
        let mss = unit(&self.config, mtu);
        self.paths[index].controller.on_signal(&view, &Signal::MtuChanged { mss });
    }

    /// A packet with chunks of this length left. As all paths have chunks of one length, a full one makes
    /// it worth to search all that work.
    pub(super) fn packet_left(&mut self, now: Instant, chunks: usize) {
        if self.config.mtu_most.is_none() || chunks < self.payload() {
            return;
        }
        for path in self.paths.iter_mut().filter(|path| path.is_usable()) {
            if let Some(of) = &mut path.search
                && let Some(length) = of.search.sent_full(now)
            {
                of.wanted = Some(length);
            }
        }
    }

    /// The timer of a path ran out: longer packets than every path carries may be what it drops.
    pub(super) fn doubt_mtu(&mut self, now: Instant, index: usize) {
        if let Some(of) = &mut self.paths[index].search {
            of.wanted = of.search.doubt(now).or(of.wanted);
        }
    }

    /// Lets the time pass for the search on a path.
    pub(super) fn search_on(&mut self, now: Instant, index: usize) {
        let Some(of) = &mut self.paths[index].search else { return };
        match of.search.handle_timeout(now) {
            Some(Unanswered::Again(length)) => of.wanted = Some(length),
            Some(Unanswered::Shorter) => {
                let mtu = of.search.get();
                self.set_mtu(now, index, mtu);
            }
            None => {}
        }
    }

    /// A HEARTBEAT ACK brought this number back. True when it answers the latest probe.
    pub(super) fn probe_answered(&mut self, now: Instant, index: usize, nonce: u64) -> bool {
        let Some(of) = &mut self.paths[index].search else { return false };
        let Some((_, length)) = of.out.take_if(|(expected, _)| *expected == nonce) else {
            return false;
        };
        if of.search.answered(now, length) {
            self.set_mtu(now, index, length);
        }
        true
    }
}

impl Association {
    /// The next probe that is to be sent, and its path.
    pub(super) fn next_mtu_probe(&mut self, now: Instant) -> Option<(PathId, Packet)> {
        let wanted = |path: &mut super::path::Path| path.search.as_mut()?.wanted.take();
        let mut paths = self.tx.paths.iter_mut().enumerate();
        let (index, length) = paths.find_map(|(index, path)| Some((index, wanted(path)?)))?;
        let nonce = self.tx.nonce();
        let path = &mut self.tx.paths[index];
        let id = path.id;
        if let Some(of) = &mut path.search {
            of.out = Some((nonce, length));
        }
        let question = Chunk::Heartbeat(self.heartbeat_info(now, index, nonce));
        let rest = self.config.room(length) / 4 * 4 - question.padded_len();
        let padding = Chunk::Pad(rest.saturating_sub(PAD_HEADER) as u16); // less than `length`
        let packet = Packet {
            source_port: self.ports.local,
            destination_port: self.ports.peer,
            tag: self.peer_tag,
            chunks: [question, padding].into_iter().collect(),
            ..Packet::default()
        };
        Some((id, packet))
    }
}
