//! A single satellite that sets for an hour and a half: what was begun waits and goes on.

use bentpipe_record::RunSummary;
use bentpipe_scenario::Scenario;
use bentpipe_sim::{Silent, run};

/// One satellite above the equator, which two stations on the equator see for some minutes in each 108.
const SHELL: &str = r#"
name = "one"

[[shells]]
altitude = "780 km"
inclination = "0 deg"
planes = 1
satellites_per_plane = 1
elevation_mask = "8.2 deg"
"#;

const RUN: &str = r#"
name = "outage"
encapsulation = "udp"
duration = "5 h"

[constellation]
file = "one.toml"
update_interval = "10 s"

[constellation.ground]
rate = "100 kbit/s"
queue = "50 packets"

[constellation.stations]
west = { place = "0,0" }
east = { place = "0,4" }

[flows.file]
from = "west"
to = "east"
size = "3 MB"
chunk = "1000 B"
"#;

/// What becomes of a flow that begins at `start`, with some more lines in its table.
fn flow(start: &str, more: &str) -> RunSummary {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("outage.toml");
    std::fs::write(dir.path().join("one.toml"), SHELL).expect("a file");
    std::fs::write(&path, format!("{RUN}start = \"{start}\"\n{more}\n")).expect("a file");
    let scenario = Scenario::open(path.to_str().expect("a path"));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&scenario.run_spec(None, false).expect("a run"), &mut Silent).expect("a run")
}

#[test]
fn what_the_satellite_leaves_unfinished_goes_on_when_it_returns() {
    for more in ["protocol = \"xstp\"", "protocol = \"tcp\"", "protocol = \"sctp\""] {
        let summary = flow("4 min", more);
        let flow = &summary.flows[0];
        assert!(flow.complete && flow.failure.is_none(), "{more}: {flow:?}");
        assert!(flow.metrics.connection_time.is_some_and(|time| time > 5_400.0), "{flow:?}");
        // 3,000 chunks cross two links; the outage adds next to nothing.
        assert!(summary.events < 80_000, "{more}: {}", summary.events);
    }
}

#[test]
fn what_begins_without_a_satellite_opens_when_one_comes() {
    for more in ["protocol = \"xstp\"", "protocol = \"tcp\"", "protocol = \"sctp\""] {
        let flow = &flow("20 min", more).flows[0];
        assert!(flow.complete && flow.failure.is_none(), "{more}: {flow:?}");
        assert!(flow.metrics.connection_time.is_some_and(|time| time > 4_800.0), "{flow:?}");
    }
}

#[test]
fn a_file_may_say_when_to_give_up() {
    for more in [
        "[flows.file.xstp]\nctl_max_retries = 3",
        "protocol = \"tcp\"\n[flows.file.tcp]\nsyn_retries = 3",
        "protocol = \"sctp\"\n[flows.file.sctp]\nmax_init_retransmits = 3",
    ] {
        let summary = flow("20 min", more);
        assert!(summary.flows[0].failure.is_some(), "{more}: {:?}", summary.flows[0]);
    }
}
