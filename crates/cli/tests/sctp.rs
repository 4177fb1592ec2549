//! Files over SCTP between two hosts with two links. What needs root says so and is skipped without it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use bentpipe_testkit::hosts::{LEFT, RIGHT, TwoHosts};
use tempfile::TempDir;

const BENTPIPE: &str = env!("CARGO_BIN_EXE_bentpipe");

/// A program in the background that ends with the test.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn output(arguments: &[&str]) -> Output {
    Command::new(BENTPIPE).args(arguments).output().expect("it runs")
}

/// Starts a receiver and waits until it listens.
fn receiver(mut command: Command, listen: &[String], dir: &Path) -> Background {
    command.args(["recv", "--transport", "sctp", "--security", "none", "--once", "--dir"]).arg(dir);
    for address in listen {
        command.args(["--listen", address]);
    }
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut line = String::new();
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    lines.read_line(&mut line).expect("a line");
    assert!(line.starts_with("listening on "), "{line}");
    child.stdout = Some(lines.into_inner());
    Background(child)
}

#[test]
fn a_file_arrives_although_the_first_of_two_links_goes_dark() {
    let Some(hosts) = TwoHosts::linked(2) else { return };
    let dir = TempDir::new().expect("a directory");
    let inbox = dir.path().join("inbox");
    fs::create_dir(&inbox).expect("made");
    let content: Vec<u8> = (0..20_000_000u32).map(|n| ((n * 31 / 7) ^ (n >> 9)) as u8).collect();
    fs::write(dir.path().join("file"), &content).expect("written");
    let listen = [0, 1].map(|link| format!("{}:9899", TwoHosts::address(link, RIGHT)));
    let mut receiver = receiver(hosts.command(RIGHT, BENTPIPE), &listen, &inbox);
    let mut send = hosts.command(LEFT, BENTPIPE);
    send.arg("send").arg(dir.path().join("file")).arg(&listen[0]);
    send.args(["--transport", "sctp", "--security", "none", "--rate", "40 Mbit/s"]);
    for link in [0, 1] {
        send.args(["--bind", &TwoHosts::address(link, LEFT)]);
    }
    let sender = send.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let partial = inbox.join(".file.bentpipe-part");
    while fs::metadata(&partial).map_or(0, |file| file.len()) < 5_000_000 {
        std::thread::yield_now();
    }
    hosts.set_down(0, true).expect("a link that is down");
    let sent = sender.wait_with_output().expect("it ends");
    let said = text(&sent.stderr);
    assert!(sent.status.success(), "{said}");
    assert!(said.contains(&format!("the path to {} is down", listen[0])), "{said}");
    assert!(said.contains("NOTHING IS ENCRYPTED"), "{said}");
    assert!(receiver.0.wait().expect("it ends").success());
    assert!(fs::read(inbox.join("file")).expect("the file") == content, "the content differs");
}

#[test]
fn sctp_has_to_be_asked_for_without_encryption_and_knows_no_keys() {
    let key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    for (arguments, hint) in [
        (&["recv", "--dir", ".", "--transport", "sctp"][..], "--security none"),
        (&["send", "x", "[::1]:9", "--transport", "sctp"], "--security none"),
        (
            &["recv", "--dir", ".", "--transport", "sctp", "--security", "none", "--peer", key],
            "no keys",
        ),
        (&["recv", "--dir", ".", "--transport", "xstp"], "--peer"),
        (&["send", "x", "[::1]:9", "--transport", "xstp"], "--peer"),
        (
            &["recv", "--dir", ".", "--peer", key, "--listen", "[::1]:1", "--listen", "[::1]:2"],
            "only SCTP",
        ),
        (
            &[
                "send",
                "x",
                "[::1]:9",
                "--transport",
                "sctp",
                "--security",
                "none",
                "--probing",
                "on",
            ],
            "only XSTP",
        ),
        (&["recv", "--transport", "udp"], "[possible values: xstp, sctp]"),
    ] {
        let output = output(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(hint), "{}", text(&output.stderr));
    }
}

#[test]
fn addresses_of_one_host_have_one_port() {
    let listen = ["--listen", "127.0.0.1:1999", "--listen", "127.0.0.2:2999"];
    let output = output(
        &[&["recv", "--dir", ".", "--transport", "sctp", "--security", "none"][..], &listen]
            .concat(),
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("the same port"), "{}", text(&output.stderr));
}
