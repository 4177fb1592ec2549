//! A peer that says anything: nothing panics, hangs or grows.

use bentpipe_tunnel::{
    Config, Datagram, Message, Packet, Parity, PathPlan, Protection, Range, Report, Tunnel,
};
use bentpipe_units::{ByteCount, Instant, Seq32, Span};
use bentpipe_wire::Ecn;
use bentpipe_wire::xstp::ReceiveTimestamp;
use bytes::Bytes;
use proptest::prelude::*;

const ROOM: usize = 1_430;

/// What may happen.
#[derive(Clone, Debug)]
enum Event {
    Said(Message, bool),
    Offered(u16, usize),
    Passed(u64),
    /// These paths work, the first one being preferred, one of which spills.
    Paths(Vec<usize>, bool),
    Turn,
}

/// Numbers near zero, near those in use, and anywhere.
fn seq() -> impl Strategy<Value = Seq32> {
    prop_oneof![0u32..40, 0u32..20_000, any::<u32>()].prop_map(Seq32::new)
}

fn run() -> impl Strategy<Value = u16> {
    prop_oneof![6 => Just(0u16), 3 => 0u16..8, 1 => any::<u16>()]
}

/// A body that is nearly one: some bytes that may be headers.
fn body() -> impl Strategy<Value = Bytes> {
    let head = (0u8..4, prop_oneof![Just(0u16), 0u16..20, any::<u16>()]);
    (head, prop::collection::vec(prop_oneof![Just(0u8), 0u8..20, any::<u8>()], 0..200))
        .prop_map(|((back, head), rest)| [&[back][..], &head.to_be_bytes(), &rest].concat().into())
}

fn message() -> impl Strategy<Value = Message> {
    let packet = (run(), seq(), any::<u16>(), body())
        .prop_map(|(run, seq, hold, body)| Message::Packet(Packet { run, seq, hold, body }));
    let shard = prop::collection::vec(any::<u8>(), 2..100);
    let parity = (run(), seq(), 1u8.., 1u8.., any::<u8>(), shard).prop_map(
        |(run, seq, of, count, index, half)| {
            let shard = Bytes::from([&half[..], &half].concat());
            Message::Parity(Parity { run, seq, of, count, index: index % count, shard })
        },
    );
    let range = (any::<u16>(), any::<u16>()).prop_map(|(before, count)| Range { before, count });
    let report = (run(), seq(), any::<(u32, u32)>(), prop::collection::vec(range, 0..9)).prop_map(
        |(run, next, (held, received_at), missing)| {
            let received_at = ReceiveTimestamp::from_ticks(received_at);
            Message::Report(Report { run, next, held, received_at, missing })
        },
    );
    prop_oneof![4 => packet, 2 => parity, 2 => report]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (message(), any::<bool>()).prop_map(|(message, marked)| Event::Said(message, marked)),
        3 => (0u16..4, 0usize..4_000).prop_map(|(flow, len)| Event::Offered(flow, len)),
        2 => (0u64..2_000).prop_map(Event::Passed),
        1 => (prop::collection::vec(0usize..8, 1..4), any::<bool>())
            .prop_map(|(paths, spills)| Event::Paths(paths, spills)),
        2 => Just(Event::Turn),
    ]
}

#[test]
fn a_packet_that_goes_on_from_before_the_first_one_goes_on_from_nothing() {
    let mut tunnel = Tunnel::new(Config::default(), 1);
    for (seq, back) in [(1, 9), (0, 1)] {
        let (run, seq, hold) = (7, Seq32::new(seq), 0);
        // The beginning of a header, and what is said to be more of one.
        let body = Bytes::copy_from_slice(&[back, 0, 2 * seq.get() as u8, 0, 0]);
        let packet = Packet { run, seq, hold, body };
        tunnel.handle_message(Instant::ZERO, Ecn::NotCapable, Message::Packet(packet));
    }
    assert_eq!(tunnel.poll_datagram(), None);
}

