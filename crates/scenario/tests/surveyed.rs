//! Proposals that a survey describes in a sentence or two: each does in the simulator what is said of it.

use bentpipe_record::{FlowSummary, RunSummary};
use bentpipe_scenario::{Override, Scenario};
use bentpipe_sim::{Silent, run};

/// A terminal sends a file over a satellite link that loses packets singly, far from each other, and no queue ever
/// overflows.
const UPLOAD: &str = r#"
name = "upload"
duration = "60 s"
nodes = ["terminal", "gateway", "server"]

[links.satellite]
between = ["terminal", "gateway"]
rate = "2 Mbit/s"
delay = "250 ms"

[links.satellite.forward]
rate = "2 Mbit/s"
delay = "250 ms"
queue = { discipline = "drop-low-priority", limit = "300 packets" }
script = [
  { kind = ["data"], nth = 500, count = 1 },
  { kind = ["data"], nth = 1100, count = 1 },
  { kind = ["data"], nth = 1700, count = 1 },
]

[links.wired]
between = ["gateway", "server"]
rate = "10 Mbit/s"
delay = "20 ms"

[agents.base]
at = "gateway"
link = "satellite"
agent = "snoop"

[flows.file]
from = "terminal"
to = "server"
protocol = "tcp"

[flows.file.tcp]
controller = "pbs"
rcv_buf = "65535 B"
"#;

/// A run with these changes.
fn outcomes(text: &str, changes: &[&str]) -> RunSummary {
    let changes: Vec<Override> = changes.iter().map(|c| c.parse().expect("a change")).collect();
    let scenario = Scenario::parse("test.toml", text).expect("a scenario");
    let spec = scenario.with(&changes).expect("a scenario").run_spec(None, false).expect("a run");
    run(&spec, &mut Silent).expect("a run")
}

/// The flow of TCP of a run with these changes.
fn outcome(text: &str, changes: &[&str]) -> FlowSummary {
    let flows = outcomes(text, changes).flows;
    flows.into_iter().find(|flow| flow.protocol == "tcp").expect("a flow of TCP")
}

#[test]
fn pbs_keeps_its_window_when_snoop_says_that_a_link_damaged_the_data() {
    let een = "flows.file.tcp.controller_parameters={ een = 1 }";
    let [told, untold] =
        ["agents.base.agent=snoop", "agents={}"].map(|a| outcome(UPLOAD, &[een, a]));
    for flow in [&told, &untold] {
        assert_eq!((flow.source.retransmitted_segments, flow.source.timeouts), (3, 0));
    }
    assert_eq!((told.source.reductions, untold.source.reductions), (0, 3));
    let gain = told.delivered_bytes as f64 / untold.delivered_bytes as f64;
    assert!(gain > 1.2, "{gain}");
}

#[test]
fn pbs_begins_with_more_than_swift_and_both_open_the_window_within_two_round_trips() {
    let after = |controller: &str| {
        let controller = format!("flows.file.tcp.controller={controller}");
        // The first round trip opens the connection.
        let run = |until| {
            let until = format!("duration={until}");
            let window = "flows.file.tcp.initial_window=2";
            outcome(UPLOAD, &[&controller, &until, window]).delivered_bytes
        };
        ["1.1 s", "2.5 s"].map(run)
    };
    let ([pbs, opened], [swift, _], [_, reno]) = (after("pbs"), after("swift"), after("reno"));
    assert!(pbs > swift, "{pbs} {swift}");
    assert!(opened > 2 * reno, "{opened} {reno}");
}

/// A file over a satellite link whose way back loses acknowledgements. No queue overflows, and the receiver has room for
/// more than the window ever is.
const BACK: &str = r#"
name = "back"
duration = "200 s"
nodes = ["server", "client"]

[links.satellite]
between = ["server", "client"]
rate = "2 Mbit/s"
delay = "250 ms"
queue = "300 packets"

[links.satellite.return]
rate = "256 kbit/s"
delay = "250 ms"
queue = "300 packets"

[flows.file]
from = "server"
to = "client"
protocol = "tcp"
size = "1 MB"

[flows.file.tcp]
controller = "star"
controller_parameters = { aen = 1, initial_ssthresh = 16 }
undo = false
"#;

/// The file with and without AEN, after another change.
fn star(change: &str) -> [FlowSummary; 2] {
    ["1", "0"].map(|aen| {
        let parameters = format!("{{ aen = {aen}, initial_ssthresh = 16 }}");
        let parameters = format!("flows.file.tcp.controller_parameters={parameters}");
        outcome(BACK, &[change, &parameters])
    })
}

