//! Links that replay traces.

use std::path::Path;

use bentpipe_record::RunSummary;
use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::{Silent, run};

fn scenario(link: &str) -> String {
    format!(
        "name = \"traced\"\nduration = \"30 s\"\nnodes = [\"a\", \"b\"]\n\n[links.space]\n\
         between = [\"a\", \"b\"]\n{link}\n\n[flows.file]\nfrom = \"a\"\nto = \"b\"\nprotocol = \"tcp\"\n"
    )
}

fn outcome(dir: &Path, link: &str) -> Result<RunSummary, ScenarioError> {
    let source = dir.join("traced.toml");
    let scenario = Scenario::parse(&source.to_string_lossy(), &scenario(link))?;
    Ok(run(&scenario.run_spec(None, false)?, &mut Silent).expect("a run"))
}

/// What arrived in Mbit/s, and the smallest and the largest share of the line that it had.
fn goodput(summary: &RunSummary) -> f64 {
    summary.flows[0].delivered_bytes as f64 * 8.0 / 30e6
}

#[test]
fn a_flow_gets_what_a_trace_of_opportunities_gives() {
    let dir = tempfile::tempdir().expect("a directory");
    // 1,500 bytes each 2 ms: 6 Mbit/s, of which 1,448 bytes are payload.
    let times: String = (1..=500).map(|n| format!("{}\n", 2 * n)).collect();
    std::fs::write(dir.path().join("up.trace"), times).expect("written");
    let link = "forward = { trace = \"up.trace\" }\nqueue = \"60 kB\"\ndelay = \"20 ms\"\nreturn = { rate = \"1 Mbit/s\" }";
    let whole = goodput(&outcome(dir.path(), link).expect("a run"));
    assert!((5.6..5.8).contains(&whole), "{whole}");
    let half = "forward = { trace = { file = \"up.trace\", scale = 0.5 } }\nqueue = \"60 kB\"\ndelay = \"20 ms\"\nreturn = { rate = \"1 Mbit/s\" }";
    let half = goodput(&outcome(dir.path(), half).expect("a run"));
    assert!((2.7..2.95).contains(&half), "{half}");
}

#[test]
fn traces_that_come_with_the_program_can_be_replayed_both_ways() {
    let link = "queue = \"500 packets\"\nforward = { trace = { file = \"starlink-down\", start = \"30 s\" } }\n\
                return = { trace = \"starlink-up\" }";
    let summary = outcome(Path::new(""), link).expect("a run");
    assert!(goodput(&summary) > 20.0, "{}", goodput(&summary));
    assert!(summary.links.iter().any(|link| link.lost_blackout > 0), "outages at changes");
    for bentpipe_trace::Known { name, .. } in bentpipe_trace::known() {
        let link = format!("trace = \"{name}\"\nqueue = \"500 packets\"");
        assert!(goodput(&outcome(Path::new(""), &link).expect(name)) > 1.0, "{name}");
    }
}

#[test]
fn a_pair_of_files_has_the_rate_and_the_delay() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("rate"), "1\n").expect("written");
    std::fs::write(dir.path().join("delay"), "30\n").expect("written");
    let link = "trace = { file = \"rate\", delays = \"delay\" }\nqueue = \"64 kB\"";
    let first = outcome(dir.path(), link).expect("a run").flows[0].first_byte_after;
    // The SYN, its answer and the data: three times the delay.
    assert!(first.is_some_and(|seconds| (0.09..0.1).contains(&seconds)), "{first:?}");
}

#[test]
fn what_cannot_be_replayed_is_named_with_file_line_and_key() {
    let dir = tempfile::tempdir().expect("a directory");
    let write =
        |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("written");
    write("decreasing", "5\n4\n");
    write("truncated.csv", "time_s,rate_bps\n0,1e6\n1\n");
    write("negative.csv", "time_s,delay_s\n0,-1\n");
    write("empty", "");
    write("good", "1\n");
    write("delay.csv", "time_s,delay_s\n0,0.1\n");
    for (link, said) in [
        (
            "trace = \"decreasing\"",
            "line 7, `links.space.trace.file`: decreasing, line 2: 4 ms lies before",
        ),
        ("trace = \"truncated.csv\"", "truncated.csv, line 3: it is no CSV"),
        (
            "trace = \"negative.csv\"",
            "negative.csv, line 2, `delay_s`: `-1` is no number in 0..=60",
        ),
        ("trace = \"empty\"", "empty: it is empty"),
        ("trace = \"missing\"", "there come with the program starlink-down"),
        (
            "trace = { file = \"good\", delays = \"empty\" }",
            "`links.space.trace.delays`: empty: it is empty",
        ),
        ("trace = { file = \"good\", scale = -1 }", "good, `scale`: -1 does not lie in"),
        ("trace = { file = \"good\", start = \"1 s\" }", "good, `start`: it lasts 1 ms"),
        ("trace = { file = \"good\", loop = false }", "good, `loop`: "),
        ("trace = { file = \"good\", speed = 2 }", "unknown field `speed`"),
        ("trace = \"good\"\nrate = \"1 Mbit/s\"", "leave `rate` and `fades`"),
        ("trace = \"delay.csv\"\ndelay = \"1 s\"", "the trace has a delay"),
        ("trace = \"good\"\nqueue = \"red\"", "a queue needs a `rate` to wait for"),
        ("trace = 7", "the file of a trace"),
    ] {
        let error = outcome(dir.path(), link).expect_err(link).to_string();
        assert!(error.contains(said), "{link}: {error}");
    }
}

#[test]
fn a_trace_can_be_changed_on_the_command_line() {
    let text = scenario("trace = \"geo-rain\"\nqueue = \"1 MB\"");
    let scenario = Scenario::parse("traced.toml", &text).expect("a scenario");
    let change: Override = "links.space.trace=starlink-up".parse().expect("a change");
    let spec = scenario.with(&[change]).expect("changed").run_spec(None, false);
    assert!(spec.is_ok(), "{:?}", spec.err().map(|error| error.to_string()));
}
