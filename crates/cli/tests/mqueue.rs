//! Source, router and sink as three processes, joined by message queues.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use nix::errno::Errno;
use nix::mqueue::{MQ_OFlag, mq_close, mq_open, mq_send};
use nix::sys::stat::Mode;
use serde_json::Value;
use tempfile::TempDir;

/// A channel with short delays that is bad half of the time, and loses a fifth of the packets then.
const SCENARIO: &str = r#"
name = "channel"
nodes = ["source", "router", "sink"]
seed = 1

[links.access]
between = ["source", "router"]

[links.space]
between = ["router", "sink"]

[links.space.xdeldrop]
good = { mean = "100 ms", drop = 0.0, delay_min = "5 ms", delay_max = "10 ms" }
bad = { mean = "100 ms", drop = 0.2, delay_min = "5 ms", delay_max = "10 ms" }

[flows.file]
from = "source"
to = "sink"
size = "1 MB"
"#;

fn bentpipe(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.args(args);
    command
}

/// Three nodes that no other test has, in rising order.
fn nodes() -> [String; 3] {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = (std::process::id() % 1000) as u16 * 16 + 3 * NEXT.fetch_add(1, Ordering::Relaxed);
    [base, base + 1, base + 2].map(|node| node.to_string())
}

/// A program in the background that ends with the test.
struct Background {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Background {
    fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        Self { child, stdout, stderr }
    }

    /// Ends it as a user would, and returns its exit code and the rest of its output.
    fn stop(mut self, signal: &str) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("it runs").success());
        let mut output = String::new();
        self.stdout.read_to_string(&mut output).expect("text");
        (self.child.wait().expect("it ends").code(), output)
    }
}

fn wait_for(lines: &mut impl BufRead, wanted: &str) {
    let mut lines = lines.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains(wanted)), "it ended without `{wanted}`");
}

/// A sink that listens.
fn sink(node: &str, route: &str, dir: &TempDir) -> Background {
    let inbox = dir.path().join("inbox");
    fs::create_dir_all(&inbox).expect("made");
    let mut command = bentpipe(&["recv", "--via", "mqueue", "--node", node, "--route", route]);
    let mut sink = Background::start(command.arg("--dir").arg(inbox));
    wait_for(&mut sink.stdout, &format!("listening as node {node}"));
    sink
}

fn file(dir: &TempDir, len: u32) -> Vec<u8> {
    let bytes: Vec<u8> = (0..len).map(|n| ((n * 31 / 7) ^ (n >> 9)) as u8).collect();
    fs::write(dir.path().join("file"), &bytes).expect("written");
    bytes
}

fn send(dir: &TempDir, from: &str, to: &str, route: &str) -> Output {
    let path = dir.path().join("file");
    let mut command = bentpipe(&["send", "--via", "mqueue", "--node", from, "--route", route]);
    command.arg(path).arg(to).output().expect("it runs")
}

fn put(node: &str, message: &[u8]) {
    let flags = MQ_OFlag::O_WRONLY;
    let queue = mq_open(format!("/xstp_{node}").as_str(), flags, Mode::empty(), None);
    let queue = queue.expect("a queue");
    mq_send(&queue, message, 0).expect("put");
    mq_close(queue).expect("closed");
}

