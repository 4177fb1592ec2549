//! Files over packet radio with a real modem: `bentpipe send` and `recv` with two Dire Wolf TNCs, carrier sense included.
//! Says so where there is no Dire Wolf.

mod air;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use air::Air;
use bentpipe_testkit::pattern;
use tempfile::TempDir;

fn bentpipe(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.args(args);
    command
}

/// A receiver that ends with the test.
struct Receiver(Child);

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What both ends are told of the channel.
const SETTINGS: [&str; 6] = ["--tx-delay", "300ms", "--persistence", "63", "--slot-time", "100ms"];

/// A file from one TNC to the other one, which `recv` and `send` say was moved, and what `send` says of it.
fn moved(len: usize, from: &str, to: &str) -> String {
    let (source, sink) =
        (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let (file, bytes) = (source.path().join("file"), pattern(len));
    fs::write(&file, &bytes).expect("written");
    let mut recv =
        bentpipe(&["recv", "--via", to, "--callsign", "W1ABC-1", "--security", "none", "--once"]);
    recv.args(SETTINGS).arg("--dir").arg(sink.path()).stdout(Stdio::piped());
    let mut recv = Receiver(recv.spawn().expect("it starts"));
    let mut said = BufReader::new(recv.0.stdout.take().expect("a pipe")).lines();
    let mut next = || said.next().expect("a line").expect("text");
    assert!(next().contains("listening as W1ABC-1"));
    let send = bentpipe(&["send", "--via", from, "--callsign", "W2DEF", "--security", "none"])
        .args(SETTINGS)
        .args([file.as_os_str(), "W1ABC-1".as_ref()])
        .output()
        .expect("it runs");
    let (out, err) = (text(&send.stdout), text(&send.stderr));
    assert!(send.status.success(), "{out}{err}");
    let line = next();
    assert!(line.contains("file") && line.contains("from W2DEF"), "{line}");
    assert!(recv.0.wait().expect("it ends").success());
    assert!(is_same(&sink.path().join("file"), &bytes), "the file arrived changed");
    out
}

fn is_same(path: &Path, bytes: &[u8]) -> bool {
    fs::read(path).expect("a file") == bytes
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Files between two modems of this rate: of so many bytes there, and then of so many back.
async fn carried(rate: u32, there: usize, back: Option<usize>) {
    if !air::is_installed() {
        eprintln!("skipped: there is no Dire Wolf (Debian package `direwolf`)");
        return;
    }
    let air = Air::open(rate);
    let [first, second] = air.tncs.clone();
    let moves = tokio::task::spawn_blocking(move || {
        let said = moved(there, &first, &second);
        [Some(said), back.map(|back| moved(back, &second, &first))]
    });
    for said in moves.await.expect("moved").iter().flatten() {
        println!("at {rate} bit/s: {}", said.trim_end());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_go_there_and_back_at_9600_bit_per_second() {
    carried(9600, 10_240, Some(1000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_arrives_at_1200_bit_per_second() {
    carried(1200, 500, None).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute; prints the rates that are in docs/packet-radio.md"]
async fn ten_kilobytes_go_each_way_at_9600_bit_per_second() {
    carried(9600, 10_240, Some(10_240)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes five minutes; prints the rates that are in docs/packet-radio.md"]
async fn ten_kilobytes_go_each_way_at_1200_bit_per_second() {
    carried(1200, 10_240, Some(10_240)).await;
}
