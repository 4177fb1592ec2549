//! What holds for every queue that looks at the sojourn time, whatever comes and goes.

use std::collections::BTreeMap;

use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bentpipe_wire::Ecn;
use proptest::prelude::*;

use super::testing::{Watched, data};
use super::{
    CodelConfig, DisciplineSpec, DualPi2Config, FlowKey, FqCodelConfig, Held, LineState, PieConfig,
    QueueLimit, QueueSpec,
};
use crate::Streams;

/// One step: how long after the last one, and what comes, if anything does; else one is taken.
#[derive(Clone, Debug)]
struct Step {
    gap: Span,
    comes: Option<(u64, u64, Ecn, bool)>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![Just(0), 0u64..3_000, 0u64..200_000, Just(100_000_000_000)];
    let ecn = prop_oneof![
        Just(Ecn::NotCapable),
        Just(Ecn::Capable0),
        Just(Ecn::Capable1),
        Just(Ecn::Congestion)
    ];
    let packet = (0u64..5, 1u64..1500, ecn, prop::bool::weighted(0.05));
    let step = (gap, prop::option::weighted(0.6, packet));
    let step = step.prop_map(|(gap, comes)| Step { gap: Span::from_micros(gap), comes });
    prop::collection::vec(step, 1..400)
}

fn disciplines() -> impl Strategy<Value = DisciplineSpec> {
    // So eager that short runs meet all of the rules.
    let (target, interval) = (Span::from_micros(500), Span::from_millis(2));
    let codel = CodelConfig { target, interval, ecn: true };
    let fq = FqCodelConfig { flows: 3, codel, ..FqCodelConfig::default() };
    let pie = PieConfig { max_burst: Span::ZERO, alpha: 10.0, ..PieConfig::default() };
    let dual = DualPi2Config { alpha: 10.0, ..DualPi2Config::default() };
    let all = vec![
        DisciplineSpec::DropTail,
        DisciplineSpec::Codel(codel),
        DisciplineSpec::FqCodel(fq),
        DisciplineSpec::Pie(pie),
        DisciplineSpec::DualPi2(dual),
    ];
    prop::sample::select(all)
}

fn limits() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        Just(QueueLimit::Unlimited),
        (0u32..40).prop_map(QueueLimit::Packets),
        (0u64..20_000).prop_map(|n| QueueLimit::Bytes(ByteCount::new(n))),
    ]
}

proptest! {
    #[test]
    fn every_packet_leaves_or_is_lost_once_in_the_order_of_its_flow_and_the_limit_holds(
        what in disciplines(),
        limit in limits(),
        seed in 0u64..4,
        steps in steps(),
    ) {
        let spec = QueueSpec { limit, discipline: what };
        let rate = BitRate::from_bps(8_000_000);
        let mut queue = spec.build(rate, Streams::new(seed).stream("queue"));
        let mut seen = Watched::default();
        let mut now = Instant::ZERO;
        let (mut came, mut left) = (BTreeMap::new(), Vec::new());
        for step in steps {
            now += step.gap;
            let before = queue.backlog();
            let Some((flow, bytes, ecn, first)) = step.comes else {
                left.extend(queue.dequeue(now, &mut seen));
                continue;
            };
            let id = came.len() as u32;
            let (bytes, flow) = (ByteCount::new(bytes), FlowKey(flow));
            let packet = Held { ecn, bytes, flow, first, ..data(id) };
            came.insert(id, packet);
            queue.enqueue(now, LineState::Busy, packet, &mut seen);
            let after = queue.backlog();
            match limit {
                _ if first => prop_assert_eq!(after.packets, before.packets + 1),
                QueueLimit::Unlimited => {}
                QueueLimit::Packets(limit) => {
                    prop_assert!(after.packets <= before.packets.max(limit as usize));
                }
                QueueLimit::Bytes(limit) => prop_assert!(after.bytes <= before.bytes.max(limit)),
            }
            // The count of what waits is right.
            let gone = left.len() + seen.lost.len();
            prop_assert_eq!(came.len(), after.packets + gone);
        }
        left.extend(std::iter::from_fn(|| queue.dequeue(now, &mut seen)));
        prop_assert_eq!((queue.backlog().packets, queue.backlog().bytes.get()), (0, 0));
        let mut ids: Vec<u32> = left.iter().map(|packet| packet.id).collect();
        ids.extend(seen.lost.iter().map(|(id, _)| *id));
        ids.sort_unstable();
        prop_assert!(ids.iter().eq(came.keys()));
        prop_assert!(left.iter().all(|packet| came[&packet.id] == *packet));
        // Of one flow, one code point and one class no packet overtakes another.
        let mut last = BTreeMap::new();
        for packet in &left {
            let low_latency = matches!(packet.ecn, Ecn::Capable1 | Ecn::Congestion);
            let before = last.insert((packet.flow, low_latency, packet.first), packet.id);
            prop_assert!(before < Some(packet.id));
        }
        let mut marked = seen.marked.clone();
        marked.dedup();
        prop_assert_eq!(marked.len(), seen.marked.len());
    }
}
