//! SCTP in the simulator: streams, several paths, bytes that other programs read.

use std::io::Write;
use std::process::Command;
use std::sync::Arc;

use bentpipe_link::ModelSpec;
use bentpipe_link::queue::{DisciplineSpec, RedConfig};
use bentpipe_sim::{
    AddressChange, Capture, FlowSpec, Observer, PacketSeen, Protocol, RunSpec, Silent, run,
};
use bentpipe_transport::sctp::{Config, View};
use bentpipe_units::{Instant, Span};

use crate::support::*;

/// A transfer of `kilobytes` by SCTP.
fn sctp(config: Config, kilobytes: u64, more_paths: Vec<[usize; 2]>) -> FlowSpec {
    let config = Arc::new(config);
    let receiver = config.clone();
    let address_changes = Vec::new();
    let protocol = Protocol::Sctp { sender: config, receiver, more_paths, address_changes };
    FlowSpec { protocol, ..flow("file", 0, 1, kilobytes) }
}

/// Two hosts with two addresses each: 0 and 2, 1 and 3. The first path goes dark for half a minute.
fn two_paths() -> RunSpec {
    let noise = ModelSpec::BitErrors(1e-6);
    let leo = vec![rate("1.5 Mbit/s", 50), noise, millis(25), dark(2_000, 30_000)];
    let geo = vec![rate("2 Mbit/s", 50), millis(270)];
    let links = vec![link("leo", [0, 1], leo), link("geo", [2, 3], geo)];
    let config = Config { path_max_retrans: 1, ..Config::default() };
    spec(4, links, vec![sctp(config, 3_000, vec![[2, 3]])])
}

#[test]
fn a_file_arrives_over_the_second_path_while_the_first_is_dark() {
    // Which report is lost when the first path goes dark depends on the errors before.
    for seed in 1..=20 {
        let spec = RunSpec { seed, ..two_paths() };
        let run = outcome(&spec);
        assert_all_arrived(&spec, &run);
        assert_eq!((run.flows[0].protocol, run.flows[0].controller), ("sctp", "sctp"));
        let geo = channel(&run, "geo", 2);
        assert!(geo.delivered > 500, "seed {seed}: {} packets by the second path", geo.delivered);
        let seconds = run.flows[0].metrics.connection_time.expect("a time");
        assert!(seconds < 60.0, "seed {seed}: {seconds} s");
    }
}

#[test]
fn one_path_alone_waits_until_it_works_again() {
    let mut spec = two_paths();
    let patient = Config { path_max_retrans: 20, association_max_retrans: 20, ..Config::default() };
    spec.flows = vec![sctp(patient, 3_000, Vec::new())];
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
    assert_eq!(channel(&run, "geo", 2).packets, 0);
    assert!(run.flows[0].metrics.connection_time.expect("a time") > 32.0);
}

#[test]
fn bytes_laid_on_several_streams_arrive_in_their_order() {
    let links = vec![link(
        "space",
        [0, 1],
        vec![rate("2 Mbit/s", 20), ModelSpec::BitErrors(1e-5), millis(40)],
    )];
    let config = Config { view: View::Bytes { stripes: 4 }, ..Config::paper() };
    let spec = spec(2, links, vec![sctp(config, 300, Vec::new())]);
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
    assert!(run.flows[0].source.retransmitted_segments > 0, "nothing was lost");
}

#[test]
fn a_run_with_real_bytes_has_the_same_record() {
    let typed = two_paths();
    let wired = RunSpec { wire: true, ..typed.clone() };
    assert_eq!(outcome(&typed), outcome(&wired));
}

/// Writes what crosses the links into a capture.
struct Watcher(Capture<Vec<u8>>);

impl Observer for Watcher {
    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, at: Instant, channel: usize, packet: &PacketSeen<'_>) {
        self.0.packet(at, channel, packet);
    }
}

#[test]
fn a_second_path_shares_a_line_with_another_flow_in_the_order_of_time() {
    // The packets of the other flow get to the line from far away, those of the path from nearby.
    let links = vec![
        link("first", [0, 1], vec![rate("1 Mbit/s", 50), dark(1_000, 60_000), millis(25)]),
        link("near", [2, 4], vec![millis(1)]),
        link("far", [5, 4], vec![rate("4 Mbit/s", 50), millis(200)]),
        link("line", [4, 3], vec![rate("2 Mbit/s", 50), millis(5)]),
    ];
    let config = Config { path_max_retrans: 1, ..Config::default() };
    let flows = vec![sctp(config, 1_000, vec![[2, 3]]), flow("far", 5, 3, 2_000)];
    let shared = spec(6, links, flows);
    let run = outcome(&shared);
    assert_all_arrived(&shared, &run);
    // A flow that begins when all is over shifts nothing, though its way is that of the second path.
    let mut more = shared;
    let mut idle = flow("idle", 2, 3, 1);
    idle.source.start = Instant::ZERO + more.duration + Span::from_secs(1);
    more.flows.push(idle);
    assert_eq!(outcome(&more).flows[..2], run.flows[..]);
}

