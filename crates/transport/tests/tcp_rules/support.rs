//! One end of a connection against a script.

pub(crate) use std::sync::Arc;

pub(crate) use bentpipe_transport::tcp::recovery::Mode;
pub(crate) use bentpipe_transport::tcp::{Config, Connection, EcnMode, InitialWindow, State};
pub(crate) use bentpipe_transport::{Endpoint, Event, Failure, PathId, Ports};
pub(crate) use bentpipe_units::{ByteCount, Instant, Seq32, Span};
pub(crate) use bentpipe_wire::tcp::{
    Flags, Options, SackBlock, Scps, Segment, SynOptions, Timestamps,
};
pub(crate) use bentpipe_wire::{Ecn, Segment as Any};
pub(crate) use bytes::Bytes;

/// Initial sequence numbers: ours just before the wrap, and the peer's.
pub(crate) const ISS: u32 = u32::MAX - 2_500;
pub(crate) const IRS: u32 = 7_000;

/// The end under test and the time. Numbers in the script count from the SYNs.
pub(crate) struct Script {
    pub(crate) end: Connection,
    pub(crate) now: Instant,
    pub(crate) told: Option<Event>,
    /// The application reads whatever it is told of.
    pub(crate) reads: bool,
}

pub(crate) fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

pub(crate) fn flags(text: &str) -> Flags {
    let of = |c| match c {
        'S' => Flags::SYN,
        'F' => Flags::FIN,
        'R' => Flags::RST,
        'P' => Flags::PSH,
        'E' => Flags::ECE,
        'W' => Flags::CWR,
        '.' => Flags::ACK,
        other => panic!("no flag {other}"),
    };
    text.chars().map(of).fold(Flags::NONE, Flags::with)
}

/// A segment of the peer.
pub(crate) fn peer(control: &str, seq: u32, ack: u32, len: usize) -> Segment {
    Segment {
        source_port: 80,
        destination_port: 5001,
        seq: Seq32::new(IRS).plus(seq),
        ack: Seq32::new(ISS).plus(ack),
        flags: flags(control),
        window: 60_000,
        payload: Bytes::from(vec![7; len]),
        ..Segment::default()
    }
}

pub(crate) fn sack(ack: u32, blocks: &[(u32, u32)]) -> Segment {
    let block = |&(first, end): &(u32, u32)| SackBlock {
        first: Seq32::new(ISS).plus(first),
        end: Seq32::new(ISS).plus(end),
    };
    Segment { options: Options::Sack(blocks.iter().map(block).collect()), ..peer(".", 1, ack, 0) }
}

/// Segments of 1000 bytes, no timestamps, two segments at first, acknowledgements at once.
pub(crate) fn plain() -> Config {
    Config {
        mss: 1000,
        timestamps: false,
        window_scaling: false,
        initial_window: InitialWindow::Segments(2),
        ack_every: 1,
        nagle: false,
        ..Config::default()
    }
}

impl Script {
    /// The end has sent its SYN.
    pub(crate) fn start(config: Config) -> Self {
        config.validate().expect("valid settings");
        let ports = Ports { local: 5001, peer: 80 };
        let entropy = 1 << 32 | u64::from(ISS);
        let end = Connection::connect(Arc::new(config), Instant::ZERO, PathId(0), ports, entropy);
        Self { end, now: Instant::ZERO, told: None, reads: true }
    }

    /// The end listens and has heard this SYN.
    pub(crate) fn listen(config: Config, syn: &Segment) -> Self {
        config.validate().expect("valid settings");
        let entropy = 1 << 32 | u64::from(ISS);
        let end = Connection::accept(Arc::new(config), Instant::ZERO, PathId(0), syn, entropy);
        let end = end.expect("a connection");
        Self { end, now: Instant::ZERO, told: None, reads: true }
    }

    /// The connection is open after a round trip of 100 ms; the peer can what a modern host can.
    pub(crate) fn open(config: Config) -> Self {
        let mut script = Self::start(config);
        let syn = script.sent();
        assert_eq!(syn.len(), 1);
        script.pass(100);
        script.hear(syn_ack(SynOptions { sack_permitted: true, ..mss(1000) }));
        script.expect(&[("", 1, 1, 0)]);
        assert_eq!(script.told(), Some(Event::Connected));
        script
    }

