//! Network namespaces for tests, and what happens inside them.
#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod guide;
pub(crate) mod site;

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::geteuid;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio::time::Instant;

/// How long a test waits for something that is bound to happen.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// Whether namespaces can be made here. If not it says so past the test harness, which hides what
/// passing tests print.
pub(crate) fn can_make_namespaces() -> bool {
    let made = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let can = geteuid().is_root() && Path::new("/dev/net/tun").exists() && made("unshare");
    let can = can && Command::new("ip").arg("-V").output().is_ok();
    if !can {
        let said = "SKIPPED: the emulator's namespaces need root, /dev/net/tun, unshare and ip";
        writeln!(std::io::stderr(), "{said}").expect("standard error");
    }
    can
}

/// What a question is answered with, as soon as it is.
pub(crate) fn until<R>(mut question: impl FnMut() -> Option<R>) -> R {
    let began = Instant::now();
    loop {
        if let Some(answer) = question() {
            return answer;
        }
        assert!(began.elapsed() < TIMEOUT, "it did not happen");
        std::thread::yield_now();
    }
}

/// The network namespace of a process.
pub(crate) fn network_of(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/net")).ok()
}

/// Does something in the network namespace of a process.
pub(crate) fn inside<R: Send>(process: u32, work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let network = File::open(format!("/proc/{process}/ns/net")).expect("a namespace");
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(network.as_fd(), kind).expect("entered");
            work()
        });
        thread.join().expect("no panic")
    })
}

/// Lets `ip` do what each line says, in the network of a process.
pub(crate) fn ip(process: u32, lines: &[&str]) {
    inside(process, || {
        for line in lines {
            let done = Command::new("ip").args(line.split(' ')).output().expect("it runs");
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{line}: {said}");
        }
    });
}

/// A host: a network namespace that ends with the test.
#[derive(Debug)]
pub(crate) struct Host(Child);

impl Host {
    /// A host without devices but for its own.
    pub(crate) fn new() -> Self {
        let mut command = Command::new("unshare");
        command.args(["--net", "sleep", "604"]).stdin(Stdio::null());
        let host = Self(command.spawn().expect("it starts"));
        let home = network_of(std::process::id());
        until(|| (network_of(host.id()) != home).then_some(()));
        ip(host.id(), &["link set lo up"]);
        host
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// A cable to another host: the name of the device and the addresses at either end.
    pub(crate) fn connect(&self, ours: (&str, &[&str]), other: &Self, theirs: (&str, &[&str])) {
        let far = format!("netns {}", other.id());
        ip(self.id(), &[&format!("link add {} type veth peer name {} {far}", ours.0, theirs.0)]);
        for (host, (name, addresses)) in [(self, ours), (other, theirs)] {
            for address in addresses {
                let nodad = if address.contains(':') { " nodad" } else { "" };
                ip(host.id(), &[&format!("address add {address} dev {name}{nodad}")]);
            }
            ip(host.id(), &[&format!("link set {name} up")]);
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
