//! Links that correct wrong bits and retransmit what they lost, in scenario files.

use bentpipe_link::{ArqConfig, FecConfig, ModelSpec};
use bentpipe_record::RunSummary;
use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::{RunSpec, Silent, run};
use bentpipe_units::Span;

const NOISY: &str = r#"
name = "noisy"
nodes = ["one", "two"]

[links.space]
between = ["one", "two"]
rate = "10 Mbit/s"
queue = "200 packets"
delay = "20 ms"
ber = 1e-5

[flows.file]
from = "one"
to = "two"
size = "10 MB"
protocol = "tcp"
"#;

fn changed(changes: &[&str]) -> Result<RunSpec, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|c| c.parse().expect("a change")).collect();
    Scenario::parse("test.toml", NOISY).expect("a scenario").with(&changes)?.run_spec(None, false)
}

fn outcome(changes: &[&str]) -> RunSummary {
    let summary = run(&changed(changes).expect("a scenario"), &mut Silent).expect("a run");
    assert!(summary.flows[0].complete, "{:?}", summary.flows[0]);
    summary
}

const ARQ: &str = "links.space.arq={ tries = 4, timeout = \"45 ms\", window = 300 }";
const FEC: &str = "links.space.fec={ block = 58320, payload = 58128, corrects = 12 }";

#[test]
fn a_link_repairs_both_ways_or_as_its_directions_say() {
    let spec = changed(&[
        ARQ,
        FEC,
        "links.space.return.arq={ tries = 2, timeout = \"1 s\", in_order = false }",
    ]);
    let link = &spec.expect("a scenario").links[0];
    let fec = FecConfig { block: 58_320, payload: 58_128, corrects: 12 };
    let losses = vec![ModelSpec::Fec { config: fec, ber: 1e-5 }];
    let arq = |config| ModelSpec::Arq { config, losses: losses.clone() };
    let forward =
        ArqConfig { tries: 4, timeout: Span::from_millis(45), window: Some(300), in_order: true };
    assert_eq!(link.forward_link[1], arq(forward));
    let back = ArqConfig { tries: 2, timeout: Span::from_secs(1), window: None, in_order: false };
    assert_eq!(link.return_link[1], arq(back));
    assert!(link.forward_link[1].keeps_order() && !link.return_link[1].keeps_order());
}

#[test]
fn a_code_or_retransmissions_of_the_link_spare_tcp_its_losses() {
    let bare = outcome(&[]);
    assert!(bare.links[0].corrupted > 300, "{:?}", bare.links[0]);
    for repair in [ARQ, FEC] {
        let summary = outcome(&[repair]);
        assert!(summary.links[0].corrupted < 5, "{repair}: {:?}", summary.links[0]);
        let faster = bare.simulated_seconds / summary.simulated_seconds;
        assert!(faster > 1.5, "{repair}: {faster} times as fast");
        assert_eq!(outcome(&[repair]), summary);
    }
}

#[test]
fn what_cannot_be_is_named_with_its_key() {
    let fec = |values: &str| format!("links.space.fec={{ {values} }}");
    let arq = |values: &str| format!("links.space.arq={{ {values} }}");
    for (change, key, said) in [
        (fec("block = 63, payload = 64, corrects = 1"), "fec.block", "64 to 1000000"),
        (fec("block = 100, payload = 101, corrects = 1"), "fec.payload", "64 to those of a block"),
        (fec("block = 100, payload = 90, corrects = 100"), "fec.corrects", "fewer than a block"),
        (arq("tries = 0, timeout = \"1 s\""), "arq.tries", "1 to 1000"),
        (arq("tries = 2, timeout = \"0 s\""), "arq.timeout", "above zero"),
        (arq("tries = 2, timeout = \"1 s\", window = 0"), "arq.window", "1 to 1000000"),
    ] {
        let error = changed(&[&change]).expect_err(&change);
        assert_eq!(error.key, Some(format!("links.space.{key}")), "{error}");
        assert!(error.message.contains(said), "{error}");
    }
    let clean = NOISY.replace("ber = 1e-5\n", "");
    for (line, said) in [
        ("fec = { block = 100, payload = 90, corrects = 1 }", "the link has no `ber`"),
        ("arq = { tries = 2, timeout = \"1 s\" }", "nothing to retransmit"),
    ] {
        let text = clean.replace("delay = ", &format!("{line}\ndelay = "));
        let error = Scenario::parse("test.toml", &text).expect_err(line);
        assert!(error.message.contains(said), "{error}");
    }
}
