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

/// A download through two gateways over 10 Mbit/s and 600 ms, and an upload over 64 kbit/s that begins then.
fn beside_an_upload(begins: u32) -> String {
    format!(
        r#"
name = "narrow"
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
return = {{ rate = "64 kbit/s", queue = "4800 B" }}

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

[flows.upload]
from = "client"
to = "server"
protocol = "tcp"
start = "{begins} s"
size = "1 GB"
"#
    )
}

#[test]
fn an_upload_over_a_narrow_way_back_costs_a_download_next_to_nothing() {
    for begins in [0, 5, 15] {
        let text = beside_an_upload(begins);
        let scenario = Scenario::parse("narrow.toml", &text).expect("a scenario");
        let spec = scenario.run_spec(None, false).expect("a run");
        let flow = &run(&spec, &mut Silent).expect("a record").flows[0];
        let share = flow.delivered_bytes as f64 * 8.0 / 55.0 / 10e6;
        assert!(share > 0.88, "{begins} s: {share} of the link");
    }
}
