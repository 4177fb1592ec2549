//! Captures of TCP, which other programs know well, read with one of them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use bentpipe_link::ModelSpec;
use bentpipe_sim::{
    Capture, Encapsulation, Envelope, FlowSpec, Observer, PacketSeen, Protocol, RunSpec, run,
};
use bentpipe_transport::tcp;
use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::tcp::{
    Flags, Options, PROTOCOL, SackBlock, Scps, ScpsCapabilities, Segment, SynOptions, Timestamps,
    encode,
};
use bentpipe_wire::{Ecn, PseudoHeader};
use bytes::{Bytes, BytesMut};

use crate::support::*;

/// The addresses of nodes 0 and 1.
const ADDRESSES: [[u8; 4]; 2] = [[10, 0, 0, 1], [10, 0, 0, 2]];

/// What tshark is asked for, and what it says of each of the [`segments`]. SNACK is not among them:
/// the dissector of tshark 4.0 reads past its end.
const FIELDS: [&str; 10] = [
    "ip.proto",
    "ip.dsfield.ecn",
    "tcp.flags",
    "tcp.hdr_len",
    "tcp.len",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval",
    "tcp.options.sack_le",
    "ip.len",
];
const EXPECTED: [[&str; 10]; 6] = [
    ["6", "0", "0x00c2", "44", "0", "1460", "7", "10000", "", "64"],
    ["6", "2", "0x0018", "32", "5", "", "", "10001", "", "57"],
    ["6", "3", "0x0018", "20", "6", "", "", "", "", "46"],
    ["6", "0", "0x0010", "60", "0", "", "", "10002", "100,300,500", "80"],
    ["6", "0", "0x0010", "60", "0", "", "", "10002", "100,300,500", "80"],
    ["6", "0", "0x0004", "20", "0", "", "", "", "", "40"],
];

fn segments() -> [Segment; 6] {
    let plain = Segment {
        source_port: 49_152,
        destination_port: 5_002,
        seq: Seq32::new(7_000),
        ack: Seq32::new(50),
        flags: Flags::ACK,
        window: 1_000,
        ..Segment::default()
    };
    let stamp = |value| Some(Timestamps { value, echo: 9 });
    let syn = SynOptions {
        mss: Some(1_460),
        window_shift: Some(7),
        sack_permitted: true,
        scps: Some(ScpsCapabilities { bits: ScpsCapabilities::SNACK1, connection_id: 0 }),
    };
    let block = |n| SackBlock { first: Seq32::new(n), end: Seq32::new(n + 100) };
    let sack = || Options::Sack([100, 300, 500].map(block).into_iter().collect());
    let psh_ack = Flags::PSH.with(Flags::ACK);
    [
        Segment {
            ack: Seq32::new(0),
            flags: Flags::SYN.with(Flags::ECE).with(Flags::CWR),
            options: Options::Syn(syn),
            timestamps: stamp(10_000),
            ..plain.clone()
        },
        Segment {
            flags: psh_ack,
            ecn: Ecn::Capable0,
            timestamps: stamp(10_001),
            payload: Bytes::from_static(b"hello"),
            ..plain.clone()
        },
        Segment {
            flags: psh_ack,
            ecn: Ecn::Congestion,
            payload: Bytes::from_static(b"world!"),
            ..plain.clone()
        },
        Segment { options: sack(), timestamps: stamp(10_002), ..plain.clone() },
        Segment {
            options: sack(),
            timestamps: stamp(10_002),
            // With both there is no room left for NOPs.
            scps: Scps::CORRUPTION_EXPERIENCED.with(Scps::RECORD_BOUNDARY),
            ..plain.clone()
        },
        Segment { ack: Seq32::new(0), flags: Flags::RST, ..plain },
    ]
}

/// A capture of the [`segments`] on their way from node 0 to node 1.
fn capture() -> Vec<u8> {
    let links = vec![link("space", [0, 1], vec![millis(90)])];
    let spec = spec(2, links, Vec::new());
    let mut capture = Capture::new(Vec::new(), &spec, &[]).expect("a capture");
    let [source, destination] = ADDRESSES.map(Into::into);
    for segment in segments() {
        let mut bytes = BytesMut::new();
        encode(&segment, &PseudoHeader { source, destination }, &mut bytes);
        let envelope = Envelope {
            low_priority: false,
            from: 0,
            to: 1,
            encapsulation: Encapsulation::Ip,
            protocol: PROTOCOL,
            ecn: segment.ecn,
        };
        capture.packet(Instant::ZERO, 0, &PacketSeen { envelope, bytes: &bytes });
    }
    capture.finish().expect("a capture")
}

