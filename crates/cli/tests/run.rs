//! `bentpipe run`, end to end: the same command that people use, and what it prints and writes.

use std::fs;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use predicates::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

/// Runs over all kinds of links, each with what makes it short.
const RUNS: [&[&str]; 9] = [
    &["geo", "--set", "links.satellite.ber=1e-5", "--set", "flows.file.size=3 MB"],
    &["geo", "--set", "encapsulation=ip", "--set", "links.satellite.queue=20 packets"],
    &["handoff"],
    &["bit-corruption", "--set", "encapsulation=udp", "--set", "links.access.ber=1e-6"],
    &["leo", "--set", "encapsulation=ip", "--set", "links.space.loss=0.02"],
    &["connectivity", "--set", "flows.file.xstp.probing=false"],
    &["outage", "--set", "links.space.ber=1e-6"],
    &["scripted", "--set", "links.space.script=[{ kind = [\"data\"], nth = 9, late = \"1 s\" }]"],
    &["geo-clean", "--set", "duration=30 s", "--set", "links.satellite.return.ber=1e-4"],
];

const METRICS: [&str; 8] = [
    "connection_time",
    "effective_throughput",
    "retransmission_overhead",
    "forward_control_overhead",
    "reverse_control_overhead",
    "total_overhead",
    "total_overhead_without_headers",
    "throughput_overhead_ratio",
];

fn bentpipe(args: &[&str]) -> Command {
    let mut command = cargo_bin_cmd!("bentpipe");
    command.arg("run").args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    let output = bentpipe(args).assert().success().stderr("").get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[args, &["--json"]].concat())).expect("JSON")
}

#[test]
fn a_constellation_and_two_places_are_a_network_like_those_of_scenarios() {
    let places = ["--from", "Berkeley", "--to", "Boston"];
    let set = ["--set", "flows.file.size=200 kB"];
    let run = |profile: &str| json(&[&["--profile", profile], &places[..], &set].concat());
    let over = run("iridium");
    let named = json(&[&["iridium"], &set[..]].concat());
    assert_eq!(over["flows"][0]["complete"], true);
    let time = |run: &Value| run["flows"][0]["connection_time"].as_f64().expect("a time");
    assert_eq!(time(&over).to_bits(), time(&named).to_bits(), "the same places and links");

    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("mine.toml");
    let text = "name = \"mine\"\n\n[[shells]]\nlongitudes = [-95]\nelevation_mask = \"5 deg\"\n";
    fs::write(&path, text).expect("a file");
    let from_file = run(path.to_str().expect("a path"));
    assert_eq!(from_file["flows"][0]["complete"], true);
    assert_eq!(from_file["constellation"]["name"], "mine");
}

#[test]
fn a_profile_of_a_run_without_its_places_or_beside_a_scenario_is_refused() {
    let places = ["--from", "Oslo", "--to", "Rome"];
    for (options, said) in [
        (vec![], "<SCENARIO>"),
        (vec!["--profile", "iridium", "--from", "Oslo"], "--to"),
        ([&["--profile", "iridum"], &places[..]].concat(), "did you mean `iridium`?"),
        ([&["--profile", "starlink", "--from", "80,0"], &places[2..]].concat(), "ever comes above"),
        ([&["geo", "--profile", "iridium"], &places[..]].concat(), "cannot be used with"),
        ([&["geo"], &places[..]].concat(), "cannot be used with"),
    ] {
        let said = predicate::str::contains(said);
        bentpipe(&options).assert().code(2).stdout("").stderr(said);
    }
}

#[test]
fn the_text_tells_what_became_of_every_flow_and_link() {
    let text = stdout(&["geo", "--set", "flows.file.size=1 MB"]);
    for said in [
        "geo, seed 1: ",
        " simulated seconds, ",
        " packet hops\n",
        "flow file (xstp, stp): complete, every byte verified\n",
        "delivered, B                            1,000,000\n",
        "connection time, s",
        "effective throughput, bit/s",
        "total overhead, %",
        "throughput/overhead, bit/s per %",
        "probing cycles",
    ] {
        assert!(text.contains(said), "`{said}` is missing in\n{text}");
    }
    for ends in [["terrestrial", "server", "gateway"], ["satellite", "client", "gateway"]] {
        let row = text.lines().find(|line| line.split_whitespace().take(3).eq(ends));
        assert!(row.is_some(), "no row for {ends:?} in\n{text}");
    }
    assert!(text.lines().all(|line| line == line.trim_end()), "spaces at ends of lines");
}