fn is_gone(node: &str) -> bool {
    let name = format!("/xstp_{node}");
    match mq_open(name.as_str(), MQ_OFlag::O_RDONLY, Mode::empty(), None) {
        Err(Errno::ENOENT) => true,
        Err(error) => panic!("{name}: {error}"),
        Ok(queue) => {
            mq_close(queue).expect("closed");
            false
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_file_arrives_through_a_router_that_drops_segments_and_no_queue_is_left() {
    let dir = TempDir::new().expect("a directory");
    let [source, router, destination] = nodes();
    let scenario = dir.path().join("channel.toml");
    fs::write(&scenario, SCENARIO).expect("written");
    let mut command = bentpipe(&["emulate", "--via", "mqueue", "--json", "--node", &router]);
    for node in [&source, &destination] {
        command.arg("--route").arg(format!("{node}={node}"));
    }
    let mut link = Background::start(command.arg(&scenario));
    wait_for(&mut link.stderr, "nothing is encrypted");
    wait_for(&mut link.stderr, "passes frames over access, space");
    let receiver = sink(&destination, &format!("{source}={router}"), &dir);
    put(&router, b"junk");
    put(&router, &[0; 100]);
    put(&destination, b"");
    let bytes = file(&dir, 400_000);
    let sent = send(&dir, &source, &destination, &format!("{destination}={router}"));
    assert!(sent.status.success(), "{}{}", text(&sent.stdout), text(&sent.stderr));
    assert!(text(&sent.stdout).starts_with("1 of 1 entries, 400.00 kB sent"));
    assert!(!text(&sent.stdout).contains(" 0.00 % retransmitted"), "{}", text(&sent.stdout));
    assert!(text(&sent.stderr).contains("nothing is encrypted"));
    assert_eq!(fs::read(dir.path().join("inbox/file")).expect("read"), bytes);
    assert!(is_gone(&source) && !is_gone(&router) && !is_gone(&destination));
    let (code, output) = link.stop("-TERM");
    assert_eq!(code, Some(0));
    let report: Value = serde_json::from_str(&output).expect("JSON");
    let count = |part: &str, key: &str| report[part][key].as_u64().expect("a number");
    assert_eq!(count("frames", "malformed"), 2);
    assert_eq!(
        count("frames", "received"),
        count("forward", "packets") + count("return", "packets")
    );
    for direction in ["forward", "return"] {
        assert!(count(direction, "lost") > 0, "{report}");
    }
    assert!(count("forward", "bytes") > 400_000);
    assert_eq!(receiver.stop("-INT").0, Some(0));
    assert!(is_gone(&router) && is_gone(&destination));
}

#[test]
fn what_a_source_that_was_killed_left_is_taken_up_by_the_next_one_of_that_number() {
    let dir = TempDir::new().expect("a directory");
    let [source, _, destination] = nodes();
    let direct = format!("{source}={source}");
    let receiver = sink(&destination, &direct, &dir);
    let bytes = file(&dir, 60_000_000);
    let route = format!("{destination}={destination}");
    let mut command = bentpipe(&["send", "--via", "mqueue", "--node", &source, "--route", &route]);
    command.arg(dir.path().join("file")).arg(&destination);
    let mut killed = Background::start(&mut command);
    let part = dir.path().join("inbox/.file.bentpipe-part");
    while fs::metadata(&part).map_or(0, |part| part.len()) < 1_000_000 {
        assert_eq!(killed.child.try_wait().expect("a child"), None, "it was too quick");
    }
    // The receiver is told nothing, and holds the file for the idle timeout.
    drop(killed);
    let sent = send(&dir, &source, &destination, &route);
    assert!(sent.status.success(), "{}{}", text(&sent.stdout), text(&sent.stderr));
    assert!(!text(&sent.stdout).contains(" 0 B there already"), "{}", text(&sent.stdout));
    assert!(fs::read(dir.path().join("inbox/file")).expect("read") == bytes, "it changed");
    assert_eq!(receiver.stop("-INT").0, Some(0));
}

#[test]
fn the_queue_of_a_process_that_was_killed_is_replaced_and_that_of_a_living_one_is_not() {
    let dir = TempDir::new().expect("a directory");
    let [source, _, destination] = nodes();
    let direct = format!("{source}={source}");
    let killed = sink(&destination, &direct, &dir);
    let taken = send(&dir, &destination, &source, &direct);
    assert_eq!(taken.status.code(), Some(2), "there is no file yet: {}", text(&taken.stderr));
    let bytes = file(&dir, 10_000);
    let taken = send(&dir, &destination, &source, &direct);
    assert_eq!(taken.status.code(), Some(1));
    assert!(text(&taken.stderr).contains(&format!("node {destination} is taken")));
    drop(killed);
    assert!(!is_gone(&destination), "nobody could remove it");
    put(&destination, b"left over");
    let receiver = sink(&destination, &direct, &dir);
    let sent = send(&dir, &source, &destination, &format!("{destination}={destination}"));
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert_eq!(fs::read(dir.path().join("inbox/file")).expect("read"), bytes);
    assert_eq!(receiver.stop("-TERM").0, Some(0));
    assert!(is_gone(&destination) && is_gone(&source));
}

/// The same channel with a flow whose file is small and arrives within seconds.
fn small(dir: &TempDir) -> PathBuf {
    let path = dir.path().join("small.toml");
    let text =
        SCENARIO.replace("1 MB\"", "200 kB\"\nchunk = \"1000 B\"\nxstp = { preset = \"paper\" }");
    fs::write(&path, text).expect("written");
    path
}

#[test]
fn a_scenario_runs_in_three_processes_and_says_what_the_simulator_says_of_it() {
    let dir = TempDir::new().expect("a directory");
    let scenario = small(&dir);
    let output =
        bentpipe(&["run", "--via", "mqueue", "--seed", "3", "--json"]).arg(&scenario).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let real: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let output = bentpipe(&["run", "--seed", "3", "--json"]).arg(&scenario).output();
    let simulated: Value = serde_json::from_slice(&output.expect("it runs").stdout).expect("JSON");
    for same in ["name", "protocol", "controller", "complete", "failure", "delivered_bytes"] {
        assert_eq!(real["flows"][0][same], simulated["flows"][0][same], "{same}");
    }
    assert_eq!(real["flows"][0]["complete"], true);
    assert_eq!(real["seed"], 3);
    let sent =
        |run: &Value, what: &str| run["flows"][0]["source"][what].as_u64().expect("a number");
    assert_eq!(sent(&real, "payload_bytes"), 200_000);
    assert!(sent(&real, "retransmitted_segments") > 0);
    // What left the source entered the links, its END and what came after the last look excepted.
    let entered = real["links"][0]["packets"].as_u64().expect("a number");
    assert!(entered.abs_diff(sent(&real, "segments_sent")) <= 3, "{real}");
}

/// The children of a process.
fn children(of: u32) -> Vec<u32> {
    let tasks = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    tasks.split_whitespace().map(|id| id.parse().expect("a number")).collect()
}

/// A run that lasts, and its processes as roles, numbers and nodes.
fn lasting(dir: &TempDir) -> (Child, Vec<(String, u32, String)>) {
    let scenario = small(dir);
    let mut command = bentpipe(&["run", "--via", "mqueue", "--set", "flows.file.size=\"9 GB\""]);
    let command = command.arg(&scenario).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = command.spawn().expect("it starts");
    let process = |id: u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).ok()?;
        let words: Vec<String> = text(&line).split('\0').map(str::to_owned).collect();
        let node = words.iter().find_map(|word| word.strip_prefix("--node="))?;
        Some((words.get(2)?.clone(), id, node.to_owned()))
    };
    loop {
        assert_eq!(run.try_wait().expect("a child"), None, "it ended");
        let found: Vec<_> = children(run.id()).into_iter().filter_map(process).collect();
        if found.len() == 3 && !found.iter().any(|(_, _, node)| is_gone(node)) {
            return (run, found);
        }
    }
}

fn signal(name: &str, id: u32) {
    let sent = Command::new("kill").args([name, &id.to_string()]).status();
    assert!(sent.expect("it runs").success());
}

#[test]
fn a_run_that_is_killed_leaves_no_queue() {
    let dir = TempDir::new().expect("a directory");
    let (mut run, processes) = lasting(&dir);
    run.kill().expect("killed");
    run.wait().expect("gone");
    while !processes.iter().all(|(_, _, node)| is_gone(node)) {
        std::thread::yield_now();
    }
}

#[test]
fn a_process_that_is_stopped_ends_the_run_and_leaves_no_queue() {
    let dir = TempDir::new().expect("a directory");
    for stopped in ["source", "router", "destination"] {
        let (run, processes) = lasting(&dir);
        let (_, id, _) = processes.iter().find(|(role, ..)| role == stopped).expect("a process");
        signal("-TERM", *id);
        let output = run.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(1), "{stopped}");
        let said = text(&output.stderr);
        assert!(said.contains(&format!("the {stopped} ended with")), "{said}");
        assert!(processes.iter().all(|(_, _, node)| is_gone(node)), "{stopped}");
    }
}

