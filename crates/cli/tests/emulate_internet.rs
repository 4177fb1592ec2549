//! `bentpipe emulate --internet`: a command behind the link with the host's own network behind it, and links one behind the
//! other. What needs root says so and is skipped without it.

mod namespaces;

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

use namespaces::{Host, TIMEOUT, can_make_namespaces, inside, ip, until};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bentpipe");
/// What the world says.
const WORLD: &str = "http://192.0.2.2/";

/// A host, and another one that is the world for it.
struct Home {
    host: Host,
    world: Host,
}

impl Home {
    fn new() -> Self {
        let (host, world) = (Host::new(), Host::new());
        host.connect(("eth0", &["192.0.2.1/24"]), &world, ("eth0", &["192.0.2.2/24"]));
        Self { host, world }
    }

    /// Answers so many requests over HTTP with these bytes. Gives the addresses that asked.
    #[expect(clippy::disallowed_methods, reason = "the test is the world")]
    fn serve(&self, requests: usize, answer: &[u8]) -> JoinHandle<Vec<IpAddr>> {
        let listener = inside(self.world.id(), || TcpListener::bind("192.0.2.2:80"));
        let (listener, answer) = (listener.expect("a port"), answer.to_vec());
        std::thread::spawn(move || {
            let connections = listener.incoming().take(requests).map(|connection| {
                let mut connection = connection.expect("a connection");
                let mut asked = Vec::new();
                while !asked.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    connection.read_exact(&mut byte).expect("a request");
                    asked.extend(byte);
                }
                connection.write_all(b"HTTP/1.0 200 OK\r\n\r\n").expect("written");
                connection.write_all(&answer).expect("written");
                connection.peer_addr().expect("an address").ip()
            });
            connections.collect()
        })
    }

    /// Runs the emulator on the host.
    fn emulate(&self, options: &[&str]) -> Output {
        inside(self.host.id(), || {
            Command::new(PROGRAM).arg("emulate").args(options).output().expect("it runs")
        })
    }

    /// The host is what it was, sooner or later.
    fn comes_back_to(&self, before: &str) {
        let began = Instant::now();
        let mut state = self.state();
        while state != before && began.elapsed() < TIMEOUT {
            state = self.state();
        }
        assert_eq!(state, before);
    }

    /// What the host has of rules and devices, and whether it forwards.
    fn state(&self) -> String {
        inside(self.host.id(), || {
            let said = |command: &[&str]| {
                let output = Command::new(command[0]).args(&command[1..]).output();
                String::from_utf8(output.expect("it runs").stdout).expect("text")
            };
            // A device may still be on its way up, and get the address by which only its neighbours know it.
            let devices: Vec<String> = said(&["ip", "-br", "address"])
                .lines()
                .map(|line| {
                    let mut words = line.split_whitespace();
                    let name = words.next().unwrap_or_default();
                    let addresses = words.skip(1).filter(|address| !address.starts_with("fe80:"));
                    addresses.fold(format!("{name}\n"), |all, address| all + address + "\n")
                })
                .collect();
            let rules = said(&["nft", "list", "ruleset"]);
            // The rules go before it is turned off: read the other way round both could seem to be over.
            let forwards = fs::read_to_string("/proc/sys/net/ipv4/ip_forward").expect("a switch");
            rules + &devices.concat() + &forwards
        })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The time that the connection took to open, in seconds, and the file.
fn fetched(output: &Output, file: &Path) -> (f64, Vec<u8>) {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let seconds = text(&output.stdout).trim().parse().expect("seconds");
    (seconds, fs::read(file).expect("a file"))
}

#[test]
fn a_command_reaches_what_the_host_reaches_over_the_link_and_under_its_address() {
    if !can_make_namespaces() {
        return;
    }
    let home = Home::new();
    let before = home.state();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    let (path, sent) = (file.display().to_string(), b"what the world says".repeat(500));
    let asked = home.serve(2, &sent);
    let curl = ["curl", "-s", "-o", &path, "-w", "%{time_connect}", WORLD];
    let one = home.emulate(&[&["geo", "--internet", "--"], &curl[..]].concat());
    let (one, bytes) = fetched(&one, &file);
    assert!(bytes == sent);
    assert!(one >= 0.58, "{one} s are faster than light");
    // Behind a link that is emulated, no form has to be said.
    let inner = [PROGRAM, "emulate", "leo-broadband", "--"];
    let two = home.emulate(&[&["geo", "--internet", "--"], &inner[..], &curl].concat());
    let (two, bytes) = fetched(&two, &file);
    assert!(bytes == sent);
    assert!(two > one, "over one link {one} s, over two {two} s");
    let host: IpAddr = "192.0.2.1".parse().expect("an address");
    assert_eq!(asked.join().expect("no panic"), [host, host]);
    assert_eq!(home.state(), before);
}

#[test]
fn links_one_behind_the_other_lead_to_the_server_of_the_first() {
    if !can_make_namespaces() {
        return;
    }
    let home = Home::new();
    // A refusal comes from the far end of both links.
    let inner = [PROGRAM, "emulate", "leo-broadband", "--"];
    let curl = ["curl", "-s", "--max-time", "20", "-w", "%{remote_ip}", "http://10.53.0.2:9/"];
    let outer = ["geo", "--netns", "--server", "exec sleep 600", "--"];
    let refused = home.emulate(&[&outer[..], &inner, &curl].concat());
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(7), "refused, not timed out (28): {said}");
    assert!(said.contains("10.53.1.1 (here) leads to 10.53.1.2"), "{said}");
}

