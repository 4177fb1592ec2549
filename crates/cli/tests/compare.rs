//! `bentpipe compare`, end to end.

use std::fs;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use predicates::prelude::*;
use serde_json::Value;

/// Two files at once over 2 Mbit/s and 100 ms, with losses.
const SCENARIO: &str = r#"
name = "two"
duration = "20 s"
nodes = ["a", "b", "c"]

[links.wired]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "10 ms"

[links.space]
between = ["b", "c"]
rate = "2 Mbit/s"
queue = "40 packets"
delay = "50 ms"
loss = 0.002

[flows.one]
from = "a"
to = "c"

[flows.two]
from = "a"
to = "c"
start = "100 ms"
"#;

fn compare(args: &[&str]) -> Command {
    let mut command = cargo_bin_cmd!("bentpipe");
    command.arg("compare").args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    let output = compare(args).assert().success().stderr("").get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

fn in_file(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("two.toml");
    fs::write(&path, text).expect("a file");
    let path = path.to_str().expect("a path").to_owned();
    (dir, path)
}

#[test]
fn variants_are_ranked_by_goodput_with_intervals_fairness_and_delay() {
    let (dir, path) = in_file(SCENARIO);
    let svg = dir.path().join("ranking.svg");
    let names = "tcp-tahoe,tcp-sack,sctp,xstp+split,tcp-newreno+snoop";
    let files = ["--svg", svg.to_str().expect("a path")];
    let args =
        [&[&*path, "--variants", names, "--reps", "3", "--format", "json"][..], &files].concat();
    let document: Value = serde_json::from_str(&stdout(&args)).expect("JSON");
    assert_eq!(document["flows"], serde_json::json!(["one", "two"]));
    let rows = document["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 5);
    let goodput = |row: &Value| row["goodput"]["mean"].as_f64().expect("a goodput");
    for (place, row) in rows.iter().enumerate() {
        assert_eq!(
            (row["rank"].as_u64(), row["goodput"]["n"].as_u64()),
            (Some(place as u64 + 1), Some(3))
        );
        assert!((0.5..=1.0).contains(&row["fairness"]["mean"].as_f64().expect("an index")));
        assert!(row["queueing_delay"]["mean"].as_f64().expect("a delay") > 0.0);
        assert!(row["overhead"]["mean"].as_f64().expect("an overhead") > 2.0);
        assert!(goodput(row) < 2e6 && goodput(row) <= goodput(&rows[place.saturating_sub(1)]));
    }
    assert_eq!(rows[0]["to_best"]["mean"], 0.0);
    let table = stdout(&[&path, "--variants", names, "--reps", "3", "--format", "csv"]);
    assert_eq!(table.lines().count(), 6);
    assert!(table.starts_with("rank,variant,goodput_bps,goodput_bps_ci95,"));
    let picture = fs::read_to_string(svg).expect("a picture");
    let picture = roxmltree::Document::parse(&picture).expect("SVG");
    let texts: Vec<_> =
        picture.descendants().filter_map(|node| node.text()).map(str::trim).collect();
    for name in names.split(',') {
        assert!(texts.contains(&name), "{name} is not in {texts:?}");
    }
}

#[test]
fn the_ranking_is_the_same_for_every_number_of_threads() {
    let (_dir, path) = in_file(SCENARIO);
    let args = [&*path, "--variants", "tcp-sack,xstp-probing", "--reps", "2"];
    let one = stdout(&[&args[..], &["--jobs", "1"]].concat());
    assert_eq!(one, stdout(&[&args[..], &["--jobs", "3"]].concat()));
    assert!(one.contains("two, flow one, two") && one.contains("fairness"), "{one}");
}

#[test]
fn the_overhead_of_a_split_connection_is_that_of_the_leg_with_the_bit_errors() {
    // Copies of everything outstanding for each loss, and all losses behind the proxy.
    let (_dir, path) = in_file(SCENARIO);
    let names = "tcp-bulk-repeat,tcp-bulk-repeat+split";
    let args = [
        &path,
        "--variants",
        names,
        "--reps",
        "2",
        "--format",
        "json",
        "--set",
        "links.space.ber=1e-5",
    ];
    let document: Value = serde_json::from_str(&stdout(&args)).expect("JSON");
    let rows = document["rows"].as_array().expect("rows");
    for row in rows {
        let overhead = row["overhead"]["mean"].as_f64().expect("an overhead");
        assert!(overhead > 20.0, "{}: {overhead}", row["variant"]);
    }
}

#[test]
fn what_people_type_is_taken() {
    let (_dir, path) = in_file(SCENARIO);
    let sets = ["--set", "links.space.loss=1%", "--set", "links.space.rate=2 Mbps"];
    let args = [&path, "--variants", "bbr, cubic", "--reps", "1", "--format", "json"];
    let found: Value = serde_json::from_str(&stdout(&[&args[..], &sets].concat())).expect("JSON");
    let mut names: Vec<_> =
        found["rows"].as_array().expect("rows").iter().map(|row| row["variant"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, [Some("tcp-bbr"), Some("tcp-cubic")]);
    let percent = ["--set", "links.space.loss=101 %", "--variants", "bbr"];
    let said = predicate::str::contains("`101 %` is not a share");
    compare(&[&[path.as_str()], &percent[..]].concat()).assert().code(2).stderr(said);
}

#[test]
fn a_table_fits_the_terminal_and_says_what_it_leaves_out() {
    let (_dir, path) = in_file(SCENARIO);
    let args = [&path, "--variants", "tcp-cubic+gateways-rate,bbr,xstp", "--reps", "2"];
    let table = |columns: &str| {
        let mut command = compare(&args);
        let output = command.env("COLUMNS", columns).assert().success().get_output().stdout.clone();
        String::from_utf8(output).expect("text")
    };
    let narrow = table("80");
    let frame = |text: &str| {
        text.lines().filter(|line| line.contains('│')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(frame(&narrow).iter().all(|line| line.chars().count() <= 80), "{narrow}");
    assert!(narrow.contains("goodput, Mbit/s") && narrow.contains("No room for: "), "{narrow}");
    assert!(!table("400").contains("No room for: "));
    let markdown = stdout(&[&args[..], &["--format", "markdown"]].concat());
    assert!(
        markdown.lines().any(|line| line.starts_with("| ") && line.contains("overhead, %")),
        "{markdown}"
    );
    for (gone, advice) in [("--json", "--format json"), ("--csv", "--format csv > FILE.csv")] {
        let said = predicate::str::contains(advice);
        compare(&[&path, gone]).assert().code(2).stdout("").stderr(said);
    }
}

#[test]
fn one_flow_alone_has_no_fairness_and_the_others_stay_what_they_are() {
    let (_dir, path) = in_file(SCENARIO);
    let text = stdout(&[&path, "--variants", "tcp-sack", "--reps", "1", "--flow", "two"]);
    assert!(text.contains("flow two") && !text.contains("fairness"), "{text}");
}

#[test]
fn what_can_not_be_is_refused_and_the_right_name_is_offered() {
    let (_dir, path) = in_file(SCENARIO);
    let said = |text: &'static str| predicate::str::contains(text);
    for (args, hint) in [
        (vec!["--variants", "tcp-sac"], "`tcp-sack`"),
        (vec!["--variants", "tcp-sack+snup"], "`+snoop`"),
        (vec!["--flow", "three"], "there is no flow `three`"),
        (vec!["--set", "links.space.lost=1"], "`loss`"),
    ] {
        let args = [&[&*path, "--reps", "1"][..], &args].concat();
        compare(&args).assert().code(2).stdout("").stderr(said(hint));
    }
    let proxy = "[proxies.gateway]\nnode = \"b\"\n[flows.one]\nthrough = [\"gateway\"]";
    let (_dir, path) = in_file(&SCENARIO.replace("[flows.one]", proxy));
    let args = [&*path, "--variants", "tcp-sack", "--reps", "1"];
    compare(&args).assert().code(2).stderr(said("set flows.one.through=[]"));
    let unsplit = [&args[..], &["--set", "flows.one.through=[]"]].concat();
    compare(&unsplit).assert().success();
    let direct = SCENARIO.replace("from = \"a\"", "from = \"b\"");
    let (_dir, path) = in_file(&direct);
    let args = [&*path, "--variants", "tcp-sack+snoop", "--reps", "1"];
    compare(&args).assert().code(2).stderr(said("a node between"));
}

#[test]
fn what_is_deployed_is_compared_where_nothing_is_named_also_where_a_scenario_has_no_gateways() {
    let args = ["geo", "--reps", "1", "--format", "json", "--set", "flows.file.size=100 kB"];
    let found: Value = serde_json::from_str(&stdout(&args)).expect("JSON");
    let rows = found["rows"].as_array().expect("rows");
    let names: Vec<_> = rows.iter().filter_map(|row| row["variant"].as_str()).collect();
    for deployed in ["bentpipe", "bentpipe-rate", "tcp-cubic+gateways", "tcp-cubic+gateways-rate"] {
        assert!(names.contains(&deployed), "{deployed} is not among {names:?}");
    }
}

#[test]
fn a_scenario_without_chance_runs_once_and_has_no_intervals() {
    let (_dir, path) = in_file(&SCENARIO.replace("loss = 0.002\n", ""));
    let args = [&path, "--variants", "tcp-cubic,xstp", "--reps", "5"];
    let text = stdout(&args);
    assert!(text.contains("one run each: there is no chance in it"), "{text}");
    assert!(!text.contains('±'), "{text}");
    let json: Value =
        serde_json::from_str(&stdout(&[&args[..], &["--format", "json"]].concat())).expect("JSON");
    assert_eq!((&json["replications"], &json["chance"]), (&Value::from(1), &Value::from(false)));
    assert!(json["rows"][0]["goodput"]["ci95"].is_null(), "{json}");
    let (_dir, path) = in_file(SCENARIO);
    let json = stdout(&[&path, "--variants", "tcp-cubic", "--reps", "3", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["replications"], &json["chance"]), (&Value::from(3), &Value::from(true)));
    assert!(json["rows"][0]["goodput"]["ci95"].is_number(), "{json}");
}

#[test]
fn what_held_back_a_flow_and_how_full_the_line_was_is_said() {
    let (_dir, path) = in_file(&SCENARIO.replace("loss = 0.002\n", ""));
    let row = |sets: &[&str]| -> Value {
        let args = [&[path.as_str(), "--variants", "tcp-cubic", "--format", "json"], sets].concat();
        let json: Value = serde_json::from_str(&stdout(&args)).expect("JSON");
        json["rows"][0].clone()
    };
    let free = row(&[]);
    assert!(free["limited_by"]["cwnd"].as_f64().is_some_and(|share| share > 0.9), "{free}");
    let full = free["utilisation"]["mean"].as_f64();
    assert!(full.is_some_and(|share| (0.9..=1.0).contains(&share)), "{free}");
    let small = [
        "--set",
        "flows.one.tcp.receiver.rcv_buf=4 kB",
        "--set",
        "flows.two.tcp.receiver.rcv_buf=4 kB",
    ];
    let held =
        row(&[&["--set", "flows.one.protocol=tcp", "--set", "flows.two.protocol=tcp"], &small[..]]
            .concat());
    assert!(held["limited_by"]["rcv_buf"].as_f64().is_some_and(|share| share > 0.8), "{held}");
    assert!(held["utilisation"]["mean"].as_f64().is_some_and(|share| share < 0.5), "{held}");
}

#[test]
fn no_result_is_written_over_the_scenario_or_over_a_file_that_it_names() {
    let (dir, path) = in_file(&SCENARIO.replace("rate = \"2 Mbit/s\"", "trace = \"rate.csv\""));
    let rate = dir.path().join("rate.csv");
    let rate = rate.to_str().expect("a path");
    fs::write(rate, "time_s,rate_bps\n0,2000000\n").expect("a file");
    let before = [&path, rate].map(|file| fs::read_to_string(file).expect("a file"));
    let taken = predicate::str::contains("the same file: name another one");
    for file in [&path, rate] {
        compare(&[&path, "--variants", "tcp-sack", "--svg", file])
            .assert()
            .code(2)
            .stderr(taken.clone());
        for flag in ["--samples", "--pcap"] {
            let mut run = cargo_bin_cmd!("bentpipe");
            run.args(["run", &path, flag, file]).assert().code(2).stderr(taken.clone());
        }
    }
    assert_eq!([&path, rate].map(|file| fs::read_to_string(file).expect("a file")), before);
}
