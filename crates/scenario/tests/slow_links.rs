//! What XSTP costs where a link carries little, and what a narrow way back costs a download.

use bentpipe_scenario::Scenario;
use bentpipe_sim::{Silent, run};

/// 9,600 bit/s and half a second of round trip, at a rate that is known, with so many POLLs in a round trip.
fn slow(polls: u32) -> String {
    format!(
        r#"
name = "slow"
nodes = ["server", "client"]
encapsulation = "udp"

[links.air]
between = ["server", "client"]
rate = "9600 bit/s"
delay = "250 ms"

[flows.file]
from = "server"
to = "client"
size = "20 kB"
chunk = "1000 B"

[flows.file.xstp]
mss = 1000
snd_buf = "64 kB"
rcv_buf = "64 kB"
controller = "rate"
controller_parameters = {{ rate = 9600 }}
poll_rate = {polls}
poll_share = 0.125
"#
    )
}

#[test]
fn polls_leave_room_for_data_however_many_there_may_be_in_a_round_trip() {
    for polls in [16, 64] {
        let scenario = Scenario::parse("slow.toml", &slow(polls)).expect("a scenario");
        let spec = scenario.run_spec(None, false).expect("a run");
        let flow = &run(&spec, &mut Silent).expect("a record").flows[0];
        assert!(flow.complete);
        // All bits of the file take 17 s.
        let seconds = flow.metrics.connection_time.expect("complete");
        assert!(seconds < 24.0, "{polls}: {seconds}");
        let overhead = flow.metrics.forward_control_overhead;
        assert!(overhead < 20.0, "{polls}: {overhead}");
    }
}

/// A download through two gateways over 10 Mbit/s and 600 ms, beside other flows.
fn beside(back: &str, others: &str) -> String {
    format!(
        r#"
name = "beside"
duration = "80 s"
nodes = ["client", "terminal", "hub", "server"]

[links.lan]
between = ["client", "terminal"]

[links.internet]
between = ["hub", "server"]

[links.satellite]
between = ["hub", "terminal"]
rate = "10 Mbit/s"
delay = "300 ms"
queue = "750 kB"
{back}

[gateway]
up_before = "20 s"

[gateway.terminal]
node = "terminal"

[gateway.hub]
node = "hub"

[flows.download]
from = "server"
to = "client"
protocol = "tcp"
start = "5 s"
size = "1 GB"
request = "100 B"
{others}
"#
    )
}

/// The part of the rate that the download has in 55 s.
fn share(text: &str) -> f64 {
    let scenario = Scenario::parse("beside.toml", text).expect("a scenario");
    let spec = scenario.run_spec(None, false).expect("a run");
    let flow = &run(&spec, &mut Silent).expect("a record").flows[0];
    flow.delivered_bytes as f64 * 8.0 / 55.0 / 10e6
}

#[test]
fn an_upload_over_a_narrow_way_back_costs_a_download_next_to_nothing() {
    let back = r#"return = { rate = "64 kbit/s", queue = "4800 B" }"#;
    for begins in [0, 5, 15] {
        let upload = format!(
            "[flows.upload]\nfrom = \"client\"\nto = \"server\"\nprotocol = \"tcp\"\n\
             start = \"{begins} s\"\nsize = \"1 GB\""
        );
        let share = share(&beside(back, &upload));
        assert!(share > 0.88, "{begins} s: {share} of the link");
    }
}

#[test]
fn small_objects_cost_a_download_little_more_than_they_are_long() {
    // Two a second of 5 kB are 0.008 of the link.
    let object = |n: u32| {
        format!(
            "[flows.o{n}]\nfrom = \"server\"\nto = \"client\"\nprotocol = \"tcp\"\n\
             start = \"{} ms\"\nsize = \"5 kB\"\nrequest = \"100 B\"\n",
            500 * n
        )
    };
    let share = share(&beside("", &(0..120).map(object).collect::<String>()));
    assert!(share > 0.88, "{share} of the link");
}
