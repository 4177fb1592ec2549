//! Every variant of TCP on one long line: without losses, with one or five in a row, and with noise.

use bentpipe_record::FlowSummary;
use bentpipe_scenario::{Override, Scenario};
use bentpipe_sim::{Silent, run};

/// 6 Mbit/s and 600 ms: 450 kB are under way. The windows of both ends allow a tenth more, and no queue overflows.
const LINE: &str = r#"
name = "line"
duration = "100 s"
nodes = ["server", "client"]

[links.satellite]
between = ["server", "client"]
rate = "6 Mbit/s"
delay = "300 ms"

[flows.file]
from = "server"
to = "client"
protocol = "tcp"

[flows.file.tcp]
rcv_buf = "500 kB"
"#;

/// Controllers that work by themselves (the others want a rate, a window, or routers that grant one), and what share of
/// the line each has in 100 s.
const VARIANTS: [(&str, f64); 25] = [
    ("reno", 0.93),
    ("veno", 0.93),
    ("westwood", 0.93),
    ("westwood-plus", 0.93),
    ("hybla", 0.93),
    ("highspeed", 0.93),
    ("scalable", 0.93),
    ("cubic", 0.93),
    ("bbr", 0.83),
    // Half of the window for a round trip and more in every 5 s.
    ("bbr3", 0.81),
    ("fast-start", 0.93),
    ("stcp", 0.93),
    ("astart", 0.93),
    ("bulk-repeat", 0.93),
    ("jersey", 0.93),
    ("star", 0.93),
    // No queue states anything: Reno with a longer header.
    ("ba-tcp", 0.92),
    // Their first flight, and its last segment, whose acknowledgement waits for another one, read as a queue that ends
    // slow start early; from there on it is a segment for every round trip.
    ("vegas", 0.29),
    ("newvegas", 0.29),
    ("dvegas", 0.29),
    ("scps", 0.29),
    // What a SYN says of the window, 65,535 bytes, is what they fill at once.
    ("peach", 0.41),
    ("peach-plus", 0.41),
    ("swift", 0.41),
    // Three segments at first, where the others have ten.
    ("pbs", 0.39),
];

fn transfer(controller: &str, changes: &[&str]) -> FlowSummary {
    let controller = format!("flows.file.tcp.controller={controller}");
    let changes = [&[controller.as_str()], changes].concat();
    let changes: Vec<Override> = changes.iter().map(|c| c.parse().expect("a change")).collect();
    let scenario = Scenario::parse("line.toml", LINE).expect("a scenario");
    let spec = scenario.with(&changes).expect("a scenario").run_spec(None, false).expect("a run");
    run(&spec, &mut Silent).expect("a run").flows.remove(0)
}

/// A file of 3 MB of which so many segments in a row are lost, from the 500th on.
fn with_losses(controller: &str, count: u32) -> FlowSummary {
    let rule = format!(r#"{{ kind = ["data"], nth = 500, count = {count} }}"#);
    let script = format!("links.satellite.forward.script=[{rule}]");
    transfer(controller, &["flows.file.size=3 MB", &script])
}

#[test]
fn without_losses_every_variant_has_its_share_of_the_line_and_sends_nothing_again() {
    for (controller, least) in VARIANTS {
        let flow = transfer(controller, &[]);
        let share = flow.delivered_bytes as f64 * 8.0 / 100.0 / 6e6;
        assert!((least..0.96).contains(&share), "{controller}: {share}");
        assert_eq!((flow.source.retransmitted_segments, flow.source.timeouts), (0, 0));
    }
}

#[test]
fn losses_are_repaired_once_each_and_without_a_timeout() {
    for count in [1, 5] {
        for (controller, _) in VARIANTS {
            let FlowSummary { complete, source, .. } = with_losses(controller, count);
            // The last segment may leave once more where the peer's window is full (RFC 6675, rule 4).
            let repairs = u64::from(count)..=u64::from(count) + 1;
            assert!(complete && repairs.contains(&source.retransmitted_segments), "{controller}");
            assert_eq!(source.timeouts, 0, "{controller}");
        }
    }
}

#[test]
fn with_noise_newreno_is_slower_than_westwood_plus_and_that_not_faster_than_hybla() {
    let delivered = |controller| {
        let run = |seed: u32| {
            let seed = format!("seed={seed}");
            let newreno = "flows.file.tcp.recovery=newreno";
            transfer(controller, &[newreno, "links.satellite.forward.loss=0.01", &seed])
        };
        (1..=10).map(|seed| run(seed).delivered_bytes).sum::<u64>()
    };
    let [newreno, westwood, hybla] = ["reno", "westwood-plus", "hybla"].map(delivered);
    assert!(newreno < westwood && westwood <= hybla, "{newreno} {westwood} {hybla}");
}

#[test]
fn with_noise_p_xcp_carries_more_than_xcp() {
    // One packet in a hundred is lost: XCP takes each loss for congestion, P-XCP none.
    let delivered = |queue: &str, keep: &str| {
        let queue = format!(r#"{{ discipline = "{queue}", limit = "1000 packets" }}"#);
        let forward = format!(
            r#"links.satellite.forward={{ rate = "6 Mbit/s", delay = "300 ms", loss = 0.01, queue = {queue} }}"#
        );
        let keep = format!("flows.file.tcp.controller_parameters={{ keep_on_loss = {keep} }}");
        transfer("xcp", &["flows.file.tcp.rcv_buf=2 MB", &forward, &keep]).delivered_bytes
    };
    let (plain, persistent) = (delivered("xcp", "0.0"), delivered("p-xcp", "1.0"));
    assert!(10 * persistent > 12 * plain, "{persistent} {plain}");
}
