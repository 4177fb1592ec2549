//! A peer that says anything at all: nothing panics, nothing hangs, nothing grows.

use bentpipe_testkit::{Direction, SctpPair, pattern};
use bentpipe_transport::PathId;
use bentpipe_transport::sctp::{Config, Message, View};
use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::sctp::{
    Cause, Chunk, Data, DataFlags, GapBlock, Init, Packet, Parameter, Sack, UnknownChunk,
};
use bentpipe_wire::{Ecn, Kind};
use bytes::Bytes;
use proptest::prelude::*;

/// What a liar who has seen everything bases a number on.
#[derive(Clone, Copy, Debug)]
enum Number {
    /// Near the first TSN of the end that is lied to.
    Own(u32),
    /// Near the first TSN of the end that is lied for.
    Other(u32),
    Any(u32),
}

fn numbers() -> impl Strategy<Value = Number> {
    prop_oneof![
        3 => (0..60u32).prop_map(Number::Own),
        3 => (0..60u32).prop_map(Number::Other),
        1 => any::<u32>().prop_map(Number::Any),
    ]
}

/// A chunk whose numbers are not known yet.
#[derive(Clone, Debug)]
struct Lie {
    wait_ms: u64,
    forth: bool,
    right_tag: u8,
    path: u32,
    marked: bool,
    number: Number,
    chunk: Chunk,
}

fn causes() -> impl Strategy<Value = Vec<Cause>> {
    let cause = prop_oneof![
        any::<u16>().prop_map(Cause::InvalidStream),
        any::<u32>().prop_map(Cause::StaleCookie),
        Just(Cause::OutOfResource),
    ];
    prop::collection::vec(cause, 0..3)
}

fn inits() -> impl Strategy<Value = Box<Init>> {
    let parameter = prop_oneof![
        any::<u32>().prop_map(|n| Parameter::Ipv4(n.into())),
        Just(Parameter::Cookie(Bytes::from_static(b"not a cookie"))),
        Just(Parameter::EcnCapable),
        any::<u16>().prop_map(|kind| Parameter::Other {
            kind: kind | 0x4010,
            value: Bytes::from_static(b"?"),
        }),
    ];
    let parameters = prop::collection::vec(parameter, 0..4);
    (any::<(u32, u32)>(), 0..3u16, 0..3u16, parameters).prop_map(
        |((tag, window), outbound_streams, inbound_streams, parameters)| {
            let initial_tsn = Seq32::new(9);
            Box::new(Init {
                tag,
                window,
                outbound_streams,
                inbound_streams,
                initial_tsn,
                parameters,
            })
        },
    )
}

fn data() -> impl Strategy<Value = Chunk> {
    (0..4u16, prop_oneof![0..8u16, any::<u16>()], any::<u8>(), 0..1400usize).prop_map(
        |(stream, ssn, flags, length)| {
            let (tsn, flags, payload) =
                (Seq32::default(), DataFlags::from_bits(flags), pattern(length));
            Chunk::Data(Data { tsn, stream, ssn, ppid: 0, flags, payload })
        },
    )
}

fn sacks() -> impl Strategy<Value = Chunk> {
    let gap = prop_oneof![(0..40u16, 0..40u16), any::<(u16, u16)>()];
    (any::<u32>(), prop::collection::vec(gap, 0..300)).prop_map(|(window, gaps)| {
        let gaps = gaps.into_iter().map(|(start, end)| GapBlock { start, end }).collect();
        Chunk::Sack(Sack { window, gaps, ..Sack::default() })
    })
}

fn chunks() -> impl Strategy<Value = Chunk> {
    prop_oneof![
        20 => data(),
        20 => sacks(),
        2 => inits().prop_map(Chunk::Init),
        2 => inits().prop_map(Chunk::InitAck),
        2 => Just(Chunk::Heartbeat(Bytes::from_static(b"echo"))),
        2 => Just(Chunk::HeartbeatAck(Bytes::from_static(&[0; 20]))),
        1 => causes().prop_map(|causes| Chunk::Abort { reflected: false, causes }),
        2 => causes().prop_map(Chunk::Error),
        2 => Just(Chunk::Shutdown(Seq32::default())),
        1 => Just(Chunk::ShutdownAck),
        1 => any::<bool>().prop_map(|reflected| Chunk::ShutdownComplete { reflected }),
        2 => Just(Chunk::CookieEcho(Bytes::from_static(&[7; 90]))),
        1 => Just(Chunk::CookieAck),
        3 => Just(Chunk::Ecne(Seq32::default())),
        3 => Just(Chunk::Cwr(Seq32::default())),
        2 => any::<u8>().prop_map(|kind| {
            let value = Bytes::from_static(&[1; 999]);
            Chunk::Unknown(UnknownChunk { kind: kind | 0x10, flags: 0, value })
        }),
    ]
}