#[test]
fn the_exit_code_is_that_of_the_command_and_two_at_a_time_do_not_meet() {
    if !can_make_namespaces() {
        return;
    }
    let home = Home::new();
    let before = home.state();
    let both = [7, 9].map(|code| {
        let command = format!("sleep 0.5; exit {code}");
        inside(home.host.id(), || {
            let mut emulate = Command::new(PROGRAM);
            emulate.args(["emulate", "geo", "--internet", "--", "sh", "-c", &command]);
            emulate.stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts")
        })
    });
    let codes = both.map(|mut child| child.wait().expect("it ends").code());
    assert_eq!(codes, [Some(7), Some(9)]);
    home.comes_back_to(&before);
}

#[test]
fn nothing_is_left_on_the_host_after_a_kill() {
    if !can_make_namespaces() {
        return;
    }
    let home = Home::new();
    let before = home.state();
    let mut running = inside(home.host.id(), || {
        let mut emulate = Command::new(PROGRAM);
        emulate.args(["emulate", "geo", "--internet", "--", "sleep", "600"]);
        emulate.stderr(Stdio::null()).spawn().expect("it starts")
    });
    until(|| home.state().contains("masquerade").then_some(()));
    kill_process(Pid::from_child(&running), Signal::KILL).expect("killed");
    running.wait().expect("it ends");
    home.comes_back_to(&before);
}

#[test]
fn of_two_that_overlap_the_last_one_stops_forwarding() {
    if !can_make_namespaces() {
        return;
    }
    let home = Home::new();
    let before = home.state();
    let start = |seconds: &str| {
        inside(home.host.id(), || {
            let mut emulate = Command::new(PROGRAM);
            emulate.args(["emulate", "geo", "--internet", "--", "sleep", seconds]);
            emulate.stderr(Stdio::null()).spawn().expect("it starts")
        })
    };
    let mut first = start("3");
    until(|| home.state().contains("masquerade").then_some(()));
    let mut second = start("4");
    first.wait().expect("it ends");
    second.wait().expect("it ends");
    home.comes_back_to(&before);
}

#[test]
fn a_signal_while_it_starts_leaves_nothing_on_the_host() {
    if !can_make_namespaces() {
        return;
    }
    let home = Home::new();
    let before = home.state();
    // An nft that has done its work and takes its time.
    let folder = tempfile::tempdir().expect("a folder");
    let slow = folder.path().join("nft");
    let nft = ["/usr/sbin/nft", "/sbin/nft"].into_iter().find(|path| Path::new(path).exists());
    let script =
        format!("#!/bin/sh\n{} \"$@\"\nstatus=$?\nsleep 0.3\nexit $status\n", nft.expect("nft"));
    fs::write(&slow, script).expect("written");
    fs::set_permissions(&slow, Permissions::from_mode(0o755)).expect("set");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("a path"));
    for signal in [Signal::KILL, Signal::TERM] {
        let mut running = inside(home.host.id(), || {
            let mut emulate = Command::new(PROGRAM);
            emulate.args(["emulate", "geo", "--internet", "--", "sleep", "600"]).env("PATH", &path);
            emulate.stderr(Stdio::null()).spawn().expect("it starts")
        });
        until(|| home.state().contains("masquerade").then_some(()));
        kill_process(Pid::from_child(&running), signal).expect("killed");
        running.wait().expect("it ends");
        home.comes_back_to(&before);
    }
}

#[test]
fn a_network_of_the_host_itself_is_left_alone() {
    if !can_make_namespaces() {
        return;
    }
    let home = Home::new();
    ip(home.host.id(), &["address add 10.53.0.77/24 dev eth0"]);
    let asked = home.serve(1, b"far");
    let reached = home.emulate(&["geo", "--internet", "--", "curl", "-s", WORLD]);
    assert_eq!(text(&reached.stdout), "far", "{}", text(&reached.stderr));
    assert!(text(&reached.stderr).contains("10.53.1.1 (here)"), "{}", text(&reached.stderr));
    asked.join().expect("no panic");
}

#[test]
fn forms_that_do_not_go_together_are_refused() {
    let run = |options: &[&str]| {
        let output = Command::new(PROGRAM).arg("emulate").args(options).output();
        output.expect("it runs")
    };
    for options in [
        &["geo", "--internet"][..],
        &["geo", "--internet", "--netns", "--", "true"],
        &["geo", "--internet", "--server", "true", "--", "true"],
        &["geo", "--internet", "--udp", "127.0.0.1:0=127.0.0.1:9", "--", "true"],
    ] {
        assert_eq!(run(options).status.code(), Some(2), "{options:?}");
    }
}
