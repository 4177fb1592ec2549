//! `bentpipe run --pcap`: captures that other programs can read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use predicates::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

/// What is captured: the run, and the links (all of them if there are none).
type Case = (&'static [&'static str], &'static [&'static str]);

const CASES: [Case; 5] = [
    (&["geo", "--set", "links.satellite.ber=1e-5", "--set", "flows.file.size=2 MB"], &[]),
    (&["geo", "--wire", "--set", "links.terrestrial.ber=1e-6"], &["satellite"]),
    (&["handoff", "--set", "encapsulation=ip"], &["space"]),
    (&["handoff", "--set", "flows.file.size=2 MB"], &["space", "access"]),
    (&["outage", "--wire", "--set", "encapsulation=ip"], &[]),
];

fn bentpipe(args: &[&str]) -> Command {
    let mut command = cargo_bin_cmd!("bentpipe");
    command.arg("run").args(args);
    command
}

/// Runs a case; gives the capture and the packets offered to each captured direction, by its name.
fn capture(dir: &TempDir, (run, only): Case) -> (PathBuf, BTreeMap<String, u64>) {
    let path = dir.path().join("capture.pcapng");
    let mut args = run.to_vec();
    args.extend(["--json", "--pcap", path.to_str().expect("a path")]);
    args.extend(only.iter().flat_map(|link| ["--pcap-link", link]));
    let output = bentpipe(&args).assert().success().stderr("").get_output().stdout.clone();
    let run: Value = serde_json::from_slice(&output).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a name").to_owned();
    let links = run["links"].as_array().expect("links").iter();
    let captured = links.filter(|link| only.is_empty() || only.contains(&&*text(&link["name"])));
    let offered = captured.map(|link| {
        let direction =
            format!("{}: {} to {}", text(&link["name"]), text(&link["from"]), text(&link["to"]));
        (direction, link["packets"].as_u64().expect("a count"))
    });
    let offered = offered.collect();
    (path, offered)
}

/// A packet of a capture: its interface, when it was seen, its bytes.
struct Seen {
    interface: String,
    at: Duration,
    bytes: Vec<u8>,
}

fn read(path: &Path) -> Vec<Seen> {
    let mut reader = PcapNgReader::new(File::open(path).expect("the capture")).expect("pcapng");
    let (mut interfaces, mut seen) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.expect("a whole block").into_owned() {
            Block::InterfaceDescription(interface) => {
                let name = interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                    _ => None,
                });
                interfaces.push(name.expect("a name"));
            }
            Block::EnhancedPacket(packet) => {
                assert_eq!(packet.original_len as usize, packet.data.len());
                let interface = interfaces[packet.interface_id as usize].clone();
                let bytes = packet.data.into_owned();
                seen.push(Seen { interface, at: packet.timestamp, bytes });
            }
            other => panic!("what is {other:?}?"),
        }
    }
    seen
}

fn count<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts
}

#[test]
fn a_capture_holds_every_packet_offered_to_the_captured_links_in_order() {
    let dir = TempDir::new().expect("a directory");
    for case in CASES {
        let (path, offered) = capture(&dir, case);
        let seen = read(&path);
        assert_eq!(count(seen.iter().map(|seen| &*seen.interface)), offered, "{case:?}");
        assert!(seen.windows(2).all(|pair| pair[0].at <= pair[1].at), "{case:?} goes back in time");
    }
}

#[test]
fn every_captured_packet_has_true_lengths_and_checksums() {
    let dir = TempDir::new().expect("a directory");
    let nodes = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 3)];
    for case in CASES {
        let (path, _) = capture(&dir, case);
        let raw_ip = case.0.contains(&"encapsulation=ip");
        for seen in read(&path) {
            let packet = SlicedPacket::from_ip(&seen.bytes).expect("an IP packet");
            let Some(NetSlice::Ipv4(ip)) = &packet.net else { panic!("no IPv4") };
            let header = ip.header().to_header();
            assert_eq!(usize::from(header.total_len), seen.bytes.len());
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            assert!(nodes.contains(&header.source.into()) && header.source != header.destination);
            let Some(TransportSlice::Udp(udp)) = &packet.transport else {
                assert!(raw_ip && header.protocol.0 == 253, "{case:?}: {:?}", packet.transport);
                continue;
            };
            assert!(!raw_ip, "{case:?} is in UDP");
            let checksum = udp.to_header().calc_checksum_ipv4(&header, udp.payload());
            assert_eq!(Ok(udp.checksum()), checksum);
            assert_eq!((udp.source_port(), udp.destination_port()), (25_300, 25_300));
        }
    }
}

