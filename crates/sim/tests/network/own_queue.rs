//! Ends that follow the queue of their own host.

use std::sync::Arc;

use bentpipe_cc::Choice;
use bentpipe_link::mac::MacSpec;
use bentpipe_link::queue::{DisciplineSpec, QueueSpec};
use bentpipe_link::{Direction, ModelSpec, QueueLimit};
use bentpipe_sim::{MacPlace, Protocol, RunSpec};
use bentpipe_transport::tcp;
use bentpipe_units::BitRate;

use crate::support::*;

const PACKETS: u32 = 60;

/// A megabyte from the host before a satellite link of 2 Mbit/s, whose queue is that host's own. The sender
/// would have more segments in queues than this one holds.
fn behind_a_queue(controller: &str) -> RunSpec {
    let greedy = [("alpha", 90.0), ("beta", 100.0), ("gamma", 90.0)];
    let greedy = greedy.map(|(name, value)| (name.to_owned(), value)).into();
    let controller = Choice::new(controller, greedy).expect("a controller");
    let config = Arc::new(tcp::Config { controller, ..tcp::Config::default() });
    let mut file = flow("file", 0, 1, 1000);
    file.protocol = Protocol::Tcp { sender: config.clone(), receiver: config };
    let line = vec![rate("2 Mbit/s", PACKETS), millis(250)];
    spec(2, vec![link("space", [0, 1], line)], vec![file])
}

/// The same with a queue that holds its packets.
fn held(mut spec: RunSpec) -> RunSpec {
    spec.links[0].forward_link.remove(0);
    let limit = QueueLimit::Packets(PACKETS);
    let queue = QueueSpec { limit, discipline: DisciplineSpec::DropTail };
    let rate = BitRate::from_bps(2_000_000);
    let station = MacSpec::Line { rate, queue };
    spec.macs.push(MacPlace { mac: station, lines: vec![(0, Direction::Forward)] });
    spec
}

#[test]
fn dvegas_does_not_overrun_the_queue_of_its_host_and_vegas_does() {
    let vegas = outcome(&behind_a_queue("vegas"));
    assert!(channel(&vegas, "space", 0).lost_queue_full > 0);
    for spec in [behind_a_queue("dvegas"), held(behind_a_queue("dvegas"))] {
        let run = outcome(&spec);
        assert_all_arrived(&spec, &run);
        assert_eq!(channel(&run, "space", 0).lost_queue_full, 0);
        assert_eq!(run.flows[0].source.retransmitted_segments, 0);
    }
}

#[test]
fn an_overflow_of_the_own_queue_halves_the_window_of_dvegas_and_noise_does_not() {
    let mut spec = behind_a_queue("dvegas");
    spec.links[0].forward_link[0] = rate("2 Mbit/s", 3);
    let full = outcome(&spec);
    assert!(channel(&full, "space", 0).lost_queue_full > 0);
    assert_all_arrived(&spec, &full);
    let lost = channel(&full, "space", 0).lost_queue_full;
    assert!(lost < 40, "{lost} of 700 segments did not fit");
    let mut spec = behind_a_queue("dvegas");
    spec.links[0].forward_link.push(ModelSpec::BitErrors(1e-6));
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
    assert_eq!(channel(&run, "space", 0).lost_queue_full, 0);
}
