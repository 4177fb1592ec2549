//! Guides that are followed word for word on several hosts: blocks of shell that name a host, and what the last one of them prints.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::{Host, inside};

/// A block of a guide: what it is, whose, and its lines.
struct Block {
    kind: String,
    hosts: Vec<String>,
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
        if let Some((kind, hosts)) = words.split_once(' ') {
            let hosts = hosts.split(' ').map(str::to_owned).collect();
            blocks.push(Block { kind: kind.to_owned(), hosts, text });
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

/// Follows a guide with these hosts, each of which has a home below `dir`. What `bentpipe keygen` prints on a host stands for
/// `KEY-OF-HOST` from then on.
pub(crate) fn follow(guide: &str, hosts: &[(&str, &Host)], dir: &Path) {
    let mut shells: BTreeMap<&str, Shell> =
        hosts.iter().map(|(name, host)| (*name, Shell::on(host, dir.join(name)))).collect();
    let mut keys: Vec<(String, String)> = Vec::new();
    let mut said = String::new();
    for block in blocks(guide) {
        if block.kind == "text" {
            assert_eq!(said, block.text, "on the {:?}", block.hosts);
            continue;
        }
        let text = keys.iter().fold(block.text, |text, (name, key)| text.replace(name, key));
        for host in &block.hosts {
            let shell = shells.get_mut(host.as_str()).expect("a host of the guide");
            said = shell.run(&text);
            if text.trim() == "bentpipe keygen" {
                let name = format!("KEY-OF-{}", host.to_uppercase());
                keys.push((name, said.trim().to_owned()));
            }
        }
    }
    assert_eq!(keys.len(), 2);
}
