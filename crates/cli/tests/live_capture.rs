//! A live capture of two hosts that speak readably, as the dissector for Wireshark shows it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Marks the end of the capture.
const LAST: &[u8] = b"there is nothing more to capture";

/// Of this severity on Wireshark is in doubt (PI_NOTE). Below it are chats: a datagram to a port from
/// 33434 on may be a traceroute.
const NOTE: u32 = 0x0040_0000;

/// A program in the background that ends with the test.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn bentpipe() -> Command {
    Command::new(env!("CARGO_BIN_EXE_bentpipe"))
}

fn text(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The rest of a line of output that begins so.
fn awaits(from: impl std::io::Read, beginning: &str) -> Option<String> {
    let mut lines = BufReader::new(from).lines().map_while(Result::ok);
    lines.find_map(|line| line.trim().strip_prefix(beginning).map(str::to_owned))
}

/// Says so past the test harness, which hides what passing tests print.
fn skipped(why: &str) {
    writeln!(std::io::stderr(), "SKIPPED: {why}, no live capture was made")
        .expect("standard error");
}

/// Captures a port of the loopback interface; nothing where that is not possible.
fn capture(port: &str) -> Option<Background> {
    let mut command = Command::new("dumpcap");
    command.args(["-q", "-i", "lo", "-f", &format!("udp port {port}"), "-w", "-"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let mut dumpcap = Background(child);
    awaits(dumpcap.0.stderr.take().expect("a pipe"), "File:")?;
    Some(dumpcap)
}

/// Reads a capture until the last datagram that this test sends is in it.
#[expect(clippy::disallowed_methods, reason = "a datagram that is none of ours")]
fn captured(dumpcap: &mut Background, address: &str) -> Vec<u8> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.send_to(LAST, address).expect("sent");
    let mut output = dumpcap.0.stdout.take().expect("a pipe");
    let (mut bytes, mut piece) = (Vec::new(), [0; 65_536]);
    loop {
        let read = output.read(&mut piece).expect("the capture");
        assert!(read > 0, "the capture ends too early");
        let from = bytes.len().saturating_sub(LAST.len());
        bytes.extend_from_slice(&piece[..read]);
        if bytes[from..].windows(LAST.len()).any(|window| window == LAST) {
            return bytes;
        }
    }
}

#[test]
fn the_dissector_reads_every_datagram_of_hosts_without_encryption() {
    let dir = TempDir::new().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    let key = |name| text(bentpipe().arg("keygen").arg("--key").arg(path(name))).trim().to_owned();
    let (sender, receiver) = (key("sender"), key("receiver"));
    fs::create_dir(path("inbox")).expect("made");
    let content: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
    fs::write(path("file"), &content).expect("written");

    let mut recv = bentpipe();
    recv.args([
        "recv",
        "--security",
        "none",
        "--listen",
        "127.0.0.1:0",
        "--once",
        "--fec",
        "off",
        "--peer",
    ]);
    recv.arg(&sender).arg("--dir").arg(path("inbox")).arg("--key").arg(path("receiver"));
    let mut recv =
        Background(recv.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts"));
    let address = awaits(recv.0.stdout.take().expect("a pipe"), "listening on ");
    let address = address.expect("an address");
    let address = address.split_whitespace().next().expect("an address");
    let port = address.rsplit(':').next().expect("a port");
    let file = path("live.pcapng");
    let Some(mut dumpcap) = capture(port) else { return skipped("dumpcap cannot capture") };
    let mut send = bentpipe();
    send.args(["send", "--security", "none", "--peer", &receiver, "--key"]).arg(path("sender"));
    // At a rate and without parity datagrams leave one by one: the loopback interface shows trains of
    // them as one.
    send.arg(path("file")).arg(address);
    text(send.args(["--rate", "5 Mbit/s", "--fec", "off"]));
    assert!(recv.0.wait().expect("it ends").success());
    assert_eq!(fs::read(path("inbox").join("file")).expect("the file"), content);
    fs::write(&file, captured(&mut dumpcap, address)).expect("written");

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/wireshark/xstp.lua");
    let mut tshark = Command::new("tshark");
    tshark.arg("-X").arg(format!("lua_script:{script}")).arg("-r").arg(&file);
    tshark.args(["-n", "-d", &format!("udp.port=={port},bentpipe_udp")]);
    tshark.args(["-T", "fields", "-E", "separator=;", "-e", "_ws.malformed", "-e"]);
    tshark.args(["_ws.expert.severity", "-e", "bentpipe.kind", "-e", "_ws.col.Info"]);
    let shown = text(&mut tshark);
    let mut seen = BTreeSet::new();
    for packet in shown.lines() {
        let fields: Vec<&str> = packet.split(';').collect();
        assert_eq!(fields[0], "", "{packet}");
        let mut severities = fields[1].split(',').filter(|severity| !severity.is_empty());
        assert!(severities.all(|severity| severity.parse::<u32>().expect("a number") < NOTE));
        if fields[3].contains("Len=32") && fields[2].is_empty() {
            continue; // the last one
        }
        let kind = u8::from_str_radix(fields[2].trim_start_matches("0x"), 16);
        assert!(kind.is_ok_and(|kind| (0x11..=0x14).contains(&kind)), "{packet}");
        seen.extend(fields[3].split_whitespace().map(str::to_owned));
    }
    for word in ["Request", "Answer", "DATA", "POLL", "STAT", "END", "ENDAK", "message"] {
        assert!(seen.contains(word), "{word} in {seen:?}");
    }
}
