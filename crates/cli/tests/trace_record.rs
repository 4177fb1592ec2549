//! `bentpipe trace record` over the loopback of this host.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

fn bentpipe(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A responder that ends with the test, and where it listens.
struct Responder(Child, String);

impl Responder {
    fn start(options: &[&str]) -> Self {
        let mut command = bentpipe(&["trace", "respond", "--listen", "127.0.0.1:0"]);
        let mut child = command.args(options).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Self(child, address)
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn record(to: &str, options: &[&str]) -> Output {
    bentpipe(&["trace", "record", to]).args(options).output().expect("it runs")
}

#[test]
fn a_recording_with_loads_is_a_trace_with_a_rate_each_way() {
    let responder = Responder::start(&[]);
    let dir = tempfile::tempdir().expect("a directory");
    for way in ["up", "down"] {
        let out = dir.path().join(way).to_str().expect("a path").to_owned();
        let loads = ["--load-up", "8 Mbit/s", "--load-down", "8 Mbit/s"];
        let rest = ["--duration", "600 ms", "--way", way, "--out", &out];
        let output = record(&responder.1, &[&loads[..], &rest].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), format!("wrote {out}\n"));
        let said = text(&output.stderr);
        assert!(said.contains("600 ms from its first answer on; up at most "), "{said}");
        assert!(said.contains(" probes were answered; "), "{said}");
        let trace = fs::read_to_string(&out).expect("the trace");
        assert!(trace.starts_with("time_s,rate_bps,delay_s"), "{trace}");
    }
}

#[test]
fn a_recording_that_is_interrupted_is_what_was_measured_until_then() {
    let responder = Responder::start(&[]);
    let mut child = bentpipe(&["trace", "record", &responder.1]).spawn().expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    assert!(line.contains("120 s from its first answer on"), "{line}");
    line.clear();
    said.read_line(&mut line).expect("a line");
    assert!(line.contains("answers: measuring"), "{line}");
    kill_process(Pid::from_child(&child), Signal::INT).expect("a process");
    let mut rest = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let first = rest.next().expect("a line").expect("text");
    assert!(first.starts_with("time_s,delay_s"), "{first}");
    assert!(rest.count() > 0);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn what_cannot_be_recorded_is_named_before_anything_is_sent() {
    let responder = Responder::start(&["--max-rate", "1 Mbit/s"]);
    let to = responder.1.as_str();
    let dir = tempfile::tempdir().expect("a directory");
    let kept = dir.path().join("kept.csv").to_str().expect("a path").to_owned();
    fs::write(&kept, "what was measured last time").expect("written");
    for (to, options, code, said) in [
        (
            to,
            &["--load-down", "2 Mbit/s"][..],
            1,
            "--load-down: the responder sends at no more than 1 Mbit/s",
        ),
        (to, &["--load-down", "50 Mbit/s"], 2, "--limit: 100000000 B is too little"),
        (to, &["--interval", "0.5 ms"], 2, "--interval: 500 us is not in 1 ms to 500 ms"),
        ("127.0.0.1", &["--load-up", "1 Mbit/s"], 2, "write HOST:PORT"),
        (to, &["--only-rate"], 2, "--only-rate: without a load there is no rate: add --load-down"),
        ("127.0.0.1:1", &[], 1, "nobody listens there: start `bentpipe trace respond`"),
    ] {
        let output = record(to, &[options, &["--out", &kept]].concat());
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    }
    let new = dir.path().join("new.csv");
    let output = record("127.0.0.1:1", &["--out", new.to_str().expect("a path")]);
    assert!(!output.status.success() && !new.exists(), "nor does it leave an empty one");
    let text = fs::read_to_string(&kept).expect("the file");
    assert_eq!(text, "what was measured last time", "a recording that fails takes no other");
}

#[test]
fn a_host_that_echoes_needs_no_responder() {
    for to in ["127.0.0.1", "::1"] {
        let output = record(to, &["--duration", "300 ms"]);
        let said = text(&output.stderr);
        if said.contains("ping_group_range") || said.contains("Cannot assign requested address") {
            eprintln!("SKIPPED: {said}");
            continue;
        }
        assert!(output.status.success(), "{said}");
        assert!(said.contains(" probes were answered"), "{said}");
        assert!(text(&output.stdout).starts_with("time_s,delay_s\n0,0.0"), "{said}");
    }
}

#[test]
fn the_rate_alone_goes_with_what_a_recording_without_load_tells() {
    let responder = Responder::start(&[]);
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("rate.csv").to_str().expect("a path").to_owned();
    let options = ["--load-down", "4 Mbit/s", "--only-rate", "--duration", "400 ms", "--out", &out];
    let output = record(&responder.1, &options);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let trace = fs::read_to_string(&out).expect("the trace");
    assert!(trace.starts_with("time_s,rate_bps\n0,"), "{trace}");
}
