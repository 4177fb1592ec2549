//! A terminal and a hub between a client and a server that know nothing of them.
#![allow(dead_code, reason = "each test uses its part")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use bentpipe_association::SecretKey;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use super::{Host, inside, ip};

/// Whether this can be tested here, with these programs beside those that every such test needs; says so where it can
/// not.
pub(crate) fn can_run(what: &str, programs: &[&str]) -> bool {
    let found = |program: &&&str| {
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        std::env::split_paths(&path).any(|dir| dir.join(program).exists())
    };
    let needed = [&["unshare", "ip", "nft"], programs].concat();
    let missing: Vec<_> = needed.iter().filter(|program| !found(program)).collect();
    let can = missing.is_empty() && geteuid().is_root();
    if !can {
        let said = format!("SKIPPED: {what} need root and {needed:?}; missing: {missing:?}");
        writeln!(std::io::stderr(), "{said}").expect("standard error");
    }
    can
}

/// A gateway that runs.
pub(crate) struct Gateway(Child);

impl Gateway {
    /// Starts one and waits until it is up.
    pub(crate) fn start(host: &Host, config: &str) -> Self {
        Self::run(host, Command::new(env!("CARGO_BIN_EXE_bentpipe")), config)
    }

    /// The same where the process sees only processes below /proc, as `ProcSubset=pid` of systemd has it.
    pub(crate) fn start_confined(host: &Host, config: &str) -> Self {
        let mut command = Command::new("unshare");
        let confined = "mount -t proc -o subset=pid proc /proc && exec \"$0\" \"$@\"";
        command.args(["--mount", "sh", "-c", confined, env!("CARGO_BIN_EXE_bentpipe")]);
        Self::run(host, command, config)
    }

    fn run(host: &Host, mut command: Command, config: &str) -> Self {
        command.args(["gateway", "--setup-firewall", "--config", config]);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let child = inside(host.id(), || command.spawn().expect("it starts"));
        let mut gateway = Self(child);
        let errors = BufReader::new(gateway.0.stderr.take().expect("a pipe"));
        let mut said = Vec::new();
        for line in errors.lines().map_while(Result::ok) {
            if line.contains("gateway started") {
                return gateway;
            }
            said.push(line);
        }
        panic!("{said:?}");
    }

    pub(crate) fn end(mut self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("a process");
        self.0.wait().expect("an end");
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A client, a terminal, a hub and a server, one behind the other.
pub(crate) struct Site {
    pub(crate) client: Host,
    pub(crate) terminal: Host,
    pub(crate) hub: Host,
    pub(crate) server: Host,
    pub(crate) dir: TempDir,
}

impl Site {
    pub(crate) fn new() -> Self {
        let [client, terminal, hub, server] = [(); 4].map(|()| Host::new());
        client.connect(
            ("eth0", &["10.61.1.2/24", "fd61:1::2/64"]),
            &terminal,
            ("lan0", &["10.61.1.1/24", "fd61:1::1/64"]),
        );
        terminal.connect(("sat0", &["10.61.2.1/24"]), &hub, ("sat0", &["10.61.2.2/24"]));
        hub.connect(
            ("net0", &["10.61.3.1/24", "fd61:3::1/64"]),
            &server,
            ("eth0", &["10.61.3.2/24", "fd61:3::2/64"]),
        );
        for (host, near) in [(&client, 1), (&server, 3)] {
            let v4 = format!("route add default via 10.61.{near}.1");
            let v6 = format!("-6 route add default via fd61:{near}::1");
            ip(host.id(), &[&v4, &v6]);
        }
        let dir = tempfile::tempdir().expect("a directory");
        let keys = [1, 2].map(|n| SecretKey::from_bytes([n; 32]));
        for (name, secret, other, role, settings, address) in [
            (
                "terminal",
                &keys[0],
                &keys[1],
                "terminal",
                "[transparent]\nport = 25310\ninterfaces = [\"lan0\"]",
                "address = \"10.61.2.2:25300\"",
            ),
            (
                "hub",
                &keys[1],
                &keys[0],
                "hub",
                "transparent_source = true\nallow = [\"10.61.0.0/16\", \"fd61:3::/64\"]",
                "",
            ),
        ] {
            let key = dir.path().join(format!("{name}.key"));
            bentpipe_net::key_file::save(secret, &key).expect("a file");
            let text = format!(
                "role = \"{role}\"\nkey = \"{}\"\nlisten = \"0.0.0.0:25300\"\n{settings}\n\
                 [peers.far]\nkey = \"{}\"\n{address}\n",
                key.display(),
                other.public(),
            );
            fs::write(dir.path().join(name), text).expect("a file");
        }
        Self { client, terminal, hub, server, dir }
    }

    pub(crate) fn config(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().expect("a path").to_owned()
    }

    /// Both gateways carry UDP too.
    pub(crate) fn tunnels_udp(self) -> Self {
        self.with("udp = \"tunnel\"")
    }

    /// Clients are answered by what became of the far connection.
    pub(crate) fn accepts_late(self) -> Self {
        for switch in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            inside(self.terminal.id(), || {
                fs::write(format!("/proc/sys/net/{switch}"), "1").expect("a switch");
            });
        }
        self.with("early_accept = false")
    }

    /// Both gateways have this setting.
    fn with(self, setting: &str) -> Self {
        for name in ["terminal", "hub"] {
            let text = fs::read_to_string(self.config(name)).expect("a file");
            fs::write(self.config(name), format!("{setting}\n{text}")).expect("a file");
        }
        self
    }

    /// Starts both gateways.
    pub(crate) fn gateways(&self) -> [Gateway; 2] {
        let hub = Gateway::start(&self.hub, &self.config("hub"));
        [Gateway::start(&self.terminal, &self.config("terminal")), hub]
    }
}
