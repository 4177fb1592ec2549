//! Pairs that are open, and hands that write packets.

use bentpipe_testkit::{Direction, SctpPair, pattern};
use bentpipe_transport::PathId;
use bentpipe_transport::sctp::Config;
use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::sctp::{Chunk, Data, DataFlags, GapBlock, Init, Packet, Sack};
use bytes::Bytes;

pub(crate) fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

pub(crate) fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

pub(crate) fn secs(n: u64) -> Span {
    Span::from_secs(n)
}

/// Messages, no HEARTBEATs, one path of 100 ms each way.
pub(crate) fn quiet() -> Config {
    Config { heartbeat: Span::ZERO, ..Config::default() }
}

/// A pair that is open at 500 ms and silent.
pub(crate) fn open(config: Config, paths: usize) -> SctpPair {
    let mut pair = SctpPair::new(config.clone(), config, &vec![ms(100); paths]).staying_open();
    pair.run_to(at(500));
    pair.log.clear();
    pair
}

/// The client writes so many full chunks.
pub(crate) fn write_chunks(pair: &mut SctpPair, count: usize) {
    let mut bytes = pattern(count * 1452);
    pair.change(Direction::Forward, |association, now| {
        let taken = bentpipe_transport::Endpoint::write(association, now, &mut bytes);
        assert_eq!((taken, bytes.len()), (Ok(count * 1452), 0));
    });
}

/// When and on which path the client's DATA chunks left, with their numbers from the first on.
pub(crate) fn data_sent(pair: &SctpPair, first: Seq32) -> Vec<(Instant, u32, u32)> {
    let mut sent = Vec::new();
    for crossing in pair.log.iter().filter(|crossing| crossing.direction == Direction::Forward) {
        for data in crossing.data() {
            sent.push((crossing.at, crossing.path.0, data.tsn.distance_from(first)));
        }
    }
    sent
}

/// TSN of the first DATA in the log.
pub(crate) fn first_tsn(pair: &SctpPair) -> Seq32 {
    pair.log.iter().find_map(|c| c.data().next().map(|data| data.tsn)).expect("DATA")
}

/// A packet that the server might have sent.
pub(crate) fn from_server(tag: u32, chunk: Chunk) -> Packet {
    Packet {
        source_port: 5002,
        destination_port: 5001,
        tag,
        chunks: [chunk].into_iter().collect(),
        ..Packet::default()
    }
}

/// A packet that the client might have sent.
pub(crate) fn from_client(tag: u32, chunk: Chunk) -> Packet {
    let packet = from_server(tag, chunk);
    Packet { source_port: 5001, destination_port: 5002, ..packet }
}

/// DATA with a message of four bytes.
pub(crate) fn small(tsn: Seq32) -> Chunk {
    let payload = Bytes::from_static(b"data");
    let flags = DataFlags::WHOLE.with(DataFlags::UNORDERED);
    Chunk::Data(Data { tsn, flags, payload, ..Data::default() })
}

/// A SACK up to `cumulative` with these gaps.
pub(crate) fn sack(cumulative: Seq32, gaps: &[(u16, u16)]) -> Chunk {
    let gaps = gaps.iter().map(|&(start, end)| GapBlock { start, end }).collect();
    Chunk::Sack(Sack { cumulative, window: 65_536, gaps, ..Sack::default() })
}

/// A packet of the server arrives at the client at once.
pub(crate) fn give(pair: &mut SctpPair, packet: Packet) {
    pair.change(Direction::Forward, |association, now| {
        let mut segment = bentpipe_wire::Segment::Sctp(packet);
        bentpipe_transport::Endpoint::handle_segment(association, now, PathId(0), &mut segment);
    });
}

/// A packet of the client arrives at the server at once.
pub(crate) fn give_to_server(pair: &mut SctpPair, packet: Packet) {
    pair.change(Direction::Return, |association, now| {
        let mut segment = bentpipe_wire::Segment::Sctp(packet);
        bentpipe_transport::Endpoint::handle_segment(association, now, PathId(0), &mut segment);
    });
}

/// The tag that the client wants to see.
pub(crate) fn client_tag(pair: &SctpPair) -> u32 {
    init_of(pair).tag
}

/// The first INIT.
pub(crate) fn init_of(pair: &SctpPair) -> Init {
    let init = pair.log.iter().find_map(|crossing| match &crossing.packet.chunks[0] {
        Chunk::Init(init) => Some((**init).clone()),
        _ => None,
    });
    init.expect("an INIT")
}

/// One message on a stream.
pub(crate) fn send(pair: &mut SctpPair, direction: Direction, stream: u16, bytes: &'static [u8]) {
    pair.change(direction, |association, _| {
        association.send(stream, 0, false, Bytes::from_static(bytes)).expect("room");
    });
}
