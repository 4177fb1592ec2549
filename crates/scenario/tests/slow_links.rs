//! What XSTP costs where a link carries little.

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
