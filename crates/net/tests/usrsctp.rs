//! SCTP with a stack that is not ours: usrsctp, through a small program (`usrsctp/peer.c`) that the tests
//! build. Where libusrsctp-dev is missing they say so and pass on.
//!
//! `BENTPIPE_USRSCTP_MB` says how many megabytes go in each direction; 4 if it is not set.

mod links;

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use bentpipe_association::Tuning;
use bentpipe_net::sctp::{Config, Connection, Messages as _, Node, PathChange, View, config};
use bentpipe_testkit::hosts::{LEFT, RIGHT, TwoHosts};
use bentpipe_units::Span;
use bytes::{BufMut, Bytes, BytesMut};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use links::Link;

const PORT: u16 = 7;
const STREAMS: u16 = 5;
const MESSAGE: usize = 1200;

/// Bytes that go in each direction.
fn size() -> usize {
    let megabytes = std::env::var("BENTPIPE_USRSCTP_MB").ok().and_then(|text| text.parse().ok());
    megabytes.unwrap_or(4) * 1_000_000
}

/// The program that speaks with usrsctp; built once by whoever comes first.
fn peer() -> Option<PathBuf> {
    static PEER: std::sync::OnceLock<Option<PathBuf>> = std::sync::OnceLock::new();
    PEER.get_or_init(|| {
        let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("usrsctp-peer");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/usrsctp/peer.c");
        let built = Command::new("cc")
            .args(["-O1", "-Wall", "-o"])
            .arg(&program)
            .args([source, "-lusrsctp", "-lpthread"])
            .output();
        match built {
            Ok(output) if output.status.success() => Some(program),
            Ok(output) if has_usrsctp() => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            _ => {
                let said = "SKIPPED: tests with usrsctp need cc and libusrsctp-dev";
                writeln!(std::io::stderr(), "{said}").expect("standard error");
                None
            }
        }
    })
    .clone()
}

fn has_usrsctp() -> bool {
    std::path::Path::new("/usr/include/usrsctp.h").exists()
}

