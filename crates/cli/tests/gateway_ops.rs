//! What the operator of a gateway sees: `bentpipe top`, metrics, health.

mod gateways;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Output, Stdio};

use gateways::{Place, bentpipe, check, echo, free, get, start, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const DEDICATED: &str = "[link]\nmode = \"dedicated\"\nrate = \"50 Mbit/s\"";

fn top(args: &[&str]) -> Output {
    bentpipe().arg("top").args(args).output().expect("it runs")
}

fn repository(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).expect(path)
}

/// The names of metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("bentpipe_gateway_")).map(str::to_owned).collect()
}

/// The names of the samples that a terminal gives with this in its configuration, once `last` is among them.
async fn samples_of(extra: &str, last: &str) -> BTreeSet<String> {
    let place = Place::new();
    let hub = start(&place.hub(""));
    let terminal = start(&place.terminal(hub.address, extra));
    loop {
        let metrics = get(terminal.ops, "/metrics").await;
        assert!(metrics.ends_with("# EOF\n"), "{metrics}");
        let lines = metrics.lines().filter(|line| line.starts_with("bentpipe_"));
        let found: BTreeSet<String> = lines.flat_map(names).collect();
        if found.contains(last) {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// The names of the samples that terminals give, one on a dedicated link and one on a shared link beside one with a cap, over
/// which another hub would be reached.
async fn samples() -> BTreeSet<String> {
    // Losses are known last, when the hub has told of what it received.
    let mut all = samples_of(DEDICATED, "bentpipe_gateway_peer_loss_ratio").await;
    let [key, _] = Place::new().keys;
    let capped = format!(
        "[backup]\ncap = \"1 GB\"\n[peers.far]\nkey = \"{key}\"\naddress = \"127.0.0.1:9\"\n\
         backup = \"127.0.0.1:10\""
    );
    all.extend(samples_of(&capped, "bentpipe_gateway_peer_capacity_bits_per_second").await);
    all
}

#[tokio::test]
async fn top_shows_the_peer_and_the_flow_that_is_open() {
    let place = Place::new();
    let hub = start(&place.hub(""));
    let (to, forward) = (echo().await, free().await);
    let entrance = format!("[[forward]]\nlisten = \"{forward}\"\nto = \"{to}\"");
    let terminal = start(&place.terminal(hub.address, &entrance));
    let mut tcp = TcpStream::connect(forward).await.expect("a connection");
    tcp.write_all(b"hello").await.expect("room");
    tcp.read_exact(&mut [0; 5]).await.expect("an answer");
    let client = tcp.local_addr().expect("an address").to_string();
    for (gateway, peer) in [(&terminal, "land"), (&hub, "sea")] {
        let output = top(&[&gateway.ops.to_string(), "--once"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let shown = text(&output.stdout);
        assert!(shown.contains("1 flows open"), "{shown}");
        assert!(
            shown.ends_with("out and in: means since the gateway or the flow began\n"),
            "{shown}"
        );
        let flow = shown.lines().find(|line| line.contains(&client)).expect("the flow");
        assert!(flow.contains(&to.to_string()) && flow.contains(peer), "{shown}");
        assert!(shown.lines().any(|line| line.contains(peer) && line.contains(" up ")), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn top_says_what_is_wrong_where_no_gateway_answers() {
    let nobody = free().await.to_string();
    let output = top(&[&nobody, "--once"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains(&format!("no gateway serves its status at {nobody}")), "{said}");
    assert!(said.contains("[ops]"), "{said}");

    let other = echo().await.to_string();
    let output = top(&[&other, "--once"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("is no gateway's status"), "{}", text(&output.stderr));
}

#[test]
fn the_live_view_wants_a_terminal() {
    let place = Place::new();
    let hub = start(&place.hub(""));
    let output = top(&[&hub.ops.to_string()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--once"), "{}", text(&output.stderr));
}

#[tokio::test]
async fn the_dashboard_shows_every_metric_there_is_and_no_other() {
    let dashboard = repository("packaging/grafana/bentpipe.json");
    let document: Value = serde_json::from_str(&dashboard).expect("JSON");
    let panels = document["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let shown: BTreeSet<String> =
        targets.flat_map(|target| names(target["expr"].as_str().expect("an expression"))).collect();
    assert_eq!(shown, samples().await);
}

#[tokio::test]
async fn every_metric_is_documented() {
    let documented = names(&repository("docs/gateway.md"));
    assert_eq!(documented, samples().await);
}

#[tokio::test]
async fn a_hangup_changes_rates_and_the_status_goes_on() {
    let place = Place::new();
    let hub = start(&place.hub(""));
    let file = place.terminal(hub.address, DEDICATED);
    let mut terminal = start(&file);
    let before = fs::read_to_string(&file).expect("a file");
    fs::write(&file, before.replace("50 Mbit/s", "3 Mbit/s")).expect("written");
    kill_process(Pid::from_child(&terminal.child), Signal::HUP).expect("sent");
    terminal.line("reloaded rates and weights: link.rate = \"3 Mbit/s\", peers.");
    let metrics = get(terminal.ops, "/metrics").await;
    assert!(
        metrics.contains("\nbentpipe_gateway_link_rate_bits_per_second 3000000\n"),
        "{metrics}"
    );
    assert!(get(terminal.ops, "/status").await.starts_with("HTTP/1.1 200"));
    assert!(get(hub.ops, "/health").await.starts_with("HTTP/1.1 200"));
}

#[test]
fn a_status_for_everybody_has_to_be_meant() {
    let place = Place::new();
    let file = place.hub("");
    let closed = fs::read_to_string(&file).expect("a file");
    let open =
        closed.replace("[ops]\nlisten = \"127.0.0.1:0\"", "[ops]\nlisten = \"0.0.0.0:9100\"");
    assert_ne!(open, closed);
    fs::write(&file, &open).expect("written");
    let output = check(&file);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("`ops.listen`") && said.contains("open = true"), "{said}");
    fs::write(&file, open + "open = true\n").expect("written");
    assert!(check(&file).status.success());
}

#[test]
fn a_check_says_all_that_is_wrong_and_that_nothing_is() {
    let place = Place::new();
    let hub = place.hub("");
    let output = check(&hub);
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), format!("{}: configuration OK\n", hub.display()));
    let written = fs::read_to_string(&hub).expect("a file");
    let placeholder = "ReplaceThisWithTheKeyThatTheOtherEndPrints0=";
    let doubtful = written
        .replace("allow = [\"127.0.0.0/8\"]", "")
        .replace(&place.keys[0], placeholder)
        .replace("[ops]", &format!("[peers.own]\nkey = \"{}\"\n[ops]", place.keys[1]));
    fs::write(&hub, doubtful).expect("written");
    let output = check(&hub);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    for key in ["peers.own.key", "peers.sea.key", "allow"] {
        assert!(said.contains(&format!("`{key}`: ")), "{key}: {said}");
    }
    let terminal =
        place.terminal("127.0.0.1:0".parse().expect("an address"), "[limits]\nbuffer = \"1 kB\"");
    let said = text(&check(&terminal).stderr);
    for key in ["peers.land.address", "limits.buffer"] {
        assert!(said.contains(&format!("`{key}`: ")), "{key}: {said}");
    }
}

#[test]
fn a_check_warns_of_keys_of_the_last_release() {
    let place = Place::new();
    let hub = place.hub("[limits]\npatience = \"7 s\"");
    let output = check(&hub);
    assert!(output.status.success());
    let (file, key) = (hub.display(), "`limits.patience` is called `idle_timeout` now");
    assert_eq!(text(&output.stderr), format!("bentpipe: warning: {file}: {key}\n"));
    assert_eq!(text(&output.stdout), format!("{file}: configuration OK\n"));
}

#[test]
fn a_gateway_opens_as_many_files_as_it_may_and_says_where_that_is_too_few() {
    let place = Place::new();
    let limited = format!(
        "ulimit -Sn 300; ulimit -Hn 400; exec {} gateway --config {}",
        env!("CARGO_BIN_EXE_bentpipe"),
        place.hub("").display()
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &limited]).env_remove("RUST_LOG").stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut said = String::new();
    while !said.contains("gateway started") {
        assert!(log.read_line(&mut said).expect("a log") > 0, "it ended: {said}");
    }
    let limits = fs::read_to_string(format!("/proc/{}/limits", child.id())).expect("limits");
    stop(child, log);
    assert!(said.contains("this process may open 400: raise LimitNOFILE="), "{said}");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("the line");
    assert!(line.split_whitespace().nth(3) == Some("400"), "{line}");
}

/// Starts a gateway with more arguments and this filter of its log, and returns it with the lines of its log up to the
/// one that says that it is up.
fn start_logged(
    file: &Path,
    args: &[&str],
    filter: &str,
) -> (Child, BufReader<ChildStderr>, Vec<String>) {
    let mut command = bentpipe();
    command.arg("gateway").arg("--config").arg(file).args(args).env("RUST_LOG", filter);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut lines = Vec::new();
    while !lines.last().is_some_and(|line: &String| line.contains("gateway started")) {
        let mut line = String::new();
        assert!(log.read_line(&mut line).expect("a log") > 0, "it ended: {lines:?}");
        lines.push(line);
    }
    (child, log, lines)
}

/// Stops it; returns what is left of its log.
fn stop(mut child: Child, mut log: BufReader<ChildStderr>) -> String {
    kill_process(Pid::from_child(&child), Signal::TERM).expect("sent");
    let mut rest = String::new();
    log.read_to_string(&mut rest).expect("a log");
    assert!(child.wait().expect("an end").success(), "{rest}");
    rest
}

#[test]
fn the_log_is_json_line_by_line_if_that_is_wanted() {
    let place = Place::new();
    let (child, log, mut lines) = start_logged(&place.hub(""), &["--log-json"], "info");
    lines.extend(stop(child, log).lines().map(str::to_owned));
    let events: Vec<Value> =
        lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let up = events.iter().find(|event| event["fields"]["message"] == "gateway started");
    let address = up.expect("the line")["fields"]["address"].as_str().expect("text");
    assert!(address.parse::<std::net::SocketAddr>().is_ok(), "{address}");
    for event in &events {
        assert!(event["timestamp"].is_string() && event["level"].is_string(), "{event}");
    }
}

#[tokio::test]
async fn a_gateway_whose_log_nobody_reads_any_more_goes_on() {
    let place = Place::new();
    let hub = start(&place.hub(""));
    let file = place.terminal(hub.address, DEDICATED);
    let mut terminal = start(&file);
    terminal.close_log();
    let before = fs::read_to_string(&file).expect("a file");
    fs::write(&file, before.replace("50 Mbit/s", "3 Mbit/s")).expect("written");
    kill_process(Pid::from_child(&terminal.child), Signal::HUP).expect("sent");
    let now = "\nbentpipe_gateway_link_rate_bits_per_second 3000000\n";
    while !get(terminal.ops, "/metrics").await.contains(now) {}
    kill_process(Pid::from_child(&terminal.child), Signal::TERM).expect("sent");
    assert!(terminal.child.wait().expect("an end").success());
}

#[tokio::test]
async fn a_gateway_whose_log_has_a_reader_that_stalls_goes_on() {
    let place = Place::new();
    let hub = start(&place.hub(""));
    let http = free().await;
    let file = place.terminal(hub.address, &format!("[http]\nlisten = \"{http}\"\n"));
    // More is said of the flows than a pipe holds.
    let (mut terminal, log, _) = start_logged(&file, &[], "debug");
    let mut answers = 0;
    for _ in 0..1_000 {
        let mut tcp = TcpStream::connect(http).await.expect("a connection");
        let request = b"CONNECT 192.0.2.1:80 HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n";
        tcp.write_all(request).await.expect("room");
        let mut answer = [0; 12];
        // Some of so many at once are turned away at the door.
        if tcp.read_exact(&mut answer).await.is_ok() {
            answers += u32::from(answer.starts_with(b"HTTP/1.1"));
        }
    }
    assert!(answers > 600, "{answers}");
    kill_process(Pid::from_child(&terminal), Signal::TERM).expect("sent");
    assert!(terminal.wait().expect("an end").success());
    drop(log);
}

#[tokio::test]
async fn passwords_and_keys_are_in_no_log_whatever_is_logged() {
    let place = Place::new();
    let (socks5, http, to) = (free().await, free().await, echo().await);
    let users = "users = { eve = \"sesame-open\" }";
    let entrances =
        format!("[socks5]\nlisten = \"{socks5}\"\n{users}\n[http]\nlisten = \"{http}\"\n{users}\n");
    let hub = start(&place.hub(""));
    let file = place.terminal(hub.address, &entrances);
    let (child, log, lines) = start_logged(&file, &[], "trace");
    // Lines that wait too long for their reader are lost.
    let rest = tokio::task::spawn_blocking(move || {
        let (mut log, mut rest) = (log, String::new());
        log.read_to_string(&mut rest).map(|_| rest)
    });
    let mut tcp = TcpStream::connect(socks5).await.expect("a connection");
    tcp.write_all(b"\x05\x01\x02\x01\x03eve\x0bsesame-open").await.expect("room");
    let mut said = [0; 4];
    tcp.read_exact(&mut said).await.expect("a verdict");
    assert_eq!(said, [5, 2, 1, 0]);
    let mut tcp = TcpStream::connect(http).await.expect("a connection");
    let basic = "ZXZlOnNlc2FtZS1vcGVu";
    let request = format!(
        "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nProxy-Authorization: Basic {basic}\r\n\r\n"
    );
    tcp.write_all(request.as_bytes()).await.expect("room");
    let mut said = [0; 12];
    tcp.read_exact(&mut said).await.expect("an answer");
    assert_eq!(&said, b"HTTP/1.1 200");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("sent");
    let log = lines.concat() + &rest.await.expect("no panic").expect("a log");
    let mut child = child;
    assert!(child.wait().expect("an end").success());
    assert!(log.contains("DEBUG") && log.contains("a flow"), "{log}");
    let key = fs::read_to_string(place.dir.path().join("terminal.key")).expect("a key");
    for secret in ["sesame", basic, key.trim()] {
        assert!(!log.contains(secret), "`{secret}` is in the log");
    }
}