#[test]
fn the_json_has_the_papers_metrics_and_counts_the_work() {
    let run = json(&["handoff", "--seed", "3"]);
    assert_eq!(run["scenario"], "handoff");
    assert_eq!((&run["seed"], &run["schema_version"]), (&Value::from(3), &Value::from(1)));
    for name in ["packet_hops", "events"] {
        assert!(run[name].as_u64().is_some_and(|n| n > 10_000), "{name}: {}", run[name]);
    }
    let flow = &run["flows"][0];
    let seconds = run["simulated_seconds"].as_f64().expect("a number");
    assert!(flow["connection_time"].as_f64().is_some_and(|t| 10.0 < t && t <= seconds));
    for name in METRICS {
        assert!(flow[name].as_f64().is_some_and(|x| x > 0.0), "{name}: {}", flow[name]);
    }
    assert_eq!((&flow["complete"], &flow["failure"]), (&Value::Bool(true), &Value::Null));
    assert_eq!(flow["delivered_bytes"], 10_000_000);
    assert_eq!(flow["source"]["payload_bytes"], 10_000_000);
    let links = run["links"].as_array().expect("the directions of the links");
    assert_eq!(links.len(), 4);
    let hops: u64 = links.iter().filter_map(|link| link["delivered"].as_u64()).sum();
    assert_eq!(run["packet_hops"], hops);
}

#[test]
fn the_same_scenario_and_seed_give_the_same_json_byte_for_byte() {
    for run in RUNS {
        let args = [run, &["--seed", "7", "--json"]].concat();
        assert_eq!(stdout(&args), stdout(&args), "{run:?}");
    }
}

#[test]
fn packets_of_real_bytes_give_the_same_json_byte_for_byte() {
    for run in RUNS {
        for seed in ["1", "2"] {
            let args = [run, &["--seed", seed, "--json"]].concat();
            let wire = stdout(&[&args[..], &["--wire"]].concat());
            assert!(wire == stdout(&args), "--wire changes {args:?}");
        }
    }
}

#[test]
fn another_seed_gives_another_run_wherever_there_is_chance() {
    let of = |seed: &str| json(&["geo", "--set", "links.satellite.ber=1e-5", "--seed", seed]);
    let (one, two) = (of("1"), of("2"));
    assert_ne!(one["flows"][0]["connection_time"], two["flows"][0]["connection_time"]);
    assert_ne!(one["links"][2]["corrupted"], two["links"][2]["corrupted"]);
    assert_eq!(one["flows"][0]["delivered_bytes"], two["flows"][0]["delivered_bytes"]);
}

#[test]
fn the_seed_of_the_scenario_counts_unless_the_command_line_gives_one() {
    let of = |args: &[&str]| stdout(&[&["handoff", "--json"], args].concat());
    assert_eq!(of(&["--set", "seed=5"]), of(&["--seed", "5"]));
    assert_eq!(of(&["--set", "seed=5", "--seed", "6"]), of(&["--seed", "6"]));
    assert_ne!(of(&["--seed", "5"]), of(&["--seed", "6"]));
}

#[test]
fn set_changes_what_is_run() {
    let plain = json(&["handoff"]);
    let changed = json(&["handoff", "--set", "flows.file.size=2 MB"]);
    assert_eq!(changed["flows"][0]["delivered_bytes"], 2_000_000);
    let off = json(&["handoff", "--set", "flows.file.xstp.probing=false"]);
    assert!(plain["flows"][0]["probing"]["cycles"].as_u64() > Some(0));
    assert!(off["flows"][0]["probing"]["cycles"].as_u64().unwrap_or(0) == 0);
    // What is valid only together may come in any order, and the last word counts.
    let delays = [
        "--set",
        "links.space.xdeldrop.good.delay_min=300ms",
        "--set",
        "links.space.xdeldrop.good.delay_max=\"400 ms\"",
        "--set",
        "flows.file.size=2 MB",
        "--set",
        "flows.file.size=1 MB",
    ];
    let slow = json(&[&["handoff"], &delays[..]].concat());
    assert_eq!(slow["flows"][0]["delivered_bytes"], 1_000_000);
    assert!(slow["flows"][0]["connection_time"].as_f64() > Some(3.0));
}

#[test]
fn frames_that_met_on_a_radio_channel_are_among_those_that_are_lost() {
    let run =
        ["packet-radio", "--set", "flows.file.size=1 B", "--set", "radios.vhf.rate=9600 bit/s"];
    let document = json(&run);
    let link = &document["links"][0];
    let [packets, delivered, collided] =
        ["packets", "delivered", "lost_collision"].map(|key| link[key].as_u64().expect("a count"));
    assert!(collided > 0 && packets == delivered + collided, "{link}");
    let output = bentpipe(&run).output().expect("it runs").stdout;
    let text = String::from_utf8(output).expect("text");
    let row = text.lines().find(|line| line.contains("air") && line.contains("satellite  ground"));
    let last = row.expect("the link").split_whitespace().last();
    assert_eq!(last, Some(&*collided.to_string()), "{text}");
}

#[test]
fn a_file_of_ones_own_runs_like_a_built_in_scenario() {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("my own.toml");
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/xstp/handoff.toml");
    fs::copy(shipped, &path).expect("a copy");
    assert_eq!(json(&[path.to_str().expect("a path")]), json(&["xstp/handoff"]));
}

