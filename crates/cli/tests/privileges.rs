//! What a gateway that root starts keeps of root's privileges. Only root can try.

mod gateways;

use std::fs;

use gateways::{Place, Running, check, start, text};

/// CAP_NET_ADMIN as /proc shows it, and the same with CAP_NET_RAW.
const NET_ADMIN: &str = "0000000000001000";
const NET_ADMIN_AND_RAW: &str = "0000000000003000";
const NONE: &str = "0000000000000000";

/// Whether this is root; says so if it is not.
fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: only root can start a gateway as another user");
    }
    root
}

/// The value of a field of every thread of a process.
fn field(gateway: &Running, name: &str) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", gateway.child.id())).expect("threads");
    let value = |path: std::path::PathBuf| {
        let status = fs::read_to_string(path.join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(&format!("{name}:")))?;
        Some(line.trim().to_owned())
    };
    tasks.flatten().filter_map(|task| value(task.path())).collect()
}

/// Waits until a field has this value in every thread: those that begin have to get there.
fn assert_field(gateway: &Running, name: &str, wanted: &str) {
    for _ in 0..10_000 {
        let found = field(gateway, name);
        assert!(!found.is_empty(), "the gateway is gone");
        if found.iter().all(|value| value == wanted) {
            return;
        }
    }
    panic!("{name}: {:?} instead of {wanted}", field(gateway, name));
}

fn assert_nobody(gateway: &Running, capabilities: &str) {
    let nobody = nix::unistd::User::from_name("nobody").expect("users").expect("nobody");
    let ids = |id: u32| [id.to_string(), id.to_string(), id.to_string(), id.to_string()].join("\t");
    assert_field(gateway, "Uid", &ids(nobody.uid.as_raw()));
    assert_field(gateway, "Gid", &ids(nobody.gid.as_raw()));
    for set in ["CapPrm", "CapEff", "CapInh", "CapBnd", "CapAmb"] {
        assert_field(gateway, set, capabilities);
    }
    assert_field(gateway, "NoNewPrivs", "1");
    let groups = field(gateway, "Groups");
    assert!(groups.iter().all(|groups| !groups.split(' ').any(|group| group == "0")), "{groups:?}");
}

#[test]
fn a_gateway_of_root_becomes_its_user_and_keeps_nothing() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    // A low port, which nobody but root may bind.
    let more = "user = \"nobody\"\n[[forward]]\nlisten = \"127.77.0.1:77\"\nto = \"127.0.0.1:1\"";
    let hub = start(&place.hub(""));
    let terminal = start(&place.terminal(hub.address, more));
    assert_nobody(&terminal, NONE);
}

#[test]
fn a_transparent_gateway_keeps_one_capability() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let hub = start(&place.hub("user = \"nobody\"\ntransparent_source = true"));
    assert_nobody(&hub, NET_ADMIN);
}

#[test]
fn a_transparent_gateway_that_carries_datagrams_keeps_what_esp_takes() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let settings = "user = \"nobody\"\ntransparent_source = true\nudp = \"tunnel\"";
    assert_nobody(&start(&place.hub(settings)), NET_ADMIN_AND_RAW);
}

#[test]
fn a_gateway_without_a_user_stays_what_it_is() {
    let place = Place::new();
    let hub = start(&place.hub(""));
    let id = rustix::process::geteuid().as_raw().to_string();
    assert_field(&hub, "Uid", &[&*id, &id, &id, &id].join("\t"));
}

#[test]
fn a_user_that_can_not_be_is_named_by_its_key() {
    let place = Place::new();
    let output = check(&place.hub("user = \"no-such-user\""));
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("`user`: there is no user `no-such-user`"), "{said}");
}
