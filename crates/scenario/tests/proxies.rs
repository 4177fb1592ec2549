//! Proxies in scenario files.

use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::{Protocol, RunSpec, Silent, run};

const SPLIT: &str = r#"
name = "split"
nodes = ["server", "gateway", "client"]

[links.near]
between = ["server", "gateway"]
rate = "10 Mbit/s"
delay = "40 ms"

[links.space]
between = ["gateway", "client"]
rate = "2 Mbit/s"
ber = 1e-6
delay = "250 ms"

[schedulers.line]
rate = "2 Mbit/s"

[proxies.gateway]
node = "gateway"
buffer = "150 kB"
protocol = "xstp"
xstp = { probing = true }

[flows.file]
from = "server"
to = "client"
through = ["gateway"]
size = "500 kB"
protocol = "tcp"
"#;

fn changed(changes: &[&str]) -> Result<RunSpec, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|c| c.parse().expect("a change")).collect();
    Scenario::parse("test.toml", SPLIT).expect("a scenario").with(&changes)?.run_spec(None, false)
}

#[test]
fn each_leg_has_its_own_protocol_and_the_proxy_its_buffer_at_both() {
    let spec = changed(&[]).expect("a run");
    let flow = &spec.flows[0];
    let Protocol::Tcp { sender, receiver } = &flow.protocol else { panic!("TCP first") };
    assert_eq!(sender.rcv_buf.get(), 12_000_000, "the server's own");
    // 150,000 bytes need windows in units of four bytes.
    assert_eq!((receiver.rcv_buf.get(), receiver.snd_buf.get()), (149_997, 150_000));
    let Protocol::Xstp { sender, receiver } = &flow.proxies[0].protocol else {
        panic!("then XSTP")
    };
    assert!(sender.probing);
    assert_eq!((sender.rcv_buf.get(), sender.snd_buf.get()), (150_000, 150_000));
    assert_ne!(receiver.rcv_buf.get(), 150_000, "the client's own");
    let summary = run(&spec, &mut Silent).expect("a run");
    assert!(summary.flows[0].complete);
    assert_eq!(summary.proxies[0].name, "gateway");
    assert!(summary.proxies[0].forward_link.peak <= 150_000, "{:?}", summary.proxies[0]);
}

#[test]
fn a_flow_may_have_a_buffer_of_its_own_and_no_proxy_at_all() {
    let spec = changed(&["flows.file.buffers=[\"20 kB\"]"]).expect("a run");
    let Protocol::Tcp { receiver, .. } = &spec.flows[0].protocol else { panic!("TCP") };
    assert_eq!(receiver.rcv_buf.get(), 20_000);
    assert!(changed(&["flows.file.through=[]"]).expect("a run").flows[0].proxies.is_empty());
}

#[test]
fn what_is_wrong_with_proxies_is_said_at_its_place() {
    for (changes, key, word) in [
        (
            &["flows.file.through=[\"gatewax\"]"][..],
            "flows.file.through.0",
            "did you mean `gateway`",
        ),
        (&["proxies.gateway.node=client"][..], "flows.file.through.0", "where the flow is already"),
        (&["proxies.gateway.node=nowhere"][..], "proxies.gateway.node", "no node"),
        (&["proxies.gateway.scheduler=lime"][..], "proxies.gateway.scheduler", "`line`"),
        (&["proxies.gateway.buffer=\"10 B\""][..], "proxies.gateway.buffer", "must"),
        (&["flows.file.buffers=[\"10 B\"]"][..], "flows.file.buffers.0", "must"),
        (
            &["flows.file.buffers=[\"9 kB\", \"9 kB\"]"][..],
            "flows.file.buffers",
            "2 buffers for 1 proxies",
        ),
        (
            &["flows.file.protocol=xstp", "proxies.gateway.spoof_window=\"0 B\""][..],
            "proxies.gateway.spoof_window",
            "only TCP",
        ),
        (
            &[
                "flows.file.tcp.recovery=departure-order",
                "flows.file.tcp.release_reported=true",
                "proxies.gateway.spoof_window=\"0 B\"",
            ][..],
            "proxies.gateway.spoof_window",
            "frees what is reported",
        ),
        (&["flows.file.weight=0"][..], "flows.file.weight", "1 or more"),
        (&["flows.file.request=\"0 B\""][..], "flows.file.request", "1..=65535"),
        (&["proxies.gateway.xstp.mss=1"][..], "proxies.gateway.xstp.mss", "mss"),
    ] {
        let error = changed(changes).expect_err(key);
        assert_eq!(error.key.as_deref(), Some(key), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

/// Five downloads through a gateway whose memory is one bandwidth-delay product of its link; four of them begin late.
fn shared(buffers: &str) -> RunSpec {
    let flow = |name: &str, start: &str, size: &str| {
        format!(
            r#"
[flows.{name}]
from = "server"
to = "client"
through = ["gateway"]
size = "{size}"
start = "{start}"
protocol = "tcp"
"#
        )
    };
    let flows: Vec<String> = (0..5)
        .map(|n| match n {
            0 => flow("first", "0 s", "20 MB"),
            _ => flow(&format!("late{n}"), "10 s", "2 MB"),
        })
        .collect();
    let text = format!(
        r#"
name = "shared"
nodes = ["server", "gateway", "client"]
[links.near]
between = ["server", "gateway"]
rate = "100 Mbit/s"
delay = "5 ms"
[links.space]
between = ["gateway", "client"]
rate = "10 Mbit/s"
delay = "250 ms"
[schedulers.line]
rate = "10 Mbit/s"
[proxies.gateway]
node = "gateway"
{buffers}
scheduler = "line"
protocol = "tcp"
tcp = {{ recovery = "departure-order", controller = "fixed" }}
{}
"#,
        flows.concat()
    );
    Scenario::parse("shared.toml", &text).expect("a scenario").run_spec(None, false).expect("a run")
}

/// Mbit/s of the first download and of a late one.
fn downloads(buffers: &str) -> (f64, f64) {
    let summary = run(&shared(buffers), &mut Silent).expect("a record");
    assert!(summary.flows.iter().all(|flow| flow.complete), "{buffers}");
    let rate = |flow: usize| summary.flows[flow].metrics.effective_throughput / 1e6;
    (rate(0), rate(1))
}

#[test]
fn memory_that_is_shared_is_for_whoever_is_there() {
    // 10 Mbit/s and half a second: 625 kB, or 125 kB for each of five.
    let (first, late) = downloads("buffer = \"125 kB\"");
    let (pooled, pooled_late) = downloads("pool = \"625 kB\"\nthreshold = 4.0");
    assert!(first < 2.1, "{first}");
    assert!(pooled > 2.0 * first, "{pooled} {first}");
    assert!(pooled_late > 0.9 * late, "{pooled_late} {late}");
}

#[test]
fn shared_memory_is_checked() {
    for (change, says) in [
        ("proxies.gateway.pool=1 kB", "it is at least 10 kB"),
        ("proxies.gateway.threshold=2.0", "it is of the free bytes of a `pool`"),
        ("proxies.gateway.threshold=0.0", "it is above 0, and 1000 at most"),
    ] {
        let error = changed(&[change]).expect_err(change).to_string();
        assert!(error.contains(says), "{error}");
    }
}