#[test]
fn an_experiment_runs_in_real_time_at_some_of_its_points() {
    let dir = TempDir::new().expect("a directory");
    let own = dir.path().join("own.toml");
    let scenario = small(&dir);
    let experiment = format!(
        r#"
id = "own"
title = "Loss"
scenario = "{}"
replications = 2
variants = [{{ name = "off", set = {{ "flows.file.xstp.probing" = "false" }} }}, {{ name = "on" }}]
[[sweeps]]
name = "loss"
x_label = "loss"
points = [
  {{ x = 0, set = {{ "links.space.xdeldrop.bad.drop" = "0.0" }} }},
  {{ x = 10, set = {{ "links.space.xdeldrop.bad.drop" = "0.1" }} }},
]
[[figures]]
figure = "1"
title = "Throughput"
sweep = "loss"
metric = "effective_throughput"
[[figures.claims]]
text = "it is slower with losses"
trend = {{ variant = "on", direction = "falling", xs = [0, 10] }}
"#,
        scenario.display()
    );
    fs::write(&own, experiment).expect("written");
    let output =
        bentpipe(&["reproduce", "--via", "mqueue", "--points", "10", "--json"]).arg(&own).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let figure = &result["experiments"][0];
    assert_eq!(figure["claims"], Value::Array(Vec::new()));
    let points = figure["points"].as_array().expect("points");
    assert_eq!(points.len(), 2);
    for point in points {
        assert_eq!((point["x"].as_f64(), point["n"].as_u64()), (Some(10.0), Some(2)), "{point}");
        assert!(point["mean"].as_f64() > Some(0.0), "{point}");
    }
}

