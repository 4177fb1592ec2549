//! The commands that use the network, end to end on the loopback interface.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

fn bentpipe() -> Command {
    Command::new(env!("CARGO_BIN_EXE_bentpipe"))
}

/// A program in the background that ends with the test.
struct Background {
    child: Child,
    address: SocketAddr,
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a program and reads its address from the first line that has one.
fn start(command: &mut Command, from_stderr: bool) -> Background {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let lines: Box<dyn BufRead> = if from_stderr {
        Box::new(BufReader::new(child.stderr.take().expect("a pipe")))
    } else {
        Box::new(BufReader::new(child.stdout.take().expect("a pipe")))
    };
    let address = lines
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.split_whitespace().find_map(|word| word.parse().ok()))
        .expect("a line with its address");
    Background { child, address }
}

/// Two hosts with keys that know each other.
struct Hosts {
    dir: TempDir,
    sender: String,
    receiver: String,
}

impl Hosts {
    fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        let key = |name: &str| {
            let mut command = bentpipe();
            let output = command.arg("keygen").arg("--key").arg(dir.path().join(name)).output();
            let output = output.expect("it runs");
            assert!(output.status.success());
            String::from_utf8(output.stdout).expect("text").trim().to_owned()
        };
        let (sender, receiver) = (key("sender"), key("receiver"));
        fs::create_dir(dir.path().join("inbox")).expect("made");
        Self { dir, sender, receiver }
    }

    fn inbox(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join("inbox").join(name)
    }

    fn recv(&self) -> Background {
        let mut command = bentpipe();
        command.args(["recv", "--listen", "127.0.0.1:0", "--peer", &self.sender, "--dir"]);
        command.arg(self.dir.path().join("inbox"));
        command.arg("--key").arg(self.dir.path().join("receiver"));
        start(&mut command, false)
    }

    fn send(&self, to: SocketAddr, path: &Path, options: &[&str]) -> Command {
        let mut command = bentpipe();
        command.arg("send").arg(path).arg(to.to_string()).args(["--peer", &self.receiver]);
        command.arg("--key").arg(self.dir.path().join("sender")).args(options);
        command
    }

    fn file(&self, len: usize) -> std::path::PathBuf {
        let path = self.dir.path().join("file");
        let bytes: Vec<u8> = (0..len).map(|n| ((n * 31 / 7) ^ (n >> 9)) as u8).collect();
        fs::write(&path, bytes).expect("written");
        path
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn assert_success(output: &Output) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn a_key_file_is_made_once_and_only_its_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let hosts = Hosts::new();
    let path = hosts.dir.path().join("sender");
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    let again = bentpipe().arg("keygen").arg("--key").arg(&path).output().expect("it runs");
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("exists"));
    let show = bentpipe().args(["keygen", "--show", "--key"]).arg(&path).output().expect("it runs");
    assert_eq!(text(&show.stdout).trim(), hosts.sender);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
    let open = bentpipe().args(["keygen", "--show", "--key"]).arg(&path).output().expect("it runs");
    assert_eq!(open.status.code(), Some(2));
    assert!(text(&open.stderr).contains("chmod 600"), "{}", text(&open.stderr));
}

#[test]
fn a_file_arrives() {
    let hosts = Hosts::new();
    let receiver = hosts.recv();
    let path = hosts.file(2_000_000);
    let first = hosts.send(receiver.address, &path, &[]).output().expect("it runs");
    assert_success(&first);
    assert!(text(&first.stdout).starts_with("1 of 1 entries, 2.00 MB sent"));
    assert_eq!(fs::read(hosts.inbox("file")).expect("read"), fs::read(&path).expect("read"));
}

#[test]
fn a_file_arrives_over_an_emulated_link_that_loses_packets_both_ways() {
    let hosts = Hosts::new();
    let receiver = hosts.recv();
    let mut command = bentpipe();
    command.args(["emulate", "geo", "--swap", "--json", "--set", "links.satellite.delay=20ms"]);
    command.args(["--set", "links.terrestrial.delay=1ms", "--set", "links.satellite.loss=0.05"]);
    command.arg("--udp").arg(format!("127.0.0.1:0={}", receiver.address));
    let link = start(&mut command, true);
    let path = hosts.file(300_000);
    let sent = hosts.send(link.address, &path, &["--rate", "9 Mbit/s"]).output().expect("it runs");
    assert_success(&sent);
    assert_eq!(fs::read(hosts.inbox("file")).expect("read"), fs::read(&path).expect("read"));
    assert!(!text(&sent.stdout).contains(" 0.00 % sent again"), "{}", text(&sent.stdout));
}

#[test]
fn a_receiver_that_was_killed_gets_only_what_is_missing() {
    let hosts = Hosts::new();
    let mut receiver = hosts.recv();
    let path = hosts.file(8_000_000);
    let slow = ["--rate", "20 Mbit/s", "--patience", "2 s"];
    let mut command = hosts.send(receiver.address, &path, &slow);
    let sender = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let partial = hosts.inbox(".file.bentpipe-part");
    while fs::metadata(&partial).map_or(0, |file| file.len()) < 2_000_000 {
        std::thread::yield_now();
    }
    receiver.child.kill().expect("killed");
    let failed = sender.wait_with_output().expect("it ends");
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
    assert!(text(&failed.stderr).contains("silent"), "{}", text(&failed.stderr));
    assert!(!hosts.inbox("file").exists());
    let receiver = hosts.recv();
    let again = ["--rate", "20 Mbit/s"];
    let sent = hosts.send(receiver.address, &path, &again).output().expect("it runs");
    assert_success(&sent);
    assert!(!text(&sent.stdout).contains(" 0 B there already"), "{}", text(&sent.stdout));
    assert_eq!(fs::read(hosts.inbox("file")).expect("read"), fs::read(&path).expect("read"));
    assert!(!partial.exists());
}

#[test]
fn what_can_not_be_sent_is_named_and_the_rest_arrives() {
    let hosts = Hosts::new();
    let receiver = hosts.recv();
    let path = hosts.file(1_000);
    let missing = hosts.dir.path().join("missing");
    let command = hosts.send(receiver.address, &path, &[]);
    let output = bentpipe().arg("send").arg(&missing).args(command.get_args().skip(1)).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("missing"), "{}", text(&output.stderr));
    assert!(hosts.inbox("file").exists());
}

#[test]
fn wrong_options_say_what_would_be_right() {
    let hosts = Hosts::new();
    let path = hosts.file(10);
    let address = "127.0.0.1:9".parse().expect("an address");
    for (options, hint) in [
        (&["--rate", "10 Mbps"][..], "Mbit/s"),
        (&["--probing", "maybe"], "`on` or `off`"),
        (&["--controller", "rneo"], "no controller `rneo`"),
    ] {
        let output = hosts.send(address, &path, options).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(text(&output.stderr).contains(hint), "{}", text(&output.stderr));
    }
    let mut command = bentpipe();
    command.arg("send").arg(&path).args(["127.0.0.1:9", "--peer", "abc"]);
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("44 characters"), "{}", text(&output.stderr));
    let mut command = bentpipe();
    let output = command.args(["emulate", "geo", "--udp", "nonsense"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("LISTEN=TARGET"));
}
