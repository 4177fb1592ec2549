//! `bentpipe emulate` with real packets. What needs root says so and is skipped without it.

mod namespaces;

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::time::Instant;

use namespaces::{TIMEOUT, can_make_namespaces, inside, ip, network_of, until};

const ADDRESSES: [(&str, &str); 2] = [("10.53.0.1", "10.53.0.2"), ("fd53::1", "fd53::2")];

fn bentpipe() -> Command {
    Command::new(env!("CARGO_BIN_EXE_bentpipe"))
}

fn emulate(options: &[&str]) -> Command {
    let mut command = bentpipe();
    command.arg("emulate").args(options);
    command
}

fn output(options: &[&str]) -> Output {
    emulate(options).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A program in the background that ends with the test, and the first line that it said.
struct Background(Child, String);

impl Background {
    /// Starts a program and waits until it says where its link leads.
    fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut said = String::new();
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        errors.read_line(&mut said).expect("a line");
        assert!(said.contains(" leads to "), "{said}");
        child.stderr = Some(errors.into_inner());
        Self(child, said)
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("a process");
    }

    /// The process inside whose command line is this, once it is there.
    fn inner(&self, line: &str) -> u32 {
        until(|| {
            let children = format!("/proc/{0}/task/{0}/children", self.id());
            let children = fs::read_to_string(children).expect("a process");
            let mut children = children.split_whitespace().filter_map(|id| id.parse().ok());
            children.find(|id| {
                let path = format!("/proc/{id}/cmdline");
                fs::read_to_string(path).is_ok_and(|found| found.replace('\0', " ").trim() == line)
            })
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The processes in a network namespace.
fn inhabitants(network: &Path) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter(|id| network_of(*id).as_deref() == Some(network)).collect()
}

#[expect(clippy::disallowed_methods, reason = "the test is the programs on both sides")]
fn udp(process: u32, address: &str) -> UdpSocket {
    let address = SocketAddr::new(address.parse::<IpAddr>().expect("an address"), 0);
    let socket = inside(process, || UdpSocket::bind(address)).expect("a socket");
    socket.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
    socket
}

/// The next datagram. A process that is stopped and goes on finds its calls interrupted.
fn received(socket: &UdpSocket, buffer: &mut [u8]) -> (usize, SocketAddr) {
    loop {
        match socket.recv_from(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            datagram => return datagram.expect("a datagram"),
        }
    }
}

/// The round trip of a datagram between two sockets.
fn round_trip(client: &UdpSocket, server: &UdpSocket) -> Duration {
    let mut buffer = [0; 100];
    let began = Instant::now();
    client.send_to(b"ping", server.local_addr().expect("an address")).expect("sent");
    let (length, from) = received(server, &mut buffer);
    server.send_to(&buffer[..length], from).expect("sent");
    let (length, _) = received(client, &mut buffer);
    assert_eq!(&buffer[..length], b"ping");
    began.elapsed()
}

#[expect(clippy::disallowed_methods, reason = "the test is the programs on both sides")]
fn connection(client: u32, server: u32, address: &str) -> (TcpStream, TcpStream) {
    let address = SocketAddr::new(address.parse::<IpAddr>().expect("an address"), 0);
    let listener = inside(server, || TcpListener::bind(address)).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let ours = inside(client, || TcpStream::connect(address)).expect("connected");
    (ours, listener.accept().expect("a connection").0)
}

#[test]
fn every_built_in_scenario_is_a_profile_under_its_full_name_and_its_last_part() {
    let list = bentpipe().args(["list", "scenarios", "--json"]).output().expect("it runs");
    let list: Value = serde_json::from_slice(&list.stdout).expect("JSON");
    let list = list["scenarios"].as_array().expect("a list");
    assert!(list.len() >= 8);
    for entry in list {
        let name = entry["name"].as_str().expect("a name");
        for name in [name, name.rsplit('/').next().expect("a part")] {
            Background::start(&mut emulate(&[name, "--udp", "127.0.0.1:0=127.0.0.1:9"]));
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test is the programs on both sides")]
fn a_datagram_crosses_a_constellation_both_ways_and_takes_its_time() {
    let server = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let client = UdpSocket::bind("127.0.0.1:0").expect("a port");
    for socket in [&server, &client] {
        socket.set_read_timeout(Some(TIMEOUT)).expect("a time");
    }
    let address = server.local_addr().expect("an address");
    let udp = format!("127.0.0.1:0={address}");
    let places = ["--from", "Berkeley", "--to", "Boston", "--udp", &udp];
    let relay = Background::start(&mut emulate(&[&["--profile", "geo:-95"], &places[..]].concat()));
    assert!(relay.1.contains("over geo:-95, Berkeley to Boston"), "{}", relay.1);
    let listens = relay.1.split(' ').next().expect("an address");
    let mut room = [0; 10];
    let sent = Instant::now();
    client.send_to(b"there", listens).expect("sent");
    let (length, back) = server.recv_from(&mut room).expect("it arrives");
    assert_eq!(&room[..length], b"there");
    server.send_to(b"and back", back).expect("sent");
    let (length, _) = client.recv_from(&mut room).expect("it arrives");
    assert_eq!(&room[..length], b"and back");
    // Twice to a satellite that stands still and down again.
    assert!(sent.elapsed() > Duration::from_millis(4 * 120), "{:?}", sent.elapsed());
}

#[test]
fn a_profile_without_its_places_or_beside_a_scenario_is_refused() {
    let udp = ["--udp", "127.0.0.1:0=127.0.0.1:9"];
    let places = ["--from", "Oslo", "--to", "Rome"];
    for (options, message) in [
        (vec!["--profile", "iridium", "--from", "Oslo"], "--to"),
        ([&["--profile", "iridum"], &places[..]].concat(), "did you mean `iridium`?"),
        ([&["--profile", "starlink", "--from", "80,0"], &places[2..]].concat(), "ever comes above"),
        ([&["geo", "--profile", "iridium"], &places[..]].concat(), "cannot be used with"),
        ([&["geo"], &places[..]].concat(), "cannot be used with"),
    ] {
        let refused = output(&[&options, &udp[..]].concat());
        assert_eq!(refused.status.code(), Some(2), "{options:?}");
        assert!(text(&refused.stderr).contains(message), "{}", text(&refused.stderr));
    }
}

#[test]
fn an_unknown_profile_is_answered_with_where_those_are_that_there_are() {
    let refused = output(&["moon", "--udp", "127.0.0.1:0=127.0.0.1:9"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("moon: ") && said.contains("`bentpipe list scenarios`"), "{said}");
}

#[test]
fn forms_that_do_not_go_together_are_refused() {
    let udp = "127.0.0.1:0=127.0.0.1:9";
    for (options, said) in [
        (&["geo"][..], "--netns"),
        (&["geo", "--netns"], "<COMMAND>"),
        (&["geo", "--udp", udp, "--", "true"], "cannot be used with"),
        (&["geo", "--udp", udp, "--mtu", "1400"], "cannot be used with"),
        (&["geo", "--tun", "a,b", "--server", "true"], "cannot be used with"),
        (&["geo", "--tun", "a,b", "--netns", "--", "true"], "cannot be used with"),
        (&["geo", "--tun", "a"], "CLIENTS,SERVER"),
        (&["geo", "--tun", "a,a"], "CLIENTS,SERVER"),
        (&["geo", "--tun", "a,sixteen-bytes-too"], "15 bytes"),
        (&["geo", "--netns", "--mtu", "1279", "--", "true"], "1280"),
    ] {
        let refused = output(options);
        assert_eq!(refused.status.code(), Some(2), "{options:?}");
        assert!(text(&refused.stderr).contains(said), "{options:?}: {}", text(&refused.stderr));
    }
}

#[test]
fn the_exit_code_and_the_output_are_those_of_the_command() {
    if !can_make_namespaces() {
        return;
    }
    for (command, code, said) in [
        (&["true"][..], 0, ""),
        (&["sh", "-c", "echo here; exit 7"], 7, "here\n"),
        (&["sh", "-c", "kill -TERM $$"], 128 + 15, ""),
        (&["no-such-program"], 127, ""),
    ] {
        let ended = output(&[&["geo", "--netns", "--"], command].concat());
        assert_eq!(ended.status.code(), Some(code), "{command:?}");
        assert_eq!(text(&ended.stdout), said, "{command:?}");
        assert!(text(&ended.stderr).contains("over terrestrial, satellite"), "{command:?}");
    }
    let early = output(&["geo", "--netns", "--server", "exit 3", "--", "echo", "here"]);
    assert_eq!((early.status.code(), &*text(&early.stdout)), (Some(1), ""));
    assert!(text(&early.stderr).contains("exit status: 3"), "{}", text(&early.stderr));
}

#[test]
fn the_server_is_asked_to_end_and_has_time_for_it() {
    if !can_make_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let last = dir.path().join("last words");
    let script = dir.path().join("server");
    let words = format!(
        "#!/bin/sh\ntrap 'sleep 0.2; echo done > \"{}\"; exit' TERM\nwhile :; do sleep 0.05; done\n",
        last.display()
    );
    fs::write(&script, words).expect("written");
    // The shell has something else to do afterwards, so that the server is a child of it.
    let server = format!("sh {}; true", script.display());
    let ended = output(&["geo", "--netns", "--server", &server, "--", "sleep", "0.3"]);
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    assert_eq!(fs::read_to_string(last).expect("its last words"), "done\n");
}

#[test]
fn a_file_arrives_at_the_server_behind_the_link() {
    if !can_make_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    let key = |name: &str| {
        let made = bentpipe().args(["keygen", "--key", &path(name)]).output().expect("it runs");
        text(&made.stdout).trim().to_owned()
    };
    let (sender, receiver) = (key("sender"), key("receiver"));
    fs::write(path("file"), [7; 300_000]).expect("written");
    fs::create_dir(path("inbox")).expect("made");
    let program = env!("CARGO_BIN_EXE_bentpipe");
    let listen = format!(
        "exec '{program}' recv --listen [::]:25300 --dir '{}' --key '{}' --peer {sender}",
        path("inbox"),
        path("receiver"),
    );
    let mut command = emulate(&["leo-broadband", "--netns", "--json", "--server", &listen, "--"]);
    command.args([program, "send", &path("file"), "[fd53::2]:25300", "--peer", &receiver]);
    command.args(["--rate", "4 Mbit/s", "--key", &path("sender")]);
    let ended = command.output().expect("it runs");
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    assert_eq!(fs::read(dir.path().join("inbox/file")).expect("a file"), [7; 300_000]);
    let counters = text(&ended.stdout);
    let counters: Value = serde_json::from_str(&counters[counters.find('{').expect("JSON")..])
        .expect("the counters come after what the command said");
    assert!(counters["return"]["delivered_bytes"].as_u64().expect("a count") > 300_000);
}

#[test]
fn datagrams_take_their_time_and_streams_arrive_whole_over_both_versions_of_ip() {
    if !can_make_namespaces() {
        return;
    }
    let options = ["geo", "--netns", "--json", "--set", "links.satellite.loss=0.01"];
    let sides = ["--server", "exec sleep 600", "--", "sleep", "601"];
    let mut link = Background::start(&mut emulate(&[&options[..], &sides].concat()));
    let (client, server) = (link.inner("sleep 601"), link.inner("sleep 600"));
    let sent: Vec<u8> = (0..400_000_u32).map(|n| (n * 31 / 7) as u8).collect();
    for (near, far) in ADDRESSES {
        let (near, far_socket) = (udp(client, near), udp(server, far));
        // One of a hundred is lost, and then the next one is as good.
        near.set_read_timeout(Some(Duration::from_secs(3))).expect("a timeout");
        let rtt = round_trip(&near, &far_socket);
        assert!(rtt >= Duration::from_millis(2 * (40 + 250)), "{rtt:?} is faster than light");
        let (mut ours, mut theirs) = connection(client, server, far);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                theirs.write_all(&sent).expect("written");
                drop(theirs);
            });
            let mut got = Vec::new();
            ours.read_to_end(&mut got).expect("read");
            assert!(got == sent, "{} of {} bytes, or others", got.len(), sent.len());
        });
    }
    link.signal(Signal::TERM);
    assert_eq!(link.0.wait().expect("it ends").code(), Some(128 + 15));
    let mut counters = String::new();
    link.0.stdout.take().expect("a pipe").read_to_string(&mut counters).expect("text");
    let counters: Value = serde_json::from_str(&counters).expect("JSON");
    let count = |direction: &str, what: &str| counters[direction][what].as_u64().expect("a count");
    assert!(count("forward", "delivered_bytes") > 800_000, "{counters}");
    assert!(count("forward", "lost") > 0 && count("return", "delivered") > 0, "{counters}");
}

#[test]
fn nothing_is_left_after_an_interrupt_and_after_being_killed() {
    if !can_make_namespaces() {
        return;
    }
    let script = "trap '' HUP; setsid sleep 602 & sleep 603";
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let sides = ["--server", "sleep 604; true", "--", "sh", "-c", script];
        let mut link = Background::start(&mut emulate(&[&["geo", "--netns"], &sides[..]].concat()));
        let networks = [
            network_of(link.inner(&format!("sh -c {script}"))).expect("a namespace"),
            network_of(link.inner("sh -c sleep 604; true")).expect("a namespace"),
        ];
        assert!(!networks.contains(&network_of(std::process::id()).expect("a namespace")));
        // Its holder, two of its processes.
        until(|| (inhabitants(&networks[0]).len() >= 4).then_some(()));
        link.signal(signal);
        link.0.wait().expect("it ends");
        if signal == Signal::KILL {
            // Then it is the kernel that ends them.
            until(|| networks.iter().all(|network| inhabitants(network).is_empty()).then_some(()));
        }
        for network in &networks {
            assert_eq!(inhabitants(network), [0; 0], "after {signal:?}");
        }
    }
}

/// An emulator between two devices, one of which is in a namespace of its own, and the process that holds
/// that. Both have addresses.
fn two_devices(options: &[&str]) -> (Background, Background) {
    let mut command = Command::new("unshare");
    let far = command.args(["--net", "sleep", "605"]).spawn().expect("it starts");
    let far = Background(far, String::new());
    let home = network_of(std::process::id());
    until(|| (network_of(far.id()) != home).then_some(()));
    let mut command = Command::new("unshare");
    command.args(["--net", env!("CARGO_BIN_EXE_bentpipe"), "emulate"]).args(options);
    command.args(["--tun", "test-c,test-s", "--mtu", "1400"]);
    let link = Background::start(&mut command);
    ip(link.id(), &["address add 10.9.0.1/24 dev test-c", "address add fd09::1/64 dev test-c"]);
    ip(link.id(), &["link set test-c up", &format!("link set test-s netns {}", far.id())]);
    ip(far.id(), &["address add 10.9.0.2/24 dev test-s", "address add fd09::2/64 dev test-s"]);
    ip(far.id(), &["link set test-s up"]);
    (link, far)
}

/// A satellite above 5 degrees east that stands still.
const STILL: &str = "\
STANDS STILL
1 90007U 24001A   24153.50000000  .00000000  00000-0  00000-0 0  9993
2 90007   0.0100   0.0000 0001000   0.0000  75.4638  1.00273791    14
";

#[test]
fn packets_take_the_way_over_the_satellite_of_an_element_set() {
    if !can_make_namespaces() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("still.tle");
    fs::write(&path, STILL).expect("written");
    let profile = ["--profile", path.to_str().expect("a path"), "--from", "Paris", "--to"];
    let (link, far) = two_devices(&[&profile[..], &["Madrid"]].concat());
    let rtt = round_trip(&udp(link.id(), "10.9.0.1"), &udp(far.id(), "10.9.0.2"));
    // `bentpipe orbit` says 253.0 ms one way.
    assert!(rtt >= Duration::from_millis(506), "{rtt:?} is faster than light");
}

#[test]
fn packets_pass_between_two_devices_until_one_goes_away() {
    if !can_make_namespaces() {
        return;
    }
    let (mut link, far) = two_devices(&["vsat-asymmetric"]);
    for (near, remote) in [("10.9.0.1", "10.9.0.2"), ("fd09::1", "fd09::2")] {
        let rtt = round_trip(&udp(link.id(), near), &udp(far.id(), remote));
        assert!(rtt >= Duration::from_millis(600), "{rtt:?} is faster than light");
    }
    let shown = inside(far.id(), || Command::new("ip").args(["link", "show", "test-s"]).output());
    assert!(text(&shown.expect("it runs").stdout).contains(" mtu 1400 "));
    drop(far);
    assert_eq!(link.0.wait().expect("it ends").code(), Some(1));
    let mut said = String::new();
    link.0.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert!(said.contains("--tun test-c,test-s"), "{said}");
}
