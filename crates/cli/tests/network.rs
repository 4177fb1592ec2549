//! The commands that use the network, end to end on the loopback interface.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write as _};
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
fn a_file_arrives_over_an_emulated_link_that_loses_packets_in_both_directions() {
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
    assert!(!text(&sent.stdout).contains(" 0.00 % retransmitted"), "{}", text(&sent.stdout));
}

#[test]
fn a_receiver_that_was_killed_gets_only_what_is_missing() {
    let hosts = Hosts::new();
    let mut receiver = hosts.recv();
    let path = hosts.file(8_000_000);
    let slow = ["--rate", "20 Mbit/s", "--idle-timeout", "2 s"];
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
        (&["--rate", "10 MBps"][..], "Mbit/s"),
        (&["--probing", "maybe"], "`on` or `off`"),
        (&["--controller", "rneo"], "'reno'"),
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

/// What a program in the background has said on its standard error, after it was ended.
fn rest(mut program: Background) -> String {
    let _ = program.child.kill();
    let mut text = String::new();
    if let Some(mut pipe) = program.child.stderr.take() {
        pipe.read_to_string(&mut text).expect("text");
    }
    text
}

#[test]
fn sending_again_leaves_every_byte_and_says_nothing_new() {
    let hosts = Hosts::new();
    let receiver = hosts.recv();
    let path = hosts.file(10_000_000);
    for run in 0..5 {
        let sent = hosts.send(receiver.address, &path, &[]).output().expect("it runs");
        assert_success(&sent);
        let same = fs::read(hosts.inbox("file")).expect("read") == fs::read(&path).expect("read");
        assert!(same, "run {run}");
    }
    assert_eq!(fs::read_dir(hosts.dir.path().join("inbox")).expect("a directory").count(), 1);
}

#[test]
fn recv_has_to_be_told_where_files_go_and_replaces_nothing_of_its_own_accord() {
    let hosts = Hosts::new();
    let output = bentpipe().args(["recv", "--peer", &hosts.sender]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--dir"), "{}", text(&output.stderr));
    let receiver = hosts.recv();
    let path = hosts.file(1_000);
    fs::write(hosts.inbox("file"), "mine").expect("written");
    let sent = hosts.send(receiver.address, &path, &[]).output().expect("it runs");
    assert_eq!(sent.status.code(), Some(1));
    assert!(text(&sent.stderr).contains("--overwrite"), "{}", text(&sent.stderr));
    assert_eq!(fs::read(hosts.inbox("file")).expect("read"), b"mine");
}

#[test]
fn the_umask_of_the_receiver_bounds_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let hosts = Hosts::new();
    let path = hosts.file(10);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("a mode");
    let program = env!("CARGO_BIN_EXE_bentpipe");
    let mut recv = Command::new("sh");
    let script = format!("umask 077; exec '{program}' \"$@\"");
    recv.args(["-c", &script, "sh", "recv", "--listen", "127.0.0.1:0", "--peer", &hosts.sender]);
    recv.arg("--dir").arg(hosts.dir.path().join("inbox"));
    recv.arg("--key").arg(hosts.dir.path().join("receiver"));
    let receiver = start(&mut recv, false);
    assert_success(&hosts.send(receiver.address, &path, &[]).output().expect("it runs"));
    let mode = fs::metadata(hosts.inbox("file")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn symbolic_links_are_skipped_with_success_or_sent_as_links() {
    let hosts = Hosts::new();
    let receiver = hosts.recv();
    let tree = hosts.dir.path().join("tree");
    fs::create_dir(&tree).expect("made");
    fs::write(tree.join("file"), "x").expect("written");
    std::os::unix::fs::symlink("file", tree.join("link")).expect("linked");
    let sent = hosts.send(receiver.address, &tree, &[]).output().expect("it runs");
    assert_success(&sent);
    let said = text(&sent.stderr);
    assert!(said.lines().any(|line| line == "1 item skipped (symbolic link)"), "{said}");
    assert!(!hosts.inbox("tree/link").is_symlink());
    assert_success(&hosts.send(receiver.address, &tree, &["--links"]).output().expect("it runs"));
    assert_eq!(fs::read_link(hosts.inbox("tree/link")).expect("a link"), Path::new("file"));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "an address at which nobody answers")]
fn nobody_who_listens_is_told_apart_from_nobody_who_answers() {
    let hosts = Hosts::new();
    let path = hosts.file(10);
    // A port that was free a moment ago, and one at which nobody answers.
    let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = free.local_addr().expect("an address");
    drop(free);
    let refused = hosts.send(address, &path, &[]).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("connection refused"), "{}", text(&refused.stderr));
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = silent.local_addr().expect("an address");
    let given_up =
        hosts.send(address, &path, &["--idle-timeout", "3 s"]).output().expect("it runs");
    assert_eq!(given_up.status.code(), Some(1));
    let said = text(&given_up.stderr);
    assert!(said.contains(&format!("connecting to {address} ... no answer for 2 s")), "{said}");
    assert!(said.contains("no answer for 3 s: nobody is there"), "{said}");
    assert!(said.contains(&hosts.sender), "{said}");
}

#[test]
fn recv_says_whose_key_it_does_not_know() {
    let hosts = Hosts::new();
    let mut command = bentpipe();
    command.args(["recv", "--listen", "127.0.0.1:0", "--peer", &hosts.receiver, "--dir"]);
    command.arg(hosts.dir.path().join("inbox"));
    command.arg("--key").arg(hosts.dir.path().join("receiver"));
    let receiver = start(&mut command, false);
    let path = hosts.file(10);
    let sent = hosts.send(receiver.address, &path, &["--idle-timeout", "2 s"]).output();
    assert_eq!(sent.expect("it runs").status.code(), Some(1));
    let said = rest(receiver);
    assert!(said.contains(&hosts.sender), "{said}");
}

#[test]
fn names_that_a_terminal_would_obey_are_made_harmless() {
    let hosts = Hosts::new();
    let receiver = hosts.recv();
    let path = hosts.dir.path().join("a\u{1b}[2Jb");
    fs::write(&path, "x").expect("written");
    fs::write(hosts.inbox("a\u{1b}[2Jb"), "mine").expect("written");
    let sent = hosts.send(receiver.address, &path, &[]).output().expect("it runs");
    assert!(text(&sent.stderr).contains("a\u{fffd}[2Jb"), "{}", text(&sent.stderr));
    let said = rest(receiver);
    assert!(said.contains("a\u{fffd}[2Jb") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn an_interrupted_sender_says_that_the_same_command_resumes() {
    let hosts = Hosts::new();
    let receiver = hosts.recv();
    let path = hosts.file(8_000_000);
    let mut command = hosts.send(receiver.address, &path, &["--rate", "20 Mbit/s"]);
    let sender = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let partial = hosts.inbox(".file.bentpipe-part");
    while fs::metadata(&partial).map_or(0, |file| file.len()) < 2_000_000 {
        std::thread::yield_now();
    }
    let id = sender.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("it runs").success());
    let stopped = sender.wait_with_output().expect("it ends");
    assert_eq!(stopped.status.code(), Some(1));
    assert!(text(&stopped.stderr).contains("the same command resumes"));
    let resumed = hosts.send(receiver.address, &path, &["--rate", "20 Mbit/s"]).output();
    let resumed = resumed.expect("it runs");
    assert_success(&resumed);
    assert!(!text(&resumed.stdout).contains(" 0 B there already"), "{}", text(&resumed.stdout));
    assert!(fs::read(hosts.inbox("file")).expect("read") == fs::read(&path).expect("read"));
}

#[test]
fn a_receiver_whose_output_nobody_reads_goes_on() {
    let hosts = Hosts::new();
    let tree = hosts.dir.path().join("tree");
    fs::create_dir(&tree).expect("made");
    // Their lines are longer than what a pipe holds.
    for n in 0..900 {
        fs::write(tree.join(format!("{n:0>100}")), b"x").expect("written");
    }
    let mut command = bentpipe();
    command.args(["recv", "--listen", "127.0.0.1:0", "--peer", &hosts.sender, "--dir"]);
    command.arg(hosts.dir.path().join("inbox"));
    command.arg("--key").arg(hosts.dir.path().join("receiver")).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut unread = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    unread.read_line(&mut first).expect("a line");
    let address = first.split_whitespace().find_map(|word| word.parse().ok()).expect("an address");
    let _receiver = Background { child, address };
    assert_success(&hosts.send(address, &tree, &[]).output().expect("it runs"));
    assert_eq!(fs::read_dir(hosts.inbox("tree")).expect("a directory").count(), 900);
}

#[test]
fn a_receiver_whose_output_can_not_be_written_goes_on() {
    let hosts = Hosts::new();
    let tree = hosts.dir.path().join("tree");
    fs::create_dir(&tree).expect("made");
    for n in 0..20 {
        fs::write(tree.join(n.to_string()), b"x").expect("written");
    }
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let mut command = bentpipe();
    command.args(["recv", "--listen", "127.0.0.1:0", "--peer", &hosts.sender, "--dir"]);
    command.arg(hosts.dir.path().join("inbox"));
    command.arg("--key").arg(hosts.dir.path().join("receiver")).stderr(Stdio::piped());
    let receiver = start(&mut command, false);
    assert_success(&hosts.send(receiver.address, &tree, &[]).output().expect("it runs"));
    // The sender says that its own words were lost, and not that the files were.
    let output = hosts.send(receiver.address, &tree, &[]).stdout(full()).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("cannot write the output"), "{said}");
}

/// Somebody who has gone, a disk that is full, and somebody who takes nothing as long as he is held.
fn bad_readers() -> Vec<(&'static str, Stdio, Option<std::io::PipeReader>)> {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("opened");
    let (reader, gone) = std::io::pipe().expect("a pipe");
    drop(reader);
    let (reader, mut stalled) = std::io::pipe().expect("a pipe");
    // What a pipe has room for.
    stalled.write_all(&[b'.'; 65_536]).expect("written");
    vec![
        ("gone", gone.into(), None),
        ("full", full.into(), None),
        ("stalled", stalled.into(), Some(reader)),
    ]
}

#[test]
fn whoever_reads_what_send_says_the_exit_code_is_true_and_the_files_arrive() {
    for stream in ["stdout", "stderr"] {
        for (name, bad, _held) in bad_readers() {
            let hosts = Hosts::new();
            let (receiver, file) = (hosts.recv(), hosts.file(50_000));
            let mut command = bentpipe();
            command.arg("send").arg(&file).arg(hosts.dir.path().join("missing"));
            command.arg(receiver.address.to_string()).args(["--peer", &hosts.receiver]);
            command.arg("--key").arg(hosts.dir.path().join("sender"));
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let _ = if stream == "stdout" { command.stdout(bad) } else { command.stderr(bad) };
            let status = command.status().expect("it runs");
            assert_eq!(status.code(), Some(1), "{stream} {name}: one file is missing");
            let sent = fs::read(hosts.inbox("file")).expect("it arrived");
            assert!(sent == fs::read(&file).expect("read"), "{stream} {name}");
        }
    }
}

#[test]
fn where_there_are_only_links_there_is_nothing_wrong() {
    let hosts = Hosts::new();
    let link = hosts.dir.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).expect("made");
    let sent = hosts.send(SocketAddr::from(([127, 0, 0, 1], 9)), &link, &[]).output();
    let sent = sent.expect("it runs");
    assert_success(&sent);
    assert!(text(&sent.stderr).contains("1 item skipped (symbolic link)"), "{sent:?}");
}
