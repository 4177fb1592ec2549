//! Radio channels in scenario files, and what packet radio puts around segments.

use bentpipe_link::mac::RADIO;
use bentpipe_record::RunSummary;
use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::{Silent, run};

/// Two stations; the channel is line 12 and on.
const FILE: &str = r#"
name = "radio"
nodes = ["satellite", "ground"]
duration = "1 h"
encapsulation = "ax25"

[links.air]
between = ["satellite", "ground"]
queue = "unlimited"

[radios.vhf]
links = ["air"]
rate = "1200 bit/s"

[flows.file]
from = "satellite"
to = "ground"
size = "2 kB"
chunk = "162 B"
message_header = "5 B"
xstp = { preset = "paper", timer_clock = "exact", mss = 162, rtt_init = "5 s", ctl_rto_init = "5 s", idle_threshold = "60 s" }
"#;

fn outcome(text: &str, wire: bool) -> RunSummary {
    let scenario = Scenario::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    run(&scenario.run_spec(None, wire).expect("a run"), &mut Silent).expect("a run")
}

fn refused(text: &str) -> ScenarioError {
    let scenario = Scenario::parse("test.toml", text);
    scenario.and_then(|s| s.run_spec(None, false)).expect_err("refused")
}

#[test]
fn a_file_arrives_over_a_radio_channel_and_bytes_tell_the_same_story() {
    for encapsulation in ["ax25", "ax25-compact"] {
        let text = FILE.replace("\"ax25\"", &format!("\"{encapsulation}\""));
        let typed = outcome(&text, false);
        assert!(typed.flows[0].complete, "{encapsulation}");
        assert_eq!(typed, outcome(&text, true), "{encapsulation}");
    }
}

#[test]
fn a_station_never_gets_more_than_the_channel_carries() {
    let run = outcome(FILE, false);
    // 13 segments of 255 bytes take 22 s, without a handshake, key-ups and reports.
    let seconds = run.flows[0].metrics.connection_time.expect("complete");
    assert!((24.0..200.0).contains(&seconds), "{seconds}");
    // BGN alone: slots, 500 ms of key-up, 105 bytes. Then BGNAK, and a segment with a POLL: 259 bytes.
    let first = run.flows[0].first_byte_after.expect("a byte");
    let least = 3.0 * 0.5 + 8.0 * (105.0 + 105.0 + 259.0) / 1200.0;
    let slots = (first - least) / 0.1;
    assert!(slots >= -1e-6 && (slots - slots.round()).abs() < 1e-3, "{slots} slots");
}

#[test]
fn headers_of_messages_are_sent_but_are_no_data() {
    let run = outcome(FILE, false);
    // 2,000 bytes in messages of 157: 13 headers.
    let flow = &run.flows[0];
    assert_eq!(flow.delivered_bytes, 2_000);
    assert_eq!(flow.source.payload_bytes, 2_000 + 13 * 5);
    assert_eq!(flow.source.data_segments, 13);
    let one = outcome(&FILE.replace("2 kB", "157 B"), false);
    assert_eq!((one.flows[0].delivered_bytes, one.flows[0].source.payload_bytes), (157, 162));
}

#[test]
fn compressed_headers_make_frames_eleven_bytes_shorter() {
    let bytes = |encapsulation: &str| {
        let text = FILE.replace("\"ax25\"", encapsulation).replace("2 kB", "157 B");
        let run = outcome(&text, false);
        assert_eq!(run.flows[0].source.data_segments, 1);
        (run.links[0].packets, run.links[0].bytes)
    };
    let (plain, compact) = (bytes("\"ax25\""), bytes("\"ax25-compact\""));
    assert_eq!(plain.0, compact.0);
    // BGN travels whole with two bytes before it; data with a POLL, STATs, END and ENDAK have 5 bytes in place of 16, and a
    // STAT's count of gaps has one byte in place of four, its credit two of its own.
    assert!(plain.1 - compact.1 >= 11 * (plain.0 - 3), "{plain:?} {compact:?}");
}

#[test]
fn every_parameter_that_is_listed_is_a_key_and_no_other_is() {
    let [row] = RADIO else { panic!("one way to share a channel") };
    let all =
        refused(&FILE.replace("rate = \"1200 bit/s\"", "rate = \"1200 bit/s\"\nnonsense = 1"));
    for parameter in row.parameters {
        assert!(all.message.contains(&format!("`{}`", parameter.name)), "{all}");
    }
    // Those, `links`, `rate` and the one that does not exist.
    assert_eq!(all.message.matches('`').count() / 2, row.parameters.len() + 3, "{all}");
}

#[test]
fn what_is_wrong_is_said_where_it_stands() {
    let radio = |more: &str| format!("rate = \"1200 bit/s\"\n{more}");
    for (from, to, key, says) in [
        ("links = [\"air\"]", "links = []".to_owned(), "radios.vhf.links", "nobody would send"),
        (
            "links = [\"air\"]",
            "links = [\"ai\"]".into(),
            "radios.vhf.links.0",
            "did you mean `air`",
        ),
        (
            "links = [\"air\"]",
            "links = [\"air\", \"air\"]".into(),
            "radios.vhf.links.1",
            "duplicate",
        ),
        ("queue = \"unlimited\"", "rate = \"1 kbit/s\"".into(), "links.air.rate", "`vhf`"),
        (
            "rate = \"1200 bit/s\"",
            radio("slot_time = \"0 s\""),
            "radios.vhf.slot_time",
            "above zero",
        ),
        (
            "rate = \"1200 bit/s\"",
            radio("carrier_detect = \"0 s\""),
            "radios.vhf.carrier_detect",
            "above zero",
        ),
        ("rate = \"1200 bit/s\"", radio("max_frames = 0"), "radios.vhf.max_frames", "0: it must"),
        ("rate = \"1200 bit/s\"", radio("persistence = 256"), "radios.vhf.persistence", "256"),
        (
            "message_header = \"5 B\"",
            "message_header = \"162 B\"".into(),
            "flows.file.message_header",
            "162 B",
        ),
    ] {
        let error = refused(&FILE.replace(from, &to));
        assert_eq!(error.source, "test.toml");
        assert!(error.message.contains(says), "{to}: {error}");
        let named = error.key.as_deref() == Some(key) || error.line.is_some();
        assert!(named, "{to}: {error:?}");
    }
}

#[test]
fn a_link_is_on_one_channel_only() {
    let text = format!("{FILE}\n[radios.uhf]\nlinks = [\"air\"]\nrate = \"9600 bit/s\"\n");
    let error = refused(&text);
    assert!(error.message.contains("`air` is on another uplink or radio channel"), "{error}");
}

#[test]
fn the_scenario_of_the_paper_takes_other_rates() {
    let change = |key: &str, value: &str| Override { key: key.into(), value: value.into() };
    let latency = |rate: &str| {
        let scenario = Scenario::open("packet-radio").expect("a scenario");
        let changes = [change("radios.vhf.rate", rate), change("flows.file.size", "100 B")];
        let spec = scenario.with(&changes).expect("a scenario").run_spec(None, false);
        let run = run(&spec.expect("a run"), &mut Silent).expect("a run");
        run.flows[0].metrics.connection_time.expect("complete")
    };
    assert!(latency("9600 bit/s") < latency("1200 bit/s"));
}
