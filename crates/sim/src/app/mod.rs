//! Applications at the ends of connections.

mod bulk;
pub mod pattern;
mod sink;
pub(crate) mod socket;

use bulk::BulkSource;
use sink::Sink;
use socket::Socket;

use bentpipe_transport::{Endpoint, Event, Failure};
use bentpipe_units::{ByteCount, Instant};

use crate::SourceSpec;

/// An application: told what its endpoint has to say, it reads, writes and closes.
#[derive(Debug)]
pub(crate) enum App {
    /// Sends.
    Source(BulkSource),
    /// Receives.
    Sink(Sink),
    /// The same, and somebody follows its progress.
    Followed(Sink),
    /// Nothing: the end belongs to a proxy, whose relay is told instead.
    Relay,
    /// A gateway's program.
    Socket(Box<Socket>),
}

impl App {
    /// The source of a bulk transfer.
    pub(crate) fn source(spec: SourceSpec) -> Self {
        Self::Source(BulkSource::new(spec))
    }

    /// A source to which pieces are added one after another.
    pub(crate) fn source_of_pieces(spec: SourceSpec) -> Self {
        Self::Source(BulkSource::with_open_end(spec))
    }

    /// A source that sends when it has read a request of so many bytes.
    pub(crate) fn server(spec: SourceSpec, request: ByteCount) -> Self {
        Self::Source(BulkSource::with_request(spec, request))
    }

    /// A sink that asks with so many bytes.
    pub(crate) fn client(request: ByteCount) -> Self {
        Self::Followed(Sink::with_request(request))
    }

    /// The sink of a bulk transfer.
    pub(crate) fn sink() -> Self {
        Self::Sink(Sink::default())
    }

    /// The same when somebody follows its progress.
    pub(crate) fn followed_sink() -> Self {
        Self::Followed(Sink::default())
    }

    /// So much more is to be sent.
    pub(crate) fn add(&mut self, bytes: ByteCount) {
        if let Self::Source(source) = self {
            source.add(bytes);
        }
    }

    /// Nothing more is to be sent. False when that was known.
    pub(crate) fn end(&mut self) -> bool {
        match self {
            Self::Source(source) => source.end(),
            Self::Sink(_) | Self::Followed(_) | Self::Relay | Self::Socket(_) => false,
        }
    }

    /// The endpoint has news.
    #[inline]
    pub(crate) fn on_event(&mut self, now: Instant, endpoint: &mut impl Endpoint, event: Event) {
        match self {
            Self::Source(source) => source.on_event(now, endpoint, event),
            Self::Sink(sink) | Self::Followed(sink) => sink.on_event(now, endpoint, event),
            Self::Socket(socket) => socket.on_event(now, endpoint, event),
            Self::Relay => {}
        }
    }

    /// The time asked for by [`App::next_timer`] has come.
    pub(crate) fn on_timer(&mut self, now: Instant, endpoint: &mut impl Endpoint) {
        match self {
            Self::Source(source) => source.on_timer(now, endpoint),
            Self::Sink(_) | Self::Followed(_) | Self::Relay | Self::Socket(_) => {}
        }
    }

    /// True when it does nothing but read what arrives, and nobody follows it.
    pub(crate) const fn only_reads(&self) -> bool {
        matches!(self, Self::Sink(_))
    }

    /// When the application wants to act by itself.
    #[inline]
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        match self {
            Self::Source(source) => source.next_timer(),
            Self::Sink(_) | Self::Followed(_) | Self::Relay | Self::Socket(_) => None,
        }
    }

    /// How far it is.
    pub(crate) fn progress(&self) -> Progress {
        match self {
            Self::Source(source) => source.progress(),
            Self::Sink(sink) | Self::Followed(sink) => sink.progress(),
            Self::Relay | Self::Socket(_) => Progress::default(),
        }
    }
}

/// How far an application is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Bytes received and verified.
    pub(crate) verified: u64,
    /// When the first byte came.
    pub(crate) first_at: Option<Instant>,
    /// When the last byte came.
    pub(crate) last_at: Option<Instant>,
    /// A byte was not what was sent: its place in the stream.
    pub(crate) wrong_at: Option<u64>,
    /// The connection failed.
    pub(crate) failure: Option<Failure>,
}
