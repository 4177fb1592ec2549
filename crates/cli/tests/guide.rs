//! `docs/gateway-guide.md`, followed word for word on four hosts. Needs root, unshare, ip, nft, curl and python3,
//! and says so where it is skipped.

mod namespaces;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::geteuid;

use namespaces::{Host, inside, ip};

/// A block of the guide: what it is, whose, and its lines.
struct Block {
    kind: String,
    host: String,
    text: String,
}

/// The blocks that name a host.
fn blocks(guide: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        let Some(words) = line.strip_prefix("```") else { continue };
        let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let text = text.iter().map(|line| format!("{line}\n")).collect();
        if let Some((kind, host)) = words.split_once(' ') {
            blocks.push(Block { kind: kind.to_owned(), host: host.to_owned(), text });
        }
    }
    blocks
}

/// A shell on a host, with a home of its own.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    home: PathBuf,
}

impl Shell {
    fn on(host: &Host, home: PathBuf) -> Self {
        std::fs::create_dir(&home).expect("a directory");
        let program = Path::new(env!("CARGO_BIN_EXE_bentpipe")).parent().expect("a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", program.display());
        let mut child = inside(host.id(), || {
            let mut command = Command::new("bash");
            command.arg("-m").current_dir(&home).env("HOME", &home).env("PATH", path);
            command.env_remove("XDG_CONFIG_HOME");
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts")
        });
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, input, output, home }
    }

    /// Runs a block and returns what it printed.
    fn run(&mut self, block: &str) -> String {
        write!(self.input, "{block}\necho \"== $?\"\n").expect("a shell");
        let mut said = String::new();
        loop {
            let start = said.len();
            let len = self.output.read_line(&mut said).expect("output");
            let line = &said[start..];
            if let Some(code) = line.strip_prefix("== ") {
                let log = std::fs::read_to_string(self.home.join("gateway.log"));
                assert_eq!(code.trim(), "0", "{block}{said}{}", log.unwrap_or_default());
                said.truncate(start);
                return said;
            }
            assert!(len > 0, "{block}{said}");
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = writeln!(self.input, "kill -KILL $(jobs -p)");
        let _ = writeln!(self.input, "exit");
        let _ = self.child.wait();
    }
}

fn can_run() -> bool {
    let made = |program: &str, flag| Command::new(program).arg(flag).output().is_ok();
    let can = made("unshare", "--version")
        && made("ip", "-V")
        && made("nft", "--version")
        && made("curl", "--version")
        && made("python3", "--version");
    if !(can && geteuid().is_root()) {
        let said = "SKIPPED: the guide needs root, unshare, ip, nft, curl and python3";
        writeln!(std::io::stderr(), "{said}").expect("standard error");
        return false;
    }
    true
}

#[test]
fn the_guide_works_word_for_word() {
    if !can_run() {
        return;
    }
    let [client, terminal, hub, server] = [(); 4].map(|()| Host::new());
    client.connect(("eth0", &["10.61.1.2/24"]), &terminal, ("lan0", &["10.61.1.1/24"]));
    terminal.connect(("sat0", &["10.61.2.1/24"]), &hub, ("sat0", &["10.61.2.2/24"]));
    hub.connect(("net0", &["10.61.3.1/24"]), &server, ("eth0", &["10.61.3.2/24"]));
    ip(client.id(), &["route add default via 10.61.1.1"]);
    ip(server.id(), &["route add default via 10.61.3.1"]);
    let dir = tempfile::tempdir().expect("a directory");
    let hosts = [("client", &client), ("terminal", &terminal), ("hub", &hub), ("server", &server)];
    let mut shells: BTreeMap<&str, Shell> = hosts
        .into_iter()
        .map(|(name, host)| (name, Shell::on(host, dir.path().join(name))))
        .collect();
    let guide = include_str!("../../../docs/gateway-guide.md");
    let mut keys: Vec<(String, String)> = Vec::new();
    let mut said = String::new();
    for block in blocks(guide) {
        if block.kind == "text" {
            assert_eq!(said, block.text, "on the {}", block.host);
            continue;
        }
        let text = keys.iter().fold(block.text, |text, (name, key)| text.replace(name, key));
        let shell = shells.get_mut(block.host.as_str()).expect("a host of the guide");
        said = shell.run(&text);
        if text.trim() == "bentpipe keygen" {
            let name = format!("KEY-OF-{}", block.host.to_uppercase());
            keys.push((name, said.trim().to_owned()));
        }
    }
    assert_eq!(keys.len(), 2);
}
