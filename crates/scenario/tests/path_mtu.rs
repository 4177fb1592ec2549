//! Transfers over a link in the middle that carries packets of 1,000 bytes.

use bentpipe_record::{LinkSummary, RunSummary};
use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::{Silent, run};

const NARROW: &str = r#"
name = "narrow"
nodes = ["server", "west", "east", "client"]
duration = "5 min"

[links.near]
between = ["server", "west"]
rate = "10 Mbit/s"
delay = "5 ms"

[links.narrow]
between = ["west", "east"]
mtu = "1000 B"
rate = "4 Mbit/s"
queue = "3000 packets"
delay = "40 ms"

[links.far]
between = ["east", "client"]
rate = "10 Mbit/s"
delay = "5 ms"

[flows.file]
from = "server"
to = "client"
size = "2 MB"
protocol = "tcp"
"#;

fn changed(changes: &[&str]) -> Result<Scenario, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|c| c.parse().expect("a change")).collect();
    Scenario::parse("narrow.toml", NARROW).expect("a scenario").with(&changes)
}

fn outcome(changes: &[&str], wire: bool) -> RunSummary {
    let spec = changed(changes).expect("a scenario").run_spec(None, wire).expect("a run");
    run(&spec, &mut Silent).expect("a run")
}

fn seconds(run: &RunSummary) -> f64 {
    run.flows[0].metrics.connection_time.expect("a transfer")
}

/// The direction of a link that leads away from a node.
fn direction<'a>(run: &'a RunSummary, name: &str, from: &str) -> &'a LinkSummary {
    run.links.iter().find(|link| link.name == name && link.from == from).expect("the direction")
}

#[test]
fn a_router_tells_the_sender_within_a_round_trip_and_the_file_arrives() {
    let (told, wide) = (outcome(&[], false), outcome(&["links.narrow.mtu=\"1500 B\""], false));
    assert!(told.flows[0].complete && wide.flows[0].complete);
    assert_eq!(direction(&wide, "narrow", "west").lost_packet_too_big, 0);
    // The ten segments of the initial window, and the way to the router and back.
    let narrow = direction(&told, "narrow", "west");
    assert_eq!(narrow.lost_packet_too_big, 10);
    assert_eq!((told.flows[0].source.timeouts, told.flows[0].source.reductions), (0, 0));
    assert!(
        (0.01..0.6).contains(&(seconds(&told) - seconds(&wide))),
        "{}",
        seconds(&told) - seconds(&wide)
    );
    // One message for each, of 56 bytes, and the acknowledgements that come as well.
    let back = direction(&told, "near", "west");
    assert_eq!(back.packets, direction(&told, "narrow", "east").delivered + 10);
}

#[test]
fn the_record_is_the_same_in_wire_mode() {
    let changes = ["links.near.ber=1e-6"];
    assert_eq!(outcome(&changes, false), outcome(&changes, true));
}

#[test]
fn sctp_heeds_a_router_as_tcp_does() {
    let (told, wide) = (
        outcome(&["flows.file.protocol=\"sctp\""], false),
        outcome(&["flows.file.protocol=\"sctp\"", "links.narrow.mtu=\"1500 B\""], false),
    );
    assert!(told.flows[0].complete && wide.flows[0].complete);
    // What left before the first message came back, and nothing after it: older chunks may be fragmented.
    let narrow = direction(&told, "narrow", "west");
    assert!((1..=10).contains(&narrow.lost_packet_too_big), "{narrow:?}");
    assert_eq!(told.flows[0].source.retransmitted_segments, narrow.lost_packet_too_big);
    assert_eq!((told.flows[0].source.timeouts, told.flows[0].source.reductions), (0, 0));
    let later = seconds(&told) - seconds(&wide);
    assert!((0.01..0.6).contains(&later), "{later}");
    let silent = outcome(&["flows.file.protocol=\"sctp\"", "links.narrow.icmp=false"], false);
    assert_eq!(silent.flows[0].delivered_bytes, 0);
}