#[test]
fn a_scenario_is_not_overwritten_nor_do_samples_and_packets_share_a_file() {
    let dir = TempDir::new().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    let text = include_str!("../../../scenarios/xstp/scripted.toml");
    fs::write(path("mine.toml"), text).expect("written");
    let refused = |args: &[&str]| {
        bentpipe(&[&[path("mine.toml").as_str()], args].concat())
            .assert()
            .code(2)
            .stderr(predicate::str::contains("the same file: name another one"));
        assert_eq!(fs::read_to_string(path("mine.toml")).expect("the scenario"), text);
    };
    refused(&["--samples", &path("mine.toml")]);
    refused(&["--pcap", &path("mine.toml")]);
    refused(&["--samples", &path("out"), "--pcap", &path("out")]);
}

#[test]
fn samples_are_a_table_over_time_that_ends_with_the_whole_file() {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("samples.csv");
    let file = path.to_str().expect("a path");
    for (scenario, set, every, size) in [
        ("handoff", "flows.file.size=10 MB", 0.1, "10000000"),
        ("geo", "sample_every=\"250 ms\"", 0.25, "30000000"),
        ("scripted", "sample_every=\"3 s\"", 3.0, "1000000"),
    ] {
        let plain = stdout(&[scenario, "--set", set, "--json"]);
        let sampled = stdout(&[scenario, "--set", set, "--json", "--samples", file]);
        assert_eq!(plain, sampled, "looking at {scenario} changes it");
        let mut reader = csv::Reader::from_path(&path).expect("a CSV file");
        let header: Vec<_> = reader.headers().expect("a header").iter().collect();
        let names = "time_s,flow,cwnd_bytes,ssthresh_bytes,srtt_s,in_flight_bytes,delivered_bytes,\
                     phase,activity,route_delay_s,limited_by";
        assert_eq!(header.join(","), names);
        let rows: Vec<_> = reader.records().map(|row| row.expect("a whole row")).collect();
        let number = |row: &csv::StringRecord, n: usize| row[n].parse::<f64>().expect("a number");
        for (n, row) in rows.iter().enumerate() {
            assert!((number(row, 0) - every * n as f64).abs() < 1e-9, "row {n} is {row:?}");
            assert_eq!(&row[1], "file");
        }
        assert!(rows.windows(2).all(|pair| number(&pair[0], 6) <= number(&pair[1], 6)));
        let last = rows.last().expect("rows");
        assert_eq!((&last[6], &last[5]), (size, "0"), "{scenario} ends with {last:?}");
    }
}

#[test]
fn a_picture_says_what_was_run_over_what() {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("geo.svg");
    let svg = path.to_str().expect("a path");
    stdout(&["geo", "--set", "flows.file.size=1 MB", "--seed", "3", "--svg", svg]);
    let drawn = fs::read_to_string(&path).expect("it was written");
    let told = "one run, seed 3: file by xstp (stp); satellite carries 10 Mbit/s";
    assert!(drawn.contains(told), "{drawn}");
}

#[test]
fn the_text_names_the_files_that_were_written() {
    let dir = TempDir::new().expect("a directory");
    let (csv, pcap) = (dir.path().join("a.csv"), dir.path().join("a.pcapng"));
    let text = stdout(&[
        "scripted",
        "--samples",
        csv.to_str().expect("a path"),
        "--pcap",
        pcap.to_str().expect("a path"),
    ]);
    for path in [csv, pcap] {
        assert!(text.contains(&format!("wrote {}\n", path.display())), "{text}");
        assert!(fs::metadata(path).expect("the file").len() > 1000);
    }
}

#[test]
fn a_file_that_can_not_be_written_is_named_and_exits_with_1() {
    let dir = TempDir::new().expect("a directory");
    for (option, name) in [("--samples", "no/such/dir/a.csv"), ("--pcap", "no/such/dir/a.pcapng")] {
        let path = dir.path().join(name);
        bentpipe(&["scripted", option, path.to_str().expect("a path")])
            .assert()
            .code(1)
            .stdout("")
            .stderr(predicate::str::contains(name).and(predicate::str::contains("cannot write")));
        assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 0);
    }
}

#[test]
fn a_transfer_that_does_not_end_in_time_is_not_complete() {
    let args = ["geo", "--set", "duration=5 s"];
    let run = json(&args);
    assert_eq!(run["simulated_seconds"], 5.0);
    assert_eq!(run["flows"][0]["complete"], false);
    assert_eq!(run["flows"][0]["connection_time"], Value::Null);
    assert!(stdout(&args).contains("flow file (xstp, stp): not complete\n"));
}

#[test]
fn the_text_says_what_held_a_flow_back_and_what_the_path_holds() {
    let text = stdout(&["geo", "--set", "links.satellite.ber=0", "--set", "duration=\"30 s\""]);
    assert!(text.contains("limited by: "), "{text}");
    let small = [
        "--set",
        "links.satellite.ber=0",
        "--set",
        "flows.file.protocol=tcp",
        "--set",
        "flows.file.tcp.receiver.rcv_buf=\"64 kB\"",
        "--set",
        "duration=\"30 s\"",
    ];
    let text = stdout(&[&["geo"], &small[..]].concat());
    assert!(text.contains("rcv_buf is 64 kB, the path holds 7"), "{text}");
}