/// Fields of every packet as tshark dissects it, with checksums verified; none without tshark.
pub(crate) fn tshark(path: &Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut tshark = Command::new("tshark");
    for preference in [
        "ip.check_checksum:TRUE",
        "tcp.check_checksum:TRUE",
        // The segments are no conversation.
        "tcp.analyze_sequence_numbers:FALSE",
    ] {
        tshark.args(["-o", preference]);
    }
    tshark.arg("-n").arg("-r").arg(path).args(["-T", "fields", "-E", "separator=;"]);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = tshark.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(|line| line.split(';').map(str::to_owned).collect()).collect())
}

#[test]
fn tshark_reads_tcp_segments_as_they_were_meant_and_finds_nothing_wrong() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("tcp.pcapng");
    fs::write(&path, capture()).expect("the capture");
    let health = ["_ws.malformed", "_ws.expert.group", "ip.checksum.status", "tcp.checksum.status"];
    let Some(packets) = tshark(&path, &[&FIELDS[..], &health].concat()) else {
        // Past the test harness, which hides what passing tests print.
        let said = "SKIPPED: tshark is not on the PATH, no TCP capture was read with it";
        return writeln!(std::io::stderr(), "{said}").expect("standard error");
    };
    assert_eq!(packets.len(), EXPECTED.len());
    for (packet, expected) in packets.iter().zip(EXPECTED) {
        let (fields, health) = packet.split_at(FIELDS.len());
        assert_eq!(fields, expected);
        // "Sequence" is a remark that a SYN or a RST is one, 1 is a good checksum.
        assert_eq!(health[0], "");
        const SEQUENCE: &str = "33554432";
        assert!(health[1].split(',').all(|group| ["", SEQUENCE].contains(&group)), "{packet:?}");
        assert_eq!(health[2..], ["1", "1"], "{packet:?}");
    }
}

/// Writes a run into a capture.
pub(crate) struct Watcher(pub(crate) Capture<Vec<u8>>);

impl Observer for Watcher {
    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, at: Instant, channel: usize, packet: &PacketSeen<'_>) {
        self.0.packet(at, channel, packet);
    }
}

/// A transfer with losses, marks and reports.
fn noisy(wire: bool) -> RunSpec {
    let noise = ModelSpec::BitErrors(3e-6);
    let links = vec![link("space", [0, 1], vec![rate("4 Mbit/s", 30), noise, millis(90)])];
    let config = Arc::new(tcp::Config { ecn: tcp::EcnMode::Classic, ..tcp::Config::default() });
    let protocol = Protocol::Tcp { sender: config.clone(), receiver: config };
    let flow = FlowSpec { protocol, ..flow("file", 0, 1, 2_000) };
    RunSpec { wire, ..spec(2, links, vec![flow]) }
}

#[test]
fn a_transfer_by_tcp_is_the_same_in_typed_and_in_wire_mode() {
    let (typed, wire) = (outcome(&noisy(false)), outcome(&noisy(true)));
    assert_all_arrived(&noisy(false), &typed);
    assert!(typed.flows[0].source.retransmitted_segments > 10, "{:?}", typed.flows[0].source);
    assert_eq!(typed, wire);
}

#[test]
fn tshark_finds_nothing_wrong_with_a_whole_transfer_by_tcp() {
    let spec = noisy(false);
    let only = ["space".to_owned()];
    let mut watcher = Watcher(Capture::new(Vec::new(), &spec, &only).expect("a capture"));
    run(&spec, &mut watcher).expect("a run");
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("transfer.pcapng");
    fs::write(&path, watcher.0.finish().expect("a capture")).expect("the capture");
    let fields =
        ["_ws.malformed", "ip.checksum.status", "tcp.checksum.status", "tcp.options.sack_le"];
    let Some(packets) = tshark(&path, &fields) else {
        let said = "SKIPPED: tshark is not on the PATH, no transfer by TCP was read with it";
        return writeln!(std::io::stderr(), "{said}").expect("standard error");
    };
    assert!(packets.len() > 1_500, "{}", packets.len());
    assert!(packets.iter().any(|packet| !packet[3].is_empty()), "no report");
    for packet in packets {
        assert_eq!(packet[..3], ["", "1", "1"], "{packet:?}");
    }
}
