//! `bentpipe trace`, and a comparison over what was measured.

use std::fs;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use predicates::prelude::*;

fn bentpipe(args: &[&str]) -> Command {
    let mut command = cargo_bin_cmd!("bentpipe");
    command.args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    let output = bentpipe(args).assert().success().get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

const PING: &str = "64 bytes from 1.1.1.1: icmp_seq=1 ttl=57 time=40.0 ms\n\
                    64 bytes from 1.1.1.1: icmp_seq=2 ttl=57 time=44.0 ms\n\
                    64 bytes from 1.1.1.1: icmp_seq=4 ttl=57 time=42.0 ms\n";
const IPERF3: &str = "{\"intervals\": [\
    {\"sum\": {\"start\": 0, \"end\": 2, \"bits_per_second\": 20e6}},\
    {\"sum\": {\"start\": 2, \"end\": 4, \"bits_per_second\": 5e6}}]}";

#[test]
fn a_ping_and_an_iperf3_become_a_link_over_which_controllers_are_compared() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    fs::write(path("ping.txt"), PING).expect("written");
    fs::write(path("down.json"), IPERF3).expect("written");
    let sources = [format!("ping:{}", path("ping.txt")), format!("iperf3:{}", path("down.json"))];
    let out = path("down.csv");
    bentpipe(&["trace", "import", &sources[0], &sources[1], "--out", &out])
        .assert()
        .success()
        .stdout(format!("wrote {out}\n"));
    let text = fs::read_to_string(&out).expect("the trace");
    assert_eq!(
        text,
        "time_s,rate_bps,delay_s,loss\n0,20000000,0.02,0.25\n1,,0.022,\n2,5000000,,\n3,,0.021,\n"
    );
    let info = stdout(&["trace", "info", &out]);
    assert!(
        info.contains("rate, Mbit/s") && info.contains("20.00") && info.contains("loss: 25.000 %"),
        "{info}"
    );
    let sets = [format!("links.space.trace={out}"), "links.space.queue=200 kB".to_owned()];
    let scenario = path("traced.toml");
    fs::write(
        &scenario,
        "name = \"traced\"\nduration = \"20 s\"\nnodes = [\"a\", \"b\"]\n[links.space]\nbetween = [\"a\", \"b\"]\n\
         [flows.file]\nfrom = \"a\"\nto = \"b\"\nprotocol = \"tcp\"\n",
    )
    .expect("written");
    let mut args = vec![
        "compare",
        &scenario,
        "--variants",
        "tcp-cubic,tcp-bbr",
        "--format",
        "json",
        "--reps",
        "2",
    ];
    sets.iter().for_each(|set| args.extend(["--set", set]));
    let compared: serde_json::Value = serde_json::from_str(&stdout(&args)).expect("JSON");
    assert_eq!(compared["rows"].as_array().map(Vec::len), Some(2), "{compared}");
    let line = compared["rows"][0]["utilisation"]["mean"].as_f64();
    assert!(line.is_some_and(|share| (0.01..=1.0).contains(&share)), "{compared}");
}

#[test]
fn traces_that_come_with_the_program_show_their_slots() {
    let info: serde_json::Value =
        serde_json::from_str(&stdout(&["trace", "info", "starlink-down", "--json"])).expect("JSON");
    assert_eq!(info["slots"]["period_s"], 15, "{info}");
    assert_eq!(info["slots"]["first_s"], 12, "{info}");
    assert_eq!(info["seconds"], 300.0);
    assert!(stdout(&["trace", "info", "geo-rain"]).contains('█'));
}

#[test]
fn a_trace_is_the_same_as_csv_and_as_parquet() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    let (table, again) = (path("down.parquet"), path("again.csv"));
    let csv = path("down.csv");
    stdout(&[
        "trace",
        "from-orbit",
        "iridium",
        "--from",
        "Oslo",
        "--to",
        "Rome",
        "--duration",
        "10 min",
        "--step",
        "7 s",
        "--out",
        &csv,
    ]);
    stdout(&["trace", "import", &format!("trace:{csv}"), "--out", &table]);
    assert!(fs::read(&table).expect("a file").starts_with(b"PAR1"));
    stdout(&["trace", "import", &format!("trace:{table}"), "--out", &again]);
    let [one, other] = [&csv, &again].map(|file| fs::read_to_string(file).expect("a file"));
    assert_eq!(one, other);
    let told = |file: &str| stdout(&["trace", "info", file, "--json"]);
    assert_eq!(told(&csv), told(&table));
    let scenario = path("s.toml");
    let link = "between = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\nqueue = \"20 packets\"\ntrace = \"down.parquet\"";
    let text = format!(
        "name = \"s\"\nduration = \"1 min\"\nnodes = [\"a\", \"b\"]\n[links.l]\n{link}\n[flows.f]\nfrom = \"a\"\nto = \"b\"\nprotocol = \"tcp\"\nsize = \"100 kB\"\n"
    );
    fs::write(&scenario, text).expect("written");
    assert!(stdout(&["run", &scenario]).contains("100"));
}

#[test]
fn the_delay_over_satellites_becomes_a_trace() {
    let text = stdout(&[
        "trace",
        "from-orbit",
        "starlink",
        "--from",
        "London",
        "--to",
        "Boston",
        "--duration",
        "30 s",
    ]);
    assert!(text.starts_with("time_s,delay_s\n0,0.0"), "{text}");
    assert!(text.lines().count() > 200);
}

#[test]
fn what_was_measured_is_not_overwritten_by_what_is_made_of_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    fs::write(path("ping.txt"), PING).expect("written");
    fs::hard_link(path("ping.txt"), path("twin.csv")).expect("linked");
    std::os::unix::fs::symlink("ping.txt", path("link.csv")).expect("linked");
    let source = format!("ping:{}", path("ping.txt"));
    for out in ["ping.txt", "twin.csv", "link.csv"] {
        bentpipe(&["trace", "import", &source, "--out", &path(out)])
            .assert()
            .code(2)
            .stderr(predicate::str::contains(format!("{out}: the command uses")));
        assert_eq!(fs::read_to_string(path("ping.txt")).expect("the file"), PING);
    }
    bentpipe(&["trace", "import", &source, "--out", "/dev/null"]).assert().success();
}

#[test]
fn what_is_no_trace_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("bad.csv").to_str().expect("a path").to_owned();
    fs::write(&path, "time_s,loss\n0,0\n0,1\n").expect("written");
    let said = |text: &str| predicate::str::contains(text.to_owned());
    bentpipe(&["trace", "info", &path])
        .assert()
        .code(2)
        .stderr(said("bad.csv, line 3, `time_s`: 0 s is not later"));
    bentpipe(&["trace", "info", "nowhere"]).assert().code(2).stderr(said("starlink-down"));
    bentpipe(&["trace", "import", "ping.txt"]).assert().code(2).stderr(said("ping:ping.txt"));
    bentpipe(&["trace", "import", "pong:x"])
        .assert()
        .code(2)
        .stderr(said("`pong` is none of ping"));
    let never = ["trace", "from-orbit", "geo:0", "--from", "London", "--to", "Sydney"];
    bentpipe(&never).assert().code(2).stderr(said("comes above"));
}
