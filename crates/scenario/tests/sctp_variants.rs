//! Every controller under SCTP on one long line with noise.

use bentpipe_record::FlowSummary;
use bentpipe_scenario::{Override, Scenario};
use bentpipe_sim::{Silent, run};

const LINE: &str = r#"
name = "line"
duration = "1000 s"
nodes = ["server", "client"]

[links.satellite]
between = ["server", "client"]
rate = "6 Mbit/s"
delay = "300 ms"
ber = 1e-6

[flows.file]
from = "server"
to = "client"
protocol = "sctp"
size = "2 MB"
"#;

fn transfer(controller: &str) -> FlowSummary {
    let change: Override =
        format!("flows.file.sctp.controller={controller}").parse().expect("a change");
    let scenario = Scenario::parse("line.toml", LINE).expect("a scenario");
    let spec = scenario.with(&[change]).expect("a scenario").run_spec(None, false).expect("a run");
    run(&spec, &mut Silent).expect("a run").flows.remove(0)
}

#[test]
fn a_file_arrives_whole_with_every_controller() {
    for row in bentpipe_cc::rows() {
        let FlowSummary { complete, delivered_bytes, source, .. } = transfer(row.name);
        assert!(complete && delivered_bytes == 2_000_000, "{}: {delivered_bytes}", row.name);
        assert!(source.retransmitted_segments > 0, "{}: there is noise", row.name);
    }
}
