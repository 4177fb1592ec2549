//! The pieces of a flow: on which connection each goes and when it has arrived.

use std::collections::VecDeque;

use bentpipe_link::Streams;
use bentpipe_record::{Distribution, PieceSummary};
use bentpipe_units::{ByteCount, Instant, Span};

use super::TrafficSpec;
use super::session::Session;

/// What generates the pieces of one flow and follows them. Connections are numbered from 0; who
/// calls it has them.
#[derive(Debug)]
pub(crate) struct Generator {
    sessions: Vec<Session>,
    persistent: bool,
    /// Pieces that wait for a connection, where each has one of its own.
    waiting: VecDeque<Piece>,
    connections: Vec<Carries>,
    times: Distribution,
    came_up: u64,
    offered: u64,
    failed: u64,
}

/// A piece on its way.
#[derive(Clone, Copy, Debug)]
struct Piece {
    session: usize,
    came_up: Instant,
    bytes: u64,
}

/// What a connection carries.
#[derive(Debug, Default)]
struct Carries {
    /// Pieces that have not arrived, with the place in the stream at which each ends.
    pieces: VecDeque<(Piece, u64)>,
    /// Bytes of all its pieces.
    bytes: u64,
    /// Taken by a piece, where each has a connection of its own.
    busy: bool,
}

impl Generator {
    /// The generator of a flow, with draws of its own.
    pub(crate) fn new(spec: &TrafficSpec, flow: &str, start: Instant, streams: &Streams) -> Self {
        let (count, gap) = match spec {
            TrafficSpec::Web(web) => (web.sessions, web.session_gap),
            _ => (1, Span::ZERO),
        };
        let session = |n: u32| {
            let stream = streams.stream(&format!("flow/{flow}/traffic/{n}"));
            Session::new(spec, start + gap * u64::from(n), stream)
        };
        Self {
            sessions: (0..count).map(session).collect(),
            persistent: spec.is_persistent(),
            waiting: VecDeque::new(),
            connections: (0..spec.connections()).map(|_| Carries::default()).collect(),
            times: Distribution::default(),
            came_up: 0,
            offered: 0,
            failed: 0,
        }
    }

    /// True when a connection carries several pieces.
    pub(crate) const fn is_persistent(&self) -> bool {
        self.persistent
    }

    /// When [`Generator::fire`] must be called.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.sessions.iter().filter_map(Session::next).min()
    }

    /// Time has come to this point: pieces come up.
    pub(crate) fn fire(&mut self, now: Instant) {
        for (number, session) in self.sessions.iter_mut().enumerate() {
            if session.next().is_some_and(|next| next <= now)
                && let Some(bytes) = session.fire(now)
            {
                let piece = Piece { session: number, came_up: now, bytes: bytes.get() };
                self.came_up += 1;
                self.offered += piece.bytes;
                self.waiting.push_back(piece);
            }
        }
    }

    /// The next piece that a connection can take: which one, and the bytes.
    pub(crate) fn assign(&mut self) -> Option<(usize, ByteCount)> {
        let session = self.waiting.front()?.session;
        let number = if self.persistent {
            session
        } else {
            self.connections.iter().position(|connection| !connection.busy)?
        };
        let piece = self.waiting.pop_front()?;
        let connection = &mut self.connections[number];
        if !self.persistent {
            *connection = Carries { busy: true, ..Carries::default() };
        }
        connection.bytes += piece.bytes;
        connection.pieces.push_back((piece, connection.bytes));
        Some((number, ByteCount::new(piece.bytes)))
    }

    /// So many bytes of a connection's stream have arrived.
    pub(crate) fn delivered(&mut self, now: Instant, number: usize, bytes: u64) {
        let connection = &mut self.connections[number];
        while let Some((piece, end)) = connection.pieces.front().copied()
            && end <= bytes
        {
            connection.pieces.pop_front();
            self.times.add(now.since(piece.came_up));
            self.sessions[piece.session].arrived(now);
        }
    }

    /// A connection is closed: what has not arrived never will, and where each piece has one of its
    /// own it is free for the next.
    pub(crate) fn closed(&mut self, now: Instant, number: usize) {
        let connection = &mut self.connections[number];
        connection.busy = false;
        for (piece, _) in connection.pieces.drain(..) {
            self.failed += 1;
            self.sessions[piece.session].arrived(now);
        }
    }

    /// True when nothing more will go over a connection that carries several pieces.
    pub(crate) fn is_done_with(&self, number: usize) -> bool {
        self.persistent && self.sessions.get(number).is_none_or(Session::is_over)
    }

    /// True when every piece has come up and arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.failed == 0 && self.sessions.iter().all(Session::is_over)
    }

    /// What became of the pieces.
    pub(crate) fn summary(&self) -> PieceSummary {
        PieceSummary {
            offered: self.came_up,
            offered_bytes: self.offered,
            arrived: self.times.count(),
            failed: self.failed,
            seconds: self.times.quantiles(),
        }
    }
}