#[test]
fn a_queue_that_marks_slows_the_sender_down_and_drops_no_data() {
    let links = vec![link("neck", [0, 1], vec![millis(40)])];
    let config = Config { ecn: true, ..Config::default() };
    let mut spec = spec(2, links, vec![sctp(config, 1_000, Vec::new())]);
    let red = RedConfig { weight: 0.02, max: 150.0, ecn: true, ..RedConfig::default() };
    spec.macs.push(held(0, "2 Mbit/s", 200, DisciplineSpec::Red(red)));
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
    let neck = channel(&run, "neck", 0);
    assert!(neck.marked > 0 && neck.lost_data == 0, "{neck:?}");
    assert!(run.flows[0].source.reductions > 0, "{:?}", run.flows[0].source);
    let wired = RunSpec { wire: true, ..spec };
    assert_eq!(outcome(&wired), run);
}

/// A ship (nodes 0 and 2) that changes the satellite at 5 s, or with `early` a second before: the shore is node 1.
fn a_ship_that_moves(early: bool) -> RunSpec {
    let hop = |a, more| {
        let mut models = vec![rate("1.5 Mbit/s", 50), ModelSpec::BitErrors(1e-6), millis(25)];
        models.push(more);
        link(a, if a == "before" { [0, 1] } else { [2, 1] }, models)
    };
    let links = vec![hop("before", dark(5_000, 300_000)), hop("after", dark(0, 3_500))];
    let config = Config { asconf: true, ..Config::default() };
    let mut file = sctp(config, 3_000, vec![[2, 1]]);
    let Protocol::Sctp { address_changes, .. } = &mut file.protocol else { unreachable!() };
    let at = Instant::from_nanos(if early { 4_000_000_000 } else { 5_200_000_000 });
    let (add, delete) = (Some(2), Some(0));
    address_changes.push(AddressChange { at, add, set_primary: true, delete });
    spec(3, links, vec![file])
}

#[test]
fn a_ship_that_changes_its_address_goes_on_without_a_timeout() {
    for early in [true, false] {
        let spec = a_ship_that_moves(early);
        let run = outcome(&spec);
        assert_all_arrived(&spec, &run);
        assert!(channel(&run, "after", 2).delivered > 500, "data go on over the second satellite");
        let flow = &run.flows[0];
        let seconds = flow.metrics.connection_time.expect("a time");
        // 3 MB need 16 s at that rate; the first satellite is gone for good.
        assert!(seconds < 20.0, "early {early}: {seconds} s");
        assert_eq!(flow.source.timeouts, 0, "early {early}");
    }
}

#[test]
fn a_ship_whose_change_is_told_late_waits_for_it() {
    let mut spec = a_ship_that_moves(false);
    let Protocol::Sctp { address_changes, .. } = &mut spec.flows[0].protocol else {
        unreachable!()
    };
    // A minute late.
    address_changes[0].at = Instant::from_nanos(60_000_000_000);
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
    assert!(run.flows[0].metrics.connection_time.expect("a time") > 60.0);
}

#[test]
fn a_change_after_the_end_of_an_association_holds_up_nothing() {
    let mut spec = a_ship_that_moves(false);
    let Protocol::Sctp { address_changes, .. } = &mut spec.flows[0].protocol else {
        unreachable!()
    };
    address_changes[0].at = Instant::from_nanos(500_000_000_000);
    spec.links =
        vec![link("before", [0, 1], vec![millis(25)]), link("after", [2, 1], vec![millis(25)])];
    spec.duration = Span::from_secs(1_000_000_000);
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
    assert!(run.events < 100_000, "{} events", run.events);
}

#[test]
fn a_run_with_real_bytes_changes_addresses_alike() {
    let typed = a_ship_that_moves(false);
    let wired = RunSpec { wire: true, ..typed.clone() };
    assert_eq!(outcome(&typed), outcome(&wired));
}

#[test]
fn tshark_finds_nothing_wrong_with_an_association() {
    let mut spec = two_paths();
    let ecn = Config { ecn: true, path_max_retrans: 1, asconf: true, ..Config::default() };
    spec.flows = vec![sctp(ecn, 300, vec![[2, 3]])];
    let Protocol::Sctp { address_changes, .. } = &mut spec.flows[0].protocol else {
        unreachable!()
    };
    let (at, add, delete) = (Instant::from_nanos(1_000_000_000), Some(2), Some(0));
    address_changes.push(AddressChange { at, add, set_primary: true, delete });
    let mut watcher = Watcher(Capture::new(Vec::new(), &spec, &[]).expect("a capture"));
    let seen = run(&spec, &mut watcher).expect("a run");
    assert_eq!(run(&spec, &mut Silent).expect("a run"), seen, "who watches changes nothing");
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("sctp.pcapng");
    std::fs::write(&path, watcher.0.finish().expect("a capture")).expect("the file");
    let fields = ["_ws.malformed", "sctp.checksum.status", "sctp.chunk_type"];
    let mut tshark = Command::new("tshark");
    tshark.args(["-o", "sctp.checksum:CRC 32c", "-n", "-r"]).arg(&path);
    tshark.args(["-T", "fields", "-E", "separator=;"]);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let Ok(output) = tshark.output() else {
        // Past the test harness, which hides what passing tests print.
        let said = "SKIPPED: tshark is not on the PATH, no SCTP capture was read with it";
        return writeln!(std::io::stderr(), "{said}").expect("standard error");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let mut kinds = std::collections::BTreeSet::new();
    for line in text.lines() {
        let [malformed, checksum, chunks] = line.split(';').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        assert_eq!((malformed, checksum), ("", "1"), "{line}");
        kinds.extend(chunks.split(',').map(|kind| kind.parse::<u32>().expect("a number")));
    }
    let all = [0, 1, 2, 3, 4, 5, 7, 8, 10, 11, 14, 15, 128, 193];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
}