#[test]
fn sctp_in_wire_mode_has_the_same_record() {
    let changes = ["flows.file.protocol=\"sctp\"", "links.near.ber=1e-6"];
    assert_eq!(outcome(&changes, false), outcome(&changes, true));
}

#[test]
fn without_a_word_only_a_search_gets_through() {
    let silent = "links.narrow.icmp=false";
    let lost = outcome(&[silent], false);
    assert!(!lost.flows[0].complete && lost.flows[0].delivered_bytes == 0, "{:?}", lost.flows[0]);
    let found = outcome(&[silent, "flows.file.tcp.mtu_search=true"], false);
    assert!(found.flows[0].complete, "{:?}", found.flows[0].failure);
    // Packets of 1,024 bytes do not pass: three timeouts of 1, 2 and 4 s.
    assert_eq!(found.flows[0].source.timeouts, 3);
    assert!((10.0..40.0).contains(&seconds(&found)), "{}", seconds(&found));
    // Where they do, nothing is lost but probes.
    let wider =
        outcome(&[silent, "flows.file.tcp.mtu_search=true", "links.narrow.mtu=\"1300 B\""], false);
    let narrow = direction(&wider, "narrow", "west");
    assert!((1..=30).contains(&narrow.lost_packet_too_big), "{narrow:?}");
    assert_eq!((wider.flows[0].source.timeouts, wider.flows[0].source.reductions), (0, 0));
}

#[test]
fn nothing_is_said_about_damaged_packets() {
    // Seven of ten full packets are damaged on their way to the router.
    let run = outcome(&["links.near.forward.ber=1e-4", "duration=\"1 min\""], false);
    let dropped = direction(&run, "narrow", "west").lost_packet_too_big;
    let messages =
        direction(&run, "near", "west").packets - direction(&run, "narrow", "east").delivered;
    assert!(messages > 0 && messages < dropped, "{messages} {dropped}");
}

#[test]
fn ten_minutes_later_one_segment_tries_whether_the_path_has_become_wider() {
    let changes =
        ["duration=\"25 min\"", "flows.file.size=\"1 GB\"", "links.narrow.rate=\"400 kbit/s\""];
    let run = outcome(&changes, false);
    // At first the initial window, later one probe for each ten minutes.
    assert_eq!(direction(&run, "narrow", "west").lost_packet_too_big, 10 + 2);
}

#[test]
fn hosts_know_what_their_own_links_carry() {
    for link in ["near", "far"] {
        let changes = [format!("links.{link}.mtu=\"600 B\""), "links.narrow.mtu=\"1500 B\"".into()];
        let run = outcome(&changes.each_ref().map(String::as_str), false);
        assert!(run.flows[0].complete);
        assert!(run.links.iter().all(|link| link.lost_packet_too_big == 0), "{link}");
        // 548 bytes of payload in each packet.
        assert_eq!(run.flows[0].source.data_segments, 2_000_000_u64.div_ceil(548));
    }
    let run = outcome(&["links.near.mtu=\"600 B\"", "flows.file.protocol=\"sctp\""], false);
    assert!(run.flows[0].complete && run.links.iter().all(|link| link.lost_packet_too_big == 0));
}

#[test]
fn a_mac_before_the_link_makes_no_difference_to_what_is_too_big() {
    let run = outcome(&["links.narrow.queue=\"red\""], false);
    assert!(run.flows[0].complete && direction(&run, "narrow", "west").lost_packet_too_big == 10);
}

#[test]
fn what_can_not_be_is_refused_where_it_stands() {
    for (change, key) in [
        ("links.narrow.mtu=\"100 B\"", "links.narrow.mtu"),
        ("links.narrow.mtu=\"70 kB\"", "links.narrow.mtu"),
        ("links.far.icmp=false", "links.far.icmp"),
    ] {
        let error = changed(&[change]).expect_err(change);
        assert_eq!(error.key.as_deref(), Some(key), "{error}");
    }
}
