//! What comes with the package: the unit of systemd and the examples.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bentpipe_gateway::{Config, Role};
use bentpipe_net::gateway::load;

fn packaging(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(packaging(path)).expect(path)
}

/// Runs systemd-analyze on the unit with this program in the place of the installed one; `None` if there is
/// no systemd-analyze here.
fn analyze(args: &[&str], edit: impl Fn(String) -> String) -> Option<(bool, String)> {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        eprintln!("skipped: systemd-analyze is not installed");
        return None;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let unit = dir.path().join("bentpipe-gateway.service");
    let text = read("systemd/bentpipe-gateway.service");
    let text =
        edit(text.replace("/usr/bin/bentpipe ", concat!(env!("CARGO_BIN_EXE_bentpipe"), " ")));
    fs::write(&unit, text).expect("written");
    let output = Command::new("systemd-analyze").args(args).arg(&unit).output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

#[test]
fn systemd_takes_the_unit_and_not_a_broken_one() {
    let Some((good, said)) = analyze(&["verify", "--man=no"], |unit| unit) else { return };
    assert!(good && said.is_empty(), "{said}");
    let broken = analyze(&["verify", "--man=no"], |unit| {
        unit.replace("ProtectSystem=strict", "ProtectSystem=stirct")
    });
    assert!(broken.expect("it is installed").1.contains("stirct"));
}

#[test]
fn the_unit_exposes_little_to_the_gateway() {
    // Of 100; what has no hardening has 96.
    let args = ["security", "--offline=true", "--threshold=15"];
    let Some((good, said)) = analyze(&args, |unit| unit) else { return };
    assert!(good, "{said}");
    let open = analyze(&args, |unit| unit.replace("ProtectSystem=strict\n", ""));
    assert!(!open.expect("it is installed").0);
}

#[test]
fn the_capabilities_of_transparent_connections_are_in_their_own_file() {
    assert!(!read("systemd/bentpipe-gateway.service").contains("CAP_"));
    let more = read("systemd/transparent.conf");
    assert!(more.contains("\nAmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW\n"), "{more}");
}

/// The line without the mark of a comment, if what follows is a table or a key with its value.
fn put_in(line: &str) -> &str {
    match line.strip_prefix("# ") {
        Some(rest) if rest.starts_with('[') || rest.split_once(" = ").is_some_and(is_a_key) => rest,
        _ => line,
    }
}

fn is_a_key((key, _): (&str, &str)) -> bool {
    !key.contains(' ')
}

#[test]
fn the_examples_are_configurations() {
    for (role, name) in [(Role::Terminal, "terminal"), (Role::Hub, "hub")] {
        let file = packaging(&format!("examples/{name}.toml"));
        let (config, _) = load(&file).expect("a configuration");
        assert_eq!((config.role, config.key), (role, PathBuf::from("/etc/bentpipe/key")));
        assert!(config.ops.is_some() && config.user.is_none(), "{name}");
        // What is left out can be put in as it stands there.
        let text = fs::read_to_string(&file).expect("a file");
        let all: String = text.lines().map(|line| format!("{}\n", put_in(line))).collect();
        let config = Config::parse(name, &all).expect("a configuration");
        assert_eq!(!config.backup.is_empty(), role == Role::Terminal, "{name}");
        assert!(config.link.rate.is_some() && config.user.as_deref() == Some("bentpipe"));
    }
}