#[test]
fn capturing_changes_nothing() {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("capture.pcapng");
    let json = |args: &[&str]| {
        let args = [&["handoff", "--json"], args].concat();
        bentpipe(&args).assert().success().get_output().stdout.clone()
    };
    assert!(json(&[]) == json(&["--pcap", path.to_str().expect("a path")]));
}

#[test]
fn real_bytes_and_typed_segments_give_the_same_capture() {
    let dir = TempDir::new().expect("a directory");
    let of = |wire: &[&str]| {
        let path = dir.path().join("capture.pcapng");
        let args =
            ["geo", "--set", "flows.file.size=2 MB", "--pcap", path.to_str().expect("a path")];
        bentpipe(&[&args[..], wire].concat()).assert().success();
        fs::read(path).expect("the capture")
    };
    assert!(of(&[]) == of(&["--wire"]));
}

#[test]
fn a_link_that_does_not_exist_can_not_be_captured_and_nothing_is_written() {
    let dir = TempDir::new().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    let (pcap, csv) = (path("a.pcapng"), path("a.csv"));
    for links in [&["--pcap-link", "sattelite"][..], &["--pcap-link=satellite", "--pcap-link=x"]] {
        bentpipe(&[&["geo", "--pcap", &pcap, "--samples", &csv], links].concat())
            .assert()
            .code(2)
            .stdout("")
            .stderr(predicate::str::contains(links[1].trim_start_matches("--pcap-link=")));
        assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 0);
    }
    bentpipe(&["geo", "--pcap", &pcap, "--pcap-link", "sattelite"])
        .assert()
        .stderr(predicate::str::contains("did you mean `satellite`?"));
    bentpipe(&["geo", "--pcap-link", "satellite"]).assert().code(2).stdout("");
}

/// The fields of every packet as tshark dissects it, with the checksums verified; none without it.
fn tshark(path: &Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    // This project's own dissector, whose fields are named xstp.
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/wireshark/xstp.lua");
    let mut tshark = Process::new("tshark");
    if fields.iter().any(|field| field.starts_with("xstp")) {
        tshark.arg("-X").arg(format!("lua_script:{script}"));
    }
    tshark.args(["-n", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    tshark.arg("-r").arg(path).args(["-T", "fields", "-E", "separator=;"]);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = tshark.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(|line| line.split(';').map(str::to_owned).collect()).collect())
}

#[test]
fn tshark_reads_every_capture_without_complaint() {
    let dir = TempDir::new().expect("a directory");
    for case in CASES {
        let (path, offered) = capture(&dir, case);
        let fields = [
            "_ws.malformed",
            "_ws.expert.severity",
            "ip.checksum.status",
            "udp.checksum.status",
            "frame.interface_name",
        ];
        let Some(packets) = tshark(&path, &fields) else { return skipped() };
        let raw_ip = case.0.contains(&"encapsulation=ip");
        let clean = ["", "", "1", if raw_ip { "" } else { "1" }];
        for (n, packet) in packets.iter().enumerate() {
            assert_eq!(packet[..4], clean, "{case:?}: packet {}", n + 1);
        }
        assert_eq!(count(packets.iter().map(|packet| &*packet[4])), offered, "{case:?}");
    }
}

/// Says so past the test harness, which hides what passing tests print.
fn skipped() {
    let said = "SKIPPED: tshark is not on the PATH, no capture was read with it";
    writeln!(std::io::stderr(), "{said}").expect("standard error");
}

#[test]
fn the_dissector_shows_what_the_run_counted() {
    let dir = TempDir::new().expect("a directory");
    for case in [CASES[0], CASES[2]] {
        let (path, _) = capture(&dir, case);
        let fields = ["_ws.malformed", "_ws.expert.severity", "xstp.type", "xstp.gaps", "xstp.seq"];
        let Some(packets) = tshark(&path, &fields) else { return skipped() };
        assert!(packets.len() > 100);
        let mut kinds = BTreeMap::new();
        for packet in &packets {
            assert_eq!(packet[..2], ["", ""], "{packet:?}");
            let kind = u16::from_str_radix(packet[2].trim_start_matches("0x"), 16);
            *kinds.entry(kind.expect("types of a segment")).or_insert(0) += 1;
            assert!(!packet[4].is_empty(), "{packet:?}");
        }
        for kind in [0x001, 0x003, 0x004, 0x010, 0x020, 0x040] {
            assert!(kinds.contains_key(&kind), "{kind:#05x} in {kinds:?}");
        }
        assert!(packets.iter().any(|packet| packet[3].parse().is_ok_and(|gaps: u32| gaps > 0)));
    }
}
