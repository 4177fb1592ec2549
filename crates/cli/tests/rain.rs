//! Links in rain, over the real program.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

/// What `run --json` says.
fn run(args: &[&str]) -> Value {
    let mut command = cargo_bin_cmd!("bentpipe");
    let output = command.arg("run").args(args).arg("--json").assert().success();
    serde_json::from_slice(&output.get_output().stdout).expect("JSON")
}

fn delivered(run: &Value) -> u64 {
    run["flows"][0]["delivered_bytes"].as_u64().expect("a number")
}

#[test]
fn a_rainy_run_is_slower_than_a_clear_one() {
    let of = |part: &str| {
        let exceeded = format!("links.satellite.rain.exceeded={part}");
        delivered(&run(&["ka-rain", "--set", "duration=30 s", "--set", &exceeded]))
    };
    let (rainy, clear) = (of("0.1 %"), of("5 %"));
    assert!(rainy > 10_000_000 && 10 * rainy < 8 * clear, "{rainy} {clear}");
}

/// A scenario in the directory with a storm in a file beside it.
fn storm(dir: &Path) -> String {
    let text = "name = \"storm\"\nduration = \"60 s\"\nnodes = [\"a\", \"b\"]\n[links.space]\nbetween = [\"a\", \"b\"]\n\
                rate = \"5 Mbit/s\"\nqueue = \"100 kB\"\ndelay = \"50 ms\"\n\
                rain = { clear_sky = \"12 dB\", attenuation = { file = \"storm.csv\", loop = false } }\n\
                [flows.file]\nfrom = \"a\"\nto = \"b\"\nprotocol = \"tcp\"\nsize = \"10 MB\"\n";
    fs::write(dir.join("storm.toml"), text).expect("written");
    let storm = "time_s,attenuation_db\n0,0\n5,8\n8,20\n11,4\n15,0\n";
    fs::write(dir.join("storm.csv"), storm).expect("written");
    dir.join("storm.toml").to_str().expect("a path").to_owned()
}

#[test]
fn a_file_of_attenuation_takes_the_link_down_and_lets_it_come_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = run(&[&storm(dir.path())]);
    assert_eq!(run["flows"][0]["complete"], true, "{run}");
    let lost = |key: &str| -> u64 {
        let links = run["links"].as_array().expect("links");
        links.iter().filter_map(|link| link[key].as_u64()).sum()
    };
    assert!(lost("lost_blackout") > 0 && lost("lost_channel") > 0, "{run}");
}

#[test]
fn the_emulator_takes_a_scenario_with_rain_from_a_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut emulate = Command::new(env!("CARGO_BIN_EXE_bentpipe"))
        .args(["emulate", &storm(dir.path()), "--udp", "127.0.0.1:0=127.0.0.1:9"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = String::new();
    let errors = emulate.stderr.take().expect("a pipe");
    BufReader::new(errors).read_line(&mut said).expect("a line");
    emulate.kill().expect("it runs");
    emulate.wait().expect("it ends");
    assert!(said.contains(" leads to "), "{said}");
}
