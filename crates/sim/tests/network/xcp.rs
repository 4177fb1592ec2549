//! XCP's congestion header on the wire.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::sync::Arc;

use bentpipe_cc::Choice;
use bentpipe_link::ModelSpec;
use bentpipe_link::queue::DisciplineSpec;
use bentpipe_sim::{Capture, Observer, PacketSeen, Protocol, RunSpec, run};
use bentpipe_transport::tcp;
use bentpipe_units::Instant;
use bentpipe_wire::tcp::PROTOCOL as TCP;
use bentpipe_wire::xcp::{Header, PROTOCOL};

use crate::support::*;
use crate::tcp_capture::{Watcher, tshark};

/// Two flows that ask an XCP router before a noisy link; noise also hits what has not met it yet.
fn asking(wire: bool) -> RunSpec {
    asking_of("xcp", DisciplineSpec::Xcp { p_xcp: false }, wire)
}

/// Two flows with this controller, and this router.
fn asking_of(controller: &str, router: DisciplineSpec, wire: bool) -> RunSpec {
    let noise = || ModelSpec::BitErrors(2e-6);
    let near = link("near", [0, 1], vec![rate("10 Mbit/s", 100), noise(), millis(10)]);
    let space = link("space", [1, 2], vec![noise(), millis(90)]);
    let controller = Choice::new(controller, BTreeMap::new()).expect("a controller");
    let config = Arc::new(tcp::Config { controller, ..tcp::Config::default() });
    let flows = ["one", "two"].map(|name| {
        let mut flow = flow(name, 0, 2, 500);
        flow.protocol = Protocol::Tcp { sender: config.clone(), receiver: config.clone() };
        flow
    });
    let mut spec = spec(3, vec![near, space], flows.into());
    spec.macs.push(held(1, "4 Mbit/s", 50, router));
    RunSpec { wire, ..spec }
}

#[test]
fn requests_and_what_routers_leave_of_them_are_the_same_in_typed_and_in_wire_mode() {
    let (typed, wire) = (outcome(&asking(false)), outcome(&asking(true)));
    assert_all_arrived(&asking(false), &typed);
    assert!(channel(&typed, "near", 0).corrupted > 0 && channel(&typed, "space", 1).corrupted > 0);
    assert_eq!(typed, wire);
}

#[test]
fn what_routers_state_of_their_bandwidth_is_the_same_in_typed_and_in_wire_mode() {
    let spec = |wire| asking_of("ba-tcp", DisciplineSpec::BaTcp, wire);
    let (typed, wire) = (outcome(&spec(false)), outcome(&spec(true)));
    assert_all_arrived(&spec(false), &typed);
    assert_eq!(typed, wire);
}

/// Keeps the congestion headers that enter each direction of a link.
#[derive(Default)]
struct Headers(BTreeMap<usize, Vec<Header>>);

impl Observer for Headers {
    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, _at: Instant, channel: usize, packet: &PacketSeen<'_>) {
        if packet.envelope.protocol == PROTOCOL {
            let header = Header::decode(packet.bytes).expect("a congestion header");
            assert_eq!(header.protocol, TCP);
            self.0.entry(channel).or_default().push(header);
        }
    }
}

#[test]
fn captures_show_requests_on_data_and_what_was_left_of_them_on_acknowledgements() {
    for wire in [false, true] {
        let mut seen = Headers::default();
        run(&asking(wire), &mut seen).expect("a run");
        let asked = seen.0[&0].iter().filter(|header| header.request.is_some()).count();
        assert!(asked > 600, "{asked} of 700 segments of data");
        let back = &seen.0[&3];
        assert!(back.iter().all(|header| header.request.is_none()));
        assert!(back.iter().any(|header| header.reverse_feedback.bytes_per_sec() > 0));
    }
}

#[test]
fn tshark_finds_nothing_wrong_with_congestion_headers() {
    let spec = asking(false);
    let mut watcher = Watcher(Capture::new(Vec::new(), &spec, &[]).expect("a capture"));
    run(&spec, &mut watcher).expect("a run");
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("xcp.pcapng");
    fs::write(&path, watcher.0.finish().expect("a capture")).expect("the capture");
    let Some(packets) = tshark(&path, &["_ws.malformed", "ip.checksum.status", "ip.proto"]) else {
        let said = "SKIPPED: tshark is not on the PATH, no congestion headers were read with it";
        return writeln!(std::io::stderr(), "{said}").expect("standard error");
    };
    assert!(packets.iter().filter(|packet| packet[2] == PROTOCOL.to_string()).count() > 1_000);
    for packet in packets {
        assert_eq!(packet[..2], ["", "1"], "{packet:?}");
    }
}
