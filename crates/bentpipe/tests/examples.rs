//! The examples run as they stand.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bentpipe::association::SecretKey;
use bentpipe::net::key_file;

/// An example that `cargo test` has built.
fn example(name: &str) -> Command {
    let tests = std::env::current_exe().expect("this program");
    let folder = tests.parent().and_then(Path::parent).expect("the folder of a profile");
    Command::new(folder.join("examples").join(name))
}

fn said(name: &str) -> String {
    let output = example(name).output().expect("examples are built by `cargo test`");
    assert!(output.status.success(), "{name}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_loss_in_a_hundred_leaves_cubic_behind_bbr_and_bbr_behind_a_known_rate() {
    let said = said("simulate");
    let seconds: Vec<f64> = said
        .lines()
        .map(|line| line.split_whitespace().rev().nth(1).and_then(|time| time.parse().ok()))
        .map(|time| time.expect("a time at the end of the line"))
        .collect();
    assert_eq!(seconds.len(), 3, "{said}");
    assert!(seconds[0] > seconds[1] && seconds[1] > seconds[2], "{said}");
}

#[test]
fn a_controller_of_ones_own_is_in_the_comparison() {
    let said = said("own_controller");
    for name in ["tcp-doubling", "tcp-cubic", "tcp-bbr"] {
        assert!(said.contains(name), "{said}");
    }
}

#[test]
fn two_ends_that_are_driven_by_hand_deliver_all() {
    let said = said("drive_by_hand");
    assert!(said.starts_with("1000000 bytes in "), "{said}");
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_client_gets_back_what_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = [SecretKey::generate(), SecretKey::generate()];
    let file = |name: &str, key: &SecretKey| -> PathBuf {
        let path = folder.path().join(name);
        key_file::save(key, &path).expect("a key file");
        path
    };
    let [server, client] = &keys;
    let mut command = example("server");
    command.arg("127.0.0.1:0").arg(file("server.key", server)).arg(client.public().to_string());
    let child = command.stdout(Stdio::piped()).spawn().expect("examples are built by `cargo test`");
    let mut running = Running(child);
    let mut line = String::new();
    let output = running.0.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut line).expect("where it listens");
    let address = line.trim().strip_prefix("listening on ").expect("an address");

    let mut command = example("client");
    command.arg(address).arg(file("client.key", client)).arg(server.public().to_string());
    let output = command.arg("over the satellite").output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "over the satellite\n", "{output:?}");
}
