//! `bentpipe send` and `recv` with a TNC: what they ask for, and what they say when it is not there or goes.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn bentpipe(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.args(line.split(' '));
    command
}

/// What is said of a command that is refused.
fn refused(line: &str) -> String {
    let Output { status, stderr, .. } = bentpipe(line).output().expect("it runs");
    let said = String::from_utf8_lossy(&stderr).into_owned();
    assert!(!status.success(), "{line}: {said}");
    said
}

/// A port of a TNC that is played.
fn port() -> (TcpListener, String) {
    #[expect(clippy::disallowed_methods, reason = "the TNC is played")]
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    (listener, address)
}

#[test]
fn what_is_missing_or_wrong_is_named_with_what_would_be_right() {
    let recv = "recv --dir . --via kiss:localhost:8001";
    let whole = "--callsign W1ABC-1 --security none";
    for (rest, parts) in [
        ("--security none", vec!["--callsign W1ABC-1"]),
        ("--callsign W1ABC-1", vec!["nothing is encrypted", "obscured", "--security none"]),
        ("--callsign w1abc --security none", vec!["`w1abc`", "capital letters"]),
        ("--callsign W1ABC=44.60 --security none", vec!["`44.60`", "CALLSIGN=IPV4"]),
        (&format!("{whole} --tx-delay 3s"), vec!["3 s", "0 to 2550 ms"]),
        (&format!("{whole} --slot-time 15ms"), vec!["15 ms", "steps of 10 ms"]),
        (&format!("{whole} --persistence 256"), vec!["256", "0..=255"]),
        (&format!("{whole} --tnc-port 16"), vec!["16", "0 to 15"]),
        (
            &format!("{whole}{}", " --digi DIGI".repeat(9)),
            vec!["--digi", "9 repeaters", "at most 8"],
        ),
        (&format!("{whole} --node 3"), vec!["--node"]),
        (&format!("{whole} --listen 0.0.0.0:1"), vec!["--listen"]),
    ] {
        let said = refused(&format!("{recv} {rest}"));
        assert!(parts.iter().all(|part| said.contains(part)), "{rest}: {said}");
    }
    for (via, part) in [
        ("kiss:localhost", "`localhost` is no TNC"),
        ("kiss:/dev/ttyUSB0@fast", "`/dev/ttyUSB0@fast` is no TNC"),
        ("tnc", "kiss:localhost:8001"),
        ("mqueue", "--node"),
    ] {
        let said = refused(&format!("recv --dir . --via {via}"));
        assert!(said.contains(part), "{via}: {said}");
    }
    let itself = format!("send Cargo.toml W1ABC-1 --via kiss:localhost:8001 {whole}");
    assert!(refused(&itself).contains("W1ABC-1 is this station"));
    let mqueue = "recv --dir . --via mqueue --node 3 --security none";
    assert!(refused(mqueue).contains("--security"), "queues have no such choice");
}

#[test]
fn a_tnc_that_is_not_there_is_named() {
    let (listener, address) = port();
    drop(listener);
    let said =
        refused(&format!("recv --dir . --callsign W1ABC-1 --security none --via kiss:{address}"));
    assert!(said.contains(&format!("no TNC at {address}")), "{said}");
    let said = refused("recv --dir . --callsign W1ABC-1 --security none --via kiss:/dev/null");
    assert!(said.contains("no TNC at /dev/null@9600: it is no serial line"), "{said}");
}

#[test]
fn a_tnc_is_told_its_settings_and_ends_the_command_when_it_goes() {
    let (dir, (listener, address)) = (TempDir::new().expect("a directory"), port());
    fs::write(dir.path().join("file"), "text").expect("written");
    let station = format!("--callsign W1ABC-1 --security none --via kiss:{address}");
    let settings =
        "--tx-delay 300ms --persistence 63 --slot-time 100ms --tx-tail 50ms --tnc-port 1";
    for command in ["recv --dir .", "send file W2DEF"] {
        let mut command = bentpipe(&format!("{command} {station} {settings}"));
        command.current_dir(&dir).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        let (mut line, _) = listener.accept().expect("a station");
        let mut told = [0; 16];
        line.read_exact(&mut told).expect("settings");
        assert_eq!(&told, b"\xc0\x11\x1e\xc0\xc0\x12\x3f\xc0\xc0\x13\x0a\xc0\xc0\x14\x05\xc0");
        drop(line);
        let Output { status, stderr, .. } = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&stderr);
        let gone = format!("the TNC at {address} is gone");
        assert!(!status.success() && said.contains(&gone), "{said}");
    }
}