#[test]
fn options_that_do_not_go_together_are_refused_with_what_would_be_right() {
    for (args, hint) in [
        (&["recv", "--via", "mqueue"][..], "--node"),
        (&["recv", "--node", "3"], "--via"),
        (&["recv", "--via", "mqueue", "--node", "70000"], "0 to 65535"),
        (&["recv", "--via", "mqueue", "--node", "3", "--route", "1"], "DESTINATION=NEXT"),
        (&["recv", "--via", "mqueue", "--node", "3", "--listen", "127.0.0.1:1"], "--listen"),
        (&["recv", "--via", "pigeon", "--node", "3"], "mqueue"),
        (
            &["send", "Cargo.toml", "ground", "--via", "mqueue", "--node", "1"],
            "`ground` is no node",
        ),
        (&["send", "Cargo.toml", "3"], "--peer"),
        (&["emulate", "geo"], "--udp"),
        (&["run", "geo", "--via", "mqueue"], "geo: with --via mqueue `encapsulation`"),
        (
            &["run", "leo", "--via", "mqueue", "--set", "flows.file.protocol=tcp"],
            "with --via mqueue the flow is of XSTP",
        ),
        (&["run", "leo", "--via", "mqueue", "--wire"], "--wire"),
        (&["reproduce", "E12", "--via", "mqueue"], "E12, `sample_every`: only the simulator"),
        (&["reproduce", "E3", "--points", "4"], "there is no 4 among 1, 3"),
    ] {
        let output = bentpipe(args).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(hint), "{args:?}: {}", text(&output.stderr));
    }
}