fn lies() -> impl Strategy<Value = Lie> {
    (0..150u64, any::<bool>(), 0..10u8, 0..3u32, any::<bool>(), numbers(), chunks()).prop_map(
        |(wait_ms, forth, right_tag, path, marked, number, chunk)| Lie {
            wait_ms,
            forth,
            right_tag,
            path,
            marked,
            number,
            chunk,
        },
    )
}

/// Tags and first TSNs of both ends, from their INIT and INIT ACK.
fn identities(pair: &SctpPair) -> Option<[(u32, Seq32); 2]> {
    let of = |direction, kind| {
        let mut sent = pair.sent(direction, kind);
        sent.find_map(|crossing| match &crossing.packet.chunks[0] {
            Chunk::Init(init) | Chunk::InitAck(init) => Some((init.tag, init.initial_tsn)),
            _ => None,
        })
    };
    Some([of(Direction::Forward, Kind::BGN)?, of(Direction::Return, Kind::BGNAK)?])
}

fn packet(pair: &SctpPair, lie: &Lie) -> Option<Packet> {
    let [client, server] = identities(pair)?;
    let (own, other) = if lie.forth { (server, client) } else { (client, server) };
    let tsn = match lie.number {
        Number::Own(n) => own.1.plus(n),
        Number::Other(n) => other.1.plus(n),
        Number::Any(n) => Seq32::new(n),
    };
    let mut chunk = lie.chunk.clone();
    match &mut chunk {
        Chunk::Data(data) => data.tsn = tsn,
        Chunk::Sack(sack) => sack.cumulative = tsn,
        Chunk::Shutdown(number) | Chunk::Ecne(number) | Chunk::Cwr(number) => *number = tsn,
        _ => {}
    }
    let (source_port, destination_port) = if lie.forth { (5001, 5002) } else { (5002, 5001) };
    let tag = match (lie.right_tag, &chunk) {
        (_, Chunk::Init(_)) => 0,
        (0, _) => 4,
        _ => own.0,
    };
    let ecn = if lie.marked { Ecn::Congestion } else { Ecn::NotCapable };
    let chunks = [chunk].into_iter().collect();
    Some(Packet { source_port, destination_port, tag, ecn, chunks, ..Packet::default() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn forged_packets_of_any_kind_neither_panic_nor_hang_nor_fill_the_memory(
        messages in any::<bool>(),
        lies in prop::collection::vec(lies(), 1..60),
    ) {
        let view = if messages { View::Messages } else { View::Bytes { stripes: 2 } };
        let config = Config { view, ecn: true, ..Config::default() };
        let delays = [Span::from_millis(100), Span::from_millis(250)];
        let mut pair = SctpPair::new(config.clone(), config, &delays)
            .sending(pattern(200_000))
            .answering(pattern(20_000));
        let mut at = 300;
        for lie in &lies {
            at += lie.wait_ms;
            pair.run_to(Instant::from_nanos(at * 1_000_000));
            let Some(packet) = packet(&pair, lie) else { continue };
            pair.inject(if lie.forth { Direction::Forward } else { Direction::Return }, PathId(lie.path), packet);
        }
        pair.run_to(Instant::from_nanos((at + 20_000) * 1_000_000));
        // Every answer has a cause: forged packets cannot make the ends talk without end.
        prop_assert!(pair.log.len() < 5_000, "{} packets", pair.log.len());
        // What was delivered cannot exceed what was sent by more than what was forged.
        let messages: usize = pair.server.messages.iter().map(Message::len).sum();
        prop_assert!(pair.server.inbox.len() + messages <= 200_000 + 60 * 1_400);
    }
}

/// A flood of the smallest chunks, none of which is ever in turn: what is kept has a bound that the
/// buffer sets.
#[test]
fn a_flood_of_tiny_chunks_out_of_order_takes_no_more_than_the_buffer() {
    let config = Config { view: View::Messages, ..Config::default() };
    let mut pair = SctpPair::new(config.clone(), config, &[Span::from_millis(1)]).staying_open();
    pair.run_to(Instant::from_nanos(100_000_000));
    let [client, server] = identities(&pair).expect("both");
    for n in 0..60_000_u32 {
        let data = Data {
            tsn: client.1.plus(2 * n % 65_000 + 1),
            stream: (n % 10) as u16,
            ssn: (n / 10 + 1) as u16,
            flags: DataFlags::WHOLE,
            payload: Bytes::from_static(b"x"),
            ..Data::default()
        };
        let mut segment = bentpipe_wire::Segment::Sctp(Packet {
            source_port: 5001,
            destination_port: 5002,
            tag: server.0,
            chunks: [Chunk::Data(data)].into_iter().collect(),
            ..Packet::default()
        });
        let association = pair.server.association.as_mut().expect("an association");
        bentpipe_transport::Endpoint::handle_segment(
            association,
            pair.now,
            PathId(0),
            &mut segment,
        );
    }
    let counters = bentpipe_transport::Inspect::counters(pair.server.association());
    let kept = 60_000 - counters.ignored_segments - counters.duplicate_segments;
    assert!(kept <= 65_536 / 64 + 1, "{kept} chunks are kept");
}
