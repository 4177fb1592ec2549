//! Losses in bursts in scenario files.

use bentpipe_link::{GilbertElliottConfig, ModelSpec};
use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::{RunSpec, Silent, run};

const BURSTS: &str = r#"
name = "bursts"
nodes = ["one", "two"]

[links.wire]
between = ["one", "two"]
rate = "10 Mbit/s"
delay = "50 ms"
gilbert_elliott = { to_bad = 0.01, to_good = 0.25 }

[links.wire.return]
gilbert_elliott = { to_bad = 0.5, to_good = 0.5, loss_good = 0.01, loss_bad = 0.2 }

[flows.file]
from = "one"
to = "two"
size = "3 MB"
protocol = "tcp"
"#;

fn changed(changes: &[&str]) -> Result<RunSpec, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|c| c.parse().expect("a change")).collect();
    Scenario::parse("test.toml", BURSTS).expect("a scenario").with(&changes)?.run_spec(None, false)
}

/// The channel of a direction.
fn channel(models: &[ModelSpec]) -> GilbertElliottConfig {
    let mut channels = models.iter().filter_map(|model| match model {
        ModelSpec::GilbertElliott(config) => Some(*config),
        _ => None,
    });
    let found = channels.next().expect("a channel");
    assert_eq!(channels.next(), None);
    found
}

#[test]
fn a_direction_may_have_a_channel_of_its_own_and_gilberts_is_what_is_left_out() {
    let spec = changed(&[]).expect("a run");
    let gilbert =
        GilbertElliottConfig { to_bad: 0.01, to_good: 0.25, loss_good: 0.0, loss_bad: 1.0 };
    assert_eq!(channel(&spec.links[0].forward_link), gilbert);
    let back = GilbertElliottConfig { to_bad: 0.5, to_good: 0.5, loss_good: 0.01, loss_bad: 0.2 };
    assert_eq!(channel(&spec.links[0].return_link), back);
}

#[test]
fn what_the_channel_takes_is_counted_and_every_byte_arrives_all_the_same() {
    let spec = changed(&[]).expect("a run");
    let summary = run(&spec, &mut Silent).expect("a run");
    let forward = &summary.links[0];
    assert!(forward.lost_channel > 20 && forward.lost_random == 0, "{forward:?}");
    assert!(summary.flows[0].complete && summary.flows[0].failure.is_none());
    assert_eq!(run(&spec, &mut Silent).expect("a run"), summary);
    assert_eq!(run(&RunSpec { wire: true, ..spec }, &mut Silent).expect("a run"), summary);
}

#[test]
fn what_is_no_probability_is_named_where_it_stands() {
    for (change, key) in [
        ("links.wire.gilbert_elliott.to_bad=1.5", "links.wire.gilbert_elliott.to_bad"),
        (
            "links.wire.return.gilbert_elliott.loss_bad=-1",
            "links.wire.return.gilbert_elliott.loss_bad",
        ),
        ("links.wire.gilbert_elliott.p=0.1", "links.wire.gilbert_elliott.p"),
    ] {
        let error = changed(&[change]).expect_err(change);
        assert_eq!(error.key.as_deref(), Some(key), "{error}");
    }
}