/// The peer while it runs. It ends with the test.
struct Peer {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts it: `role` is `connect` or `listen`, UDP ports are its own and ours.
    fn start(
        mut command: Command,
        role: &str,
        [own, ours]: [u16; 2],
        to: &str,
        addresses: &[String],
    ) -> Self {
        command.args([role, &own.to_string(), &ours.to_string(), to]);
        command.arg((size() / 1_000_000).to_string());
        command.args([STREAMS.to_string(), MESSAGE.to_string()]).args(addresses);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut peer = Self { child, lines };
        assert_eq!(peer.line(), "ready");
        peer
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    /// What it says until it ends, which it does well.
    fn end(mut self) -> Vec<String> {
        let mut said = Vec::new();
        loop {
            match self.line() {
                line if line.is_empty() => break,
                line => said.push(line),
            }
        }
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}: {said:?}");
        said
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A link towards a peer that loses packets in both directions.
fn lossy(target: SocketAddr) -> Link {
    let any = "127.0.0.1:0".parse().expect("an address");
    Link::new(any, target, 50, Span::from_millis(10), 0.01)
}

fn settings() -> Arc<Config> {
    let config = config(&Tuning::default()).expect("settings");
    let streams = View::Messages;
    Arc::new(Config { view: streams, outbound_streams: STREAMS, ..(*config).clone() })
}

/// The message that the peer expects, or sends, as this one of a stream.
fn message(stream: u16, number: u32) -> Bytes {
    let mut bytes = BytesMut::with_capacity(MESSAGE);
    bytes.put_u32(number);
    let base = u32::from(stream) * 31 + number.wrapping_mul(7);
    bytes.extend((4..MESSAGE as u32).map(|i| base.wrapping_add(i) as u8));
    bytes.freeze()
}

/// Sends all streams and receives all of the peer's, each in its order.
async fn exchange(connection: &Connection) {
    let send = async {
        let mut next = [0; STREAMS as usize];
        for turn in 0..size().div_ceil(MESSAGE) {
            let stream = (turn % usize::from(STREAMS)) as u16;
            let number = next[usize::from(stream)];
            next[usize::from(stream)] += 1;
            connection.send(stream, 51, false, message(stream, number)).await.expect("sent");
        }
    };
    let receive = async {
        let (mut next, mut got) = ([0; STREAMS as usize], 0);
        while got < size() {
            let arrived = connection.receive().await.expect("received").expect("a message");
            let number = &mut next[usize::from(arrived.stream)];
            assert_eq!(arrived.pieces.concat(), message(arrived.stream, *number));
            assert!(arrived.complete && !arrived.unordered);
            (*number, got) = (*number + 1, got + arrived.len());
        }
        assert!(next.iter().all(|count| *count > 0), "all streams are used: {next:?}");
    };
    tokio::join!(send, receive);
}

/// UDP ports of this machine that nobody has now.
#[expect(clippy::disallowed_methods, reason = "asks the system for a port")]
fn free_port() -> u16 {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.local_addr().expect("an address").port()
}

#[tokio::test(flavor = "multi_thread")]
async fn usrsctp_opens_and_closes_over_a_lossy_link() {
    let Some(program) = peer() else { return };
    let node = Node::bind(&["127.0.0.1:0".parse().expect("an address")]).expect("a host");
    node.listen(PORT, settings());
    let link = lossy(node.local_addrs()[0]);
    let ports = [free_port(), link.address.port()];
    let local = ["127.0.0.1".to_owned()];
    let peer = Peer::start(Command::new(program), "connect", ports, "127.0.0.1", &local);
    let (_, connection) = node.accept().await;
    assert_eq!(connection.streams(), STREAMS);
    exchange(&connection).await;
    // The peer closes.
    assert_eq!(connection.receive().await.expect("the end"), None);
    connection.finish().await.expect("closed");
    let said = tokio::task::spawn_blocking(|| peer.end()).await.expect("it ends");
    assert!(said.contains(&format!("received {} wrong 0", whole())), "{said:?}");
    assert_eq!(node.counters().malformed, 0);
    assert!(link.end().lost > 0, "packets were lost in both directions");
}

#[tokio::test(flavor = "multi_thread")]
async fn usrsctp_is_called_and_hung_up_on_over_a_lossy_link() {
    let Some(program) = peer() else { return };
    let own = free_port();
    let link = lossy(([127, 0, 0, 1], own).into());
    let node = Node::bind(&["127.0.0.1:0".parse().expect("an address")]).expect("a host");
    let local = ["127.0.0.1".to_owned()];
    let peer = Peer::start(Command::new(program), "listen", [own, 9899], "-", &local);
    let connection = node.connect(link.address, PORT, settings()).await.expect("a connection");
    exchange(&connection).await;
    connection.finish().await.expect("closed");
    let said = tokio::task::spawn_blocking(|| peer.end()).await.expect("it ends");
    assert!(said.contains(&format!("received {} wrong 0", whole())), "{said:?}");
    assert!(link.end().lost > 0, "packets were lost in both directions");
}

/// Waits until that has happened to a path. False if the association ends before.
async fn wait_for(connection: &Connection, wanted: PathChange) -> bool {
    loop {
        match connection.path_change().await {
            Some(change) if change == wanted => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

/// Bytes of the whole messages that go one way.
fn whole() -> usize {
    size().div_ceil(MESSAGE) * MESSAGE
}

/// Runs on one thread in the namespace of a host.
fn on_host<R>(hosts: &TwoHosts, host: usize, work: impl Future<Output = R>) -> R {
    let namespace = std::fs::File::open(format!("/proc/{}/ns/net", hosts.id(host)));
    let namespace = namespace.expect("a namespace");
    move_into_link_name_space(
        std::os::fd::AsFd::as_fd(&namespace),
        Some(LinkNameSpaceType::Network),
    )
    .expect("root may do that");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

#[test]
fn usrsctp_and_we_go_on_over_the_second_address_when_the_first_goes_dark() {
    let Some(program) = peer() else { return };
    let Some(hosts) = TwoHosts::linked(2) else { return };
    let program = program.to_str().expect("a path").to_owned();
    let addresses = |host| [0, 1].map(|link| TwoHosts::address(link, host));
    let work = async {
        let own = addresses(LEFT).map(|ip| format!("{ip}:9899").parse().expect("an address"));
        let capture = Capture::on(&hosts);
        let node = Node::bind(&own).expect("a host");
        node.listen(PORT, settings());
        let command = hosts.command(RIGHT, &program);
        let to = TwoHosts::address(0, LEFT);
        let peer = Peer::start(command, "connect", [9899; 2], &to, &addresses(RIGHT));
        let (from, connection) = node.accept().await;
        assert_eq!(from.ip().to_string(), TwoHosts::address(0, RIGHT));
        assert!(wait_for(&connection, PathChange::Confirmed(at(1))).await);
        hosts.set_down(0, true).expect("down");
        exchange(&connection).await;
        assert!(wait_for(&connection, PathChange::Down(at(0))).await);
        assert_eq!(connection.receive().await.expect("the end"), None);
        connection.finish().await.expect("closed");
        let said = tokio::task::spawn_blocking(|| peer.end()).await.expect("it ends");
        assert!(said.contains(&format!("received {} wrong 0", whole())), "{said:?}");
        let down = format!("path {} down", TwoHosts::address(0, LEFT));
        assert!(said.contains(&down), "{said:?}");
        if let Some(capture) = capture {
            capture.catch_up().await;
            let _ = capture.judge();
        }
    };
    std::thread::scope(|scope| {
        let host = &hosts;
        scope.spawn(move || on_host(host, LEFT, work)).join().expect("it ends");
    });
}

/// Which host gets its address on the second link while the association is open.
#[derive(Clone, Copy, PartialEq)]
enum Late {
    We,
    Peer,
}

/// One host has the second address late; then the first link goes dark.
fn go_on_over_a_late_address(late: Late) {
    let Some(program) = peer() else { return };
    let Some(hosts) = TwoHosts::linked(2) else { return };
    let program = program.to_str().expect("a path").to_owned();
    let [mine, theirs] = [LEFT, RIGHT].map(|host| [0, 1].map(|link| TwoHosts::address(link, host)));
    let work = async {
        let own: Vec<_> =
            mine.iter().map(|ip| format!("{ip}:9899").parse().expect("an address")).collect();
        let at_first = if late == Late::We { &own[..1] } else { &own[..] };
        let capture = Capture::on(&hosts);
        let node = Node::bind(at_first).expect("a host");
        node.listen(PORT, settings());
        let mut addresses = theirs.clone();
        if late == Late::Peer {
            addresses[1].insert(0, '+');
        }
        let start = || {
            let command = hosts.command(RIGHT, &program);
            Peer::start(command, "connect", [9899; 2], &mine[0], &addresses)
        };
        let (mut peer, (_, mut connection)) = (start(), node.accept().await);
        let wanted = match late {
            Late::We => {
                node.add_address(own[1].ip(), true).expect("an address of this host");
                PathChange::Readdressed
            }
            Late::Peer => PathChange::Confirmed(at(1)),
        };
        let mut others = 2;
        while !wait_for(&connection, wanted).await {
            // Where much else runs usrsctp may keep its new address for itself, and give up as nothing is read.
            assert!(late == Late::Peer && others > 0, "nothing became of the address");
            others -= 1;
            (peer, (_, connection)) = (start(), node.accept().await);
        }
        hosts.set_down(0, true).expect("down");
        exchange(&connection).await;
        assert_eq!(connection.receive().await.expect("the end"), None);
        connection.finish().await.expect("closed");
        let said = tokio::task::spawn_blocking(|| peer.end()).await.expect("it ends");
        assert!(said.contains(&format!("received {} wrong 0", whole())), "{said:?}");
        if let Some(capture) = capture {
            capture.catch_up().await;
            let kinds = capture.judge();
            // AUTH, ASCONF-ACK, ASCONF.
            assert!([15, 128, 193].iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
        }
    };
    std::thread::scope(|scope| {
        let host = &hosts;
        scope.spawn(move || on_host(host, LEFT, work)).join().expect("it ends");
    });
}

#[test]
fn usrsctp_takes_an_address_that_we_get_while_the_association_is_open() {
    go_on_over_a_late_address(Late::We);
}

#[test]
fn we_take_an_address_that_usrsctp_gets_while_the_association_is_open() {
    go_on_over_a_late_address(Late::Peer);
}

/// What is sent last on a link that is captured.
const LAST: &[u8] = b"nothing comes after this";

/// A capture of both links at the left host.
struct Capture {
    dumpcap: Child,
    dir: tempfile::TempDir,
}

impl Capture {
    /// Starts it, where that is possible.
    fn on(hosts: &TwoHosts) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let mut dumpcap = hosts.command(LEFT, "dumpcap");
        dumpcap.args(["-q", "-i", "link0", "-i", "link1", "-f", "ip", "-w"]);
        let dumpcap = dumpcap.arg(dir.path().join("live.pcapng")).stderr(Stdio::piped()).spawn();
        let mut dumpcap = dumpcap.ok()?;
        let lines = BufReader::new(dumpcap.stderr.take().expect("a pipe")).lines();
        let begun = lines.map_while(Result::ok).any(|line| line.starts_with("File:"));
        if !begun {
            let _ = dumpcap.wait();
            let said = "SKIPPED: dumpcap cannot capture, tshark has judged nothing";
            writeln!(std::io::stderr(), "{said}").expect("standard error");
        }
        begun.then_some(Self { dumpcap, dir })
    }

    /// Waits until everything that crossed the second link is in the file.
    async fn catch_up(&self) {
        let [from, to] = [LEFT, RIGHT].map(|host| TwoHosts::address(1, host));
        let socket = tokio::net::UdpSocket::bind((from.as_str(), 0)).await.expect("a socket");
        // Nobody listens there.
        socket.send_to(LAST, (to.as_str(), 9)).await.expect("sent");
        let file = self.dir.path().join("live.pcapng");
        let is_there = || {
            let written = std::fs::read(&file).expect("a file");
            written.windows(LAST.len()).any(|bytes| bytes == LAST)
        };
        while !is_there() {
            tokio::task::yield_now().await;
        }
    }

    /// Lets tshark judge every packet: none is malformed, every checksum is right, and all kinds of chunks
    /// are there that an association has.
    fn judge(mut self) -> std::collections::BTreeSet<u8> {
        let process = rustix::process::Pid::from_child(&self.dumpcap);
        rustix::process::kill_process(process, rustix::process::Signal::INT).expect("it runs");
        self.dumpcap.wait().expect("it ends");
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(self.dir.path().join("live.pcapng"));
        tshark.args(["-n", "-d", "udp.port==9899,sctp", "-o", "sctp.checksum:crc-32c"]);
        // A router's answer quotes the beginning of a packet, and usrsctp sends some in two fragments.
        tshark.args(["-Y", "(sctp or _ws.malformed) and not icmp"]);
        tshark.args(["-T", "fields", "-E", "separator=;", "-e", "_ws.malformed"]);
        tshark.args(["-e", "sctp.checksum.status", "-e", "sctp.chunk_type"]);
        let output = tshark.output().expect("tshark runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut kinds = std::collections::BTreeSet::new();
        for packet in String::from_utf8(output.stdout).expect("text").lines() {
            let fields: Vec<_> = packet.split(';').collect();
            assert_eq!(fields[..2], ["", "1"], "{packet}");
            kinds.extend(fields[2].split(',').map(|kind| kind.parse::<u8>().expect("a number")));
        }
        // DATA, INIT, INIT ACK, SACK, HEARTBEAT and its answer, the end, COOKIE ECHO and its answer.
        for kind in [0, 1, 2, 3, 4, 5, 7, 8, 10, 11, 14] {
            assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
        }
        kinds
    }
}

/// The peer's address on a link.
fn at(link: u8) -> SocketAddr {
    format!("{}:9899", TwoHosts::address(link, RIGHT)).parse().expect("an address")
}