#[test]
fn star_with_aen_sends_nothing_again_where_only_acknowledgements_were_lost() {
    // All acknowledgements of a window, three times.
    let lost = |nth| format!(r#"{{ kind = ["ack"], nth = {nth}, count = 14 }}"#);
    let script = [30, 120, 200].map(lost).join(", ");
    let [with, without] = star(&format!("links.satellite.return.script=[{script}]"));
    assert_eq!((with.source.retransmitted_segments, with.source.reductions), (0, 0));
    assert!(without.source.retransmitted_segments >= 3 && without.source.reductions >= 3);
    assert_eq!(without.sink.duplicate_segments, without.source.retransmitted_segments);
    let [with, without] = [with, without].map(|flow| flow.metrics.connection_time);
    assert!(with < without, "{with:?} {without:?}");
}

#[test]
fn star_with_aen_sends_nothing_again_where_acknowledgements_are_late() {
    // 80 kB at once take 2.5 s on the way back, and the acknowledgements behind them wait.
    let burst = r#"traffic = { kind = "cbr", packet = "1000 B", interval = "100 us", count = 80 }"#;
    let other =
        format!(r#"from = "client", to = "server", protocol = "udp", start = "8 s", {burst}"#);
    let [with, without] = star(&format!("flows.other={{ {other} }}"));
    assert_eq!((with.source.retransmitted_segments, with.source.timeouts), (0, 0));
    assert!(without.source.retransmitted_segments > 3, "{:?}", without.source);
    assert_eq!(without.sink.duplicate_segments, without.source.retransmitted_segments);
}

/// Half a second to the client and back, and queues that drop dummies first. A single packet of data is lost after some
/// ten seconds.
const LIVE: &str = r#"
name = "live"
duration = "60 s"
nodes = ["server", "client"]

[links.satellite]
between = ["server", "client"]
rate = "2 Mbit/s"
delay = "250 ms"

[links.satellite.forward]
rate = "2 Mbit/s"
delay = "250 ms"
queue = { discipline = "drop-low-priority", limit = "50 packets" }
script = [{ kind = ["data"], nth = 1300, count = 1 }]

[flows.live]
from = "server"
to = "client"
protocol = "tcp"

[flows.live.tcp]
controller = "rcs"
controller_parameters = { target = 1.5e6 }
mss = 1000
"#;

/// What arrives from one second to the next in each of the first so many seconds, in bit/s.
fn rates(text: &str, changes: &[&str], seconds: u64) -> Vec<f64> {
    let until = |second: u64| {
        let duration = format!("duration={second} s");
        outcome(text, &[changes, &[duration.as_str()]].concat()).delivered_bytes as f64 * 8.0
    };
    let arrived: Vec<f64> = (0..=seconds).map(|n| if n == 0 { 0.0 } else { until(n) }).collect();
    arrived.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn rcs_has_its_rate_again_in_a_round_trip_after_noise_where_halving_takes_many() {
    let rcs = rates(LIVE, &[], 20);
    // A window of 1.5 Mbit/s, which Reno halves.
    let (reno, window) = ("flows.live.tcp.controller=reno", "flows.live.tcp.rcv_buf=96 kB");
    let reno = rates(LIVE, &[reno, window, "flows.live.tcp.controller_parameters={}"], 20);
    let target = |rate: &f64| (1.45e6..1.55e6).contains(rate);
    assert!(rcs[4..8].iter().all(target) && rcs[10..].iter().all(target), "{rcs:?}");
    assert!(reno[12..14].iter().all(|rate| *rate < 1e6), "{reno:?}");
}

#[test]
fn rcs_does_not_have_its_rate_again_after_congestion() {
    // Others take 1.2 Mbit/s of the 2 from the tenth second on.
    let others = r#"traffic = { kind = "cbr", packet = "1000 B", interval = "6.667 ms" }"#;
    let others =
        format!(r#"from = "server", to = "client", protocol = "udp", start = "10 s", {others}"#);
    let rcs = rates(
        LIVE,
        &["links.satellite.forward.script=[]", &format!("flows.others={{ {others} }}")],
        30,
    );
    let mean = rcs[15..].iter().sum::<f64>() / 15.0;
    assert!((0.5e6..0.8e6).contains(&mean), "{rcs:?}");
}

/// Two files over one queue that states the bandwidth; the second begins when the first has all of it.
const AWARE: &str = r#"
name = "aware"
duration = "40 s"
nodes = ["a", "b", "router", "client"]

[links.a]
between = ["a", "router"]
rate = "100 Mbit/s"
delay = "1 ms"

[links.b]
between = ["b", "router"]
rate = "100 Mbit/s"
delay = "1 ms"

[links.satellite]
between = ["router", "client"]
rate = "6 Mbit/s"
delay = "250 ms"
queue = { discipline = "ba-tcp", limit = "50 packets" }

[flows.first]
from = "a"
to = "client"
protocol = "tcp"
tcp = { controller = "ba-tcp" }

[flows.second]
from = "b"
to = "client"
start = "15 s"
protocol = "tcp"
tcp = { controller = "ba-tcp" }
"#;

#[test]
fn two_flows_of_ba_tcp_have_their_shares_within_round_trips_and_nothing_is_lost() {
    let until = |second: u32| {
        let run = outcomes(AWARE, &[&format!("duration={second} s")]);
        assert!(run.links.iter().all(|link| link.lost_queue_full == 0), "{:?}", run.links);
        assert!(run.flows.iter().all(|flow| flow.source.retransmitted_segments == 0));
        [0, 1].map(|flow: usize| run.flows[flow].delivered_bytes as f64 * 8.0)
    };
    let [early, alone, shared, end] = [5, 15, 18, 40].map(until);
    // Of 6 Mbit/s; headers take 6 %.
    let first = (alone[0] - early[0]) / 10.0;
    assert!(first > 5.5e6, "{first}");
    let rates = [0, 1].map(|flow: usize| (end[flow] - shared[flow]) / 22.0);
    assert!(rates.iter().all(|rate| (2.7e6..2.9e6).contains(rate)), "{rates:?}");
}

#[test]
fn where_no_queue_states_the_bandwidth_ba_tcp_is_reno() {
    let plain = "links.satellite.queue=50 packets";
    let reno = ["first", "second"].map(|flow| format!("flows.{flow}.tcp.controller=reno"));
    let [ba, reno] =
        [&[plain][..], &[plain, &reno[0], &reno[1]]].map(|changes| outcomes(AWARE, changes));
    for (ba, reno) in ba.flows.iter().zip(&reno.flows) {
        // The header that asks in vain costs a little.
        let ratio = ba.delivered_bytes as f64 / reno.delivered_bytes as f64;
        assert!((0.8..1.2).contains(&ratio), "{ratio}");
    }
}