proptest! {
    #[test]
    fn whatever_is_said_no_more_is_sent_than_was_offered_and_all_ends(
        events in prop::collection::vec(event(), 0..200),
        share in 0.0f64..0.4,
    ) {
        let mut tunnel = Tunnel::new(Config::default(), 1);
        tunnel.set_protection(Protection::Against { share, worst: share });
        let (mut now, mut offered, mut sent, mut reports) = (Instant::ZERO, 0, 0, 0);
        let mut heard = 0;
        let step = |tunnel: &mut Tunnel, now: Instant| {
            tunnel.handle_timeout(now);
            let reports = std::iter::from_fn(|| tunnel.poll_report(now)).count();
            let mut bytes = 0;
            for path in std::iter::once(tunnel.nearest()).chain(0..9) {
                while let Some(message) = tunnel.poll_transmit(now, path, ROOM) {
                    bytes += match message {
                        Message::Packet(packet) => packet.body.len(),
                        Message::Parity(parity) => parity.shard.len(),
                        Message::Report(_) => 0,
                    };
                }
            }
            while tunnel.poll_datagram().is_some() {}
            (bytes, reports)
        };
        for event in events {
            match event {
                Event::Said(message, marked) => {
                    heard += 1;
                    let ecn = if marked { Ecn::Congestion } else { Ecn::NotCapable };
                    tunnel.handle_message(now, ecn, message);
                }
                Event::Offered(flow, len) => {
                    offered += len + 40;
                    let bytes = Bytes::from(vec![flow as u8; len]);
                    let label = Bytes::from_static(b"whose");
                    tunnel.offer(now, Datagram { flow, ecn: Ecn::Capable0, label, bytes });
                }
                Event::Paths(paths, spills) => {
                    let plan = |path: &usize| {
                        let round_trip = Some(Span::from_millis(100 * *path as u64 + 1));
                        let spills = spills && *path == paths[0];
                        (*path, PathPlan { round_trip, spills, ..PathPlan::default() })
                    };
                    let plans: Vec<(usize, PathPlan)> = paths.iter().map(plan).collect();
                    tunnel.set_paths(now, &plans);
                }
                Event::Passed(millis) => now += Span::from_millis(millis),
                Event::Turn => {}
            }
            let (bytes, told) = step(&mut tunnel, now);
            (sent, reports) = (sent + bytes, reports + told);
        }
        // Everything is over after a while, however it began.
        for _ in 0..1_000 {
            let Some(due) = (0..9).filter_map(|path| tunnel.deadline(path, ROOM)).min() else {
                break;
            };
            now = now.max(due) + Span::from_nanos(1);
            let (bytes, told) = step(&mut tunnel, now);
            (sent, reports) = (sent + bytes, reports + told);
        }
        prop_assert_eq!((0..9).find_map(|path| tunnel.deadline(path, ROOM)), None);
        // Once, a sparse datagram twice, each once more, and parity that is as long as the longest packet of a block: for one
        // packet alone, where three of ten get lost, five times as much, and for what is a little longer than a packet six times.
        prop_assert!(sent <= 18 * offered + 2_000, "{sent} bytes for {offered}");
        // What parity brought back is told as lost once, and then as come.
        prop_assert!(reports <= 2 * heard, "{reports} reports of {heard} messages");
    }
}

#[test]
fn what_waits_to_be_sent_takes_its_part_of_the_memory_and_no_more() {
    for memory in [500_000, 1_000_000] {
        let config = Config { memory: Some(ByteCount::new(memory)), ..Config::default() };
        let mut tunnel = Tunnel::new(config, 1);
        for _ in 0..20_000 {
            let bytes = Bytes::from(vec![7; 1_000]);
            assert!(tunnel.offer(
                Instant::ZERO,
                Datagram { flow: 1, ecn: Ecn::NotCapable, label: Bytes::new(), bytes }
            ));
        }
        let late = Instant::ZERO + Span::from_millis(50);
        let mut sent = 0;
        while let Some(message) = tunnel.poll_transmit(late, 0, 1_400) {
            if let Message::Packet(packet) = message {
                sent += packet.body.len() as u64;
            }
        }
        assert!(sent > memory / 10 && sent <= memory / 5 * 11 / 10, "{sent} of {memory}");
    }
}