    /// Everything that the end sends now.
    pub(crate) fn sent(&mut self) -> Vec<Segment> {
        let mut place = Any::default();
        let mut sent = Vec::new();
        while self.end.poll_transmit(self.now, &mut place).is_some() {
            sent.push(place.tcp_mut().clone());
        }
        sent
    }

    /// The end sends exactly this now: flags besides ACK, number, acknowledgement, payload.
    #[track_caller]
    pub(crate) fn expect(&mut self, expected: &[(&str, u32, u32, usize)]) -> Vec<Segment> {
        let sent = self.sent();
        let seen: Vec<_> = sent
            .iter()
            .map(|s| {
                let control = s.flags.without(Flags::ACK.with(Flags::PSH));
                let seq = s.seq.distance_from(Seq32::new(ISS));
                (control, seq, s.ack.distance_from(Seq32::new(IRS)), s.payload.len())
            })
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(f, seq, ack, len)| (flags(f), *seq, *ack, *len)).collect();
        assert_eq!(seen, expected, "at {}", self.now);
        sent
    }

    /// Nothing is sent until so many milliseconds have passed; timers run when they are due.
    #[track_caller]
    pub(crate) fn pass(&mut self, millis: u64) {
        let until = self.now + ms(millis);
        self.expect(&[]);
        while let Some(due) = self.end.poll_timeout().filter(|due| *due < until) {
            self.now = self.now.max(due);
            self.end.handle_timeout(self.now);
            self.expect(&[]);
        }
        self.now = until;
        if self.end.poll_timeout().is_some_and(|due| due <= until) {
            self.end.handle_timeout(until);
        }
    }

    pub(crate) fn hear(&mut self, segment: Segment) {
        self.end.handle_segment(self.now, PathId(0), &mut Any::Tcp(segment));
        self.told();
    }

    /// The last thing that the application was told; it reads all there is, if it reads.
    pub(crate) fn told(&mut self) -> Option<Event> {
        while let Some(event) = self.end.poll_event() {
            self.told = Some(event);
            while self.reads && self.end.read(self.now).is_some() {}
        }
        self.told
    }

    /// The application reads one piece.
    pub(crate) fn read_once(&mut self) {
        assert!(self.end.read(self.now).is_some());
    }

    pub(crate) fn write(&mut self, len: usize) {
        let mut bytes = Bytes::from(vec![1; len]);
        assert_eq!(self.end.write(self.now, &mut bytes), Ok(len));
    }

    /// Four segments are out, of which the first two are acknowledged: 2001 to 6001 are under way.
    pub(crate) fn four_out(config: Config) -> Self {
        let mut script = Self::open(config);
        script.write(50_000);
        script.expect(&[("", 1, 1, 1000), ("", 1001, 1, 1000)]);
        script.pass(100);
        script.hear(peer(".", 1, 1001, 0));
        script.expect(&[("", 2001, 1, 1000), ("", 3001, 1, 1000)]);
        script.hear(peer(".", 1, 2001, 0));
        script.expect(&[("", 4001, 1, 1000), ("", 5001, 1, 1000)]);
        script
    }

    /// Ten segments are out, 1 to 10001, and a round trip has passed.
    pub(crate) fn ten_out(config: Config) -> Self {
        let mut script =
            Self::open(Config { initial_window: InitialWindow::Segments(10), ..config });
        script.write(50_000);
        assert_eq!(script.sent().len(), 10);
        script.pass(100);
        script
    }
}

pub(crate) fn mss(mss: u16) -> SynOptions {
    SynOptions { mss: Some(mss), ..SynOptions::default() }
}

pub(crate) fn syn_ack(options: SynOptions) -> Segment {
    Segment { options: Options::Syn(options), ..peer("S.", 0, 1, 0) }
}

/// The blocks that a segment reports.
pub(crate) fn blocks(segment: &Segment) -> Vec<(u32, u32)> {
    let Options::Sack(blocks) = &segment.options else { return Vec::new() };
    let place = |seq: Seq32| seq.distance_from(Seq32::new(IRS));
    blocks.iter().map(|block| (place(block.first), place(block.end))).collect()
}
