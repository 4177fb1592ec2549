//! Bundle nodes as programs.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines};
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The program.
pub(crate) fn bentpipe() -> Command {
    Command::new(env!("CARGO_BIN_EXE_bentpipe"))
}

/// What a command prints.
///
/// # Panics
/// When it fails.
pub(crate) fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8(output.stdout).expect("a text").trim().to_owned()
}

/// A port of TCP and UDP that nobody has at the moment.
#[expect(clippy::disallowed_methods, reason = "a test of sockets")]
pub(crate) fn free() -> u16 {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = tcp.local_addr().expect("an address").port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A program that prints lines, and is killed when it is dropped.
pub(crate) struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Self { child, lines }
    }

    /// Waits for its next line.
    pub(crate) fn line(&mut self) -> String {
        self.lines.next().expect("one more line").expect("a line")
    }

    /// Waits for a line that has this in it.
    pub(crate) fn until(&mut self, part: &str) -> String {
        loop {
            let line = self.line();
            if line.contains(part) {
                return line;
            }
        }
    }

    /// As `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it has ended");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A node that can be started again and again.
pub(crate) struct Node {
    dir: PathBuf,
    name: String,
}

impl Node {
    /// A node with a key. `settings` are those of its file beside its name, its store and its key.
    pub(crate) fn new(dir: &Path, name: &str) -> (Self, String) {
        let key = output(bentpipe().args(["keygen", "--key"]).arg(dir.join(format!("{name}.key"))));
        let key = key.lines().last().expect("a key").to_owned();
        (Self { dir: dir.to_owned(), name: name.to_owned() }, key)
    }

    pub(crate) fn configure(&self, settings: &str) {
        let name = &self.name;
        let text = format!(
            "node = \"dtn://{name}/\"\nstore = \"{name}\"\nkey = \"{name}.key\"\n{settings}"
        );
        fs::write(self.dir.join(format!("{name}.toml")), text).expect("written");
    }

    /// Starts it, and returns when its applications can call it.
    pub(crate) fn start(&self) -> Running {
        let file = self.dir.join(format!("{}.toml", self.name));
        let mut running = Running::start(bentpipe().args(["bundle", "node"]).arg(file));
        running.until(" holds ");
        running
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.dir.join(&self.name)
    }

    /// Hands it a file.
    pub(crate) fn send(&self, to: &str, file: &Path, more: &[&str]) -> String {
        let mut command = bentpipe();
        command.args(["bundle", "send", "--to", to, "--node"]).arg(self.store());
        output(command.args(more).arg(file))
    }

    /// Takes what comes for a service.
    pub(crate) fn recv(&self, service: &str, inbox: &Path) -> Running {
        fs::create_dir_all(inbox).expect("a directory");
        let mut command = bentpipe();
        command.args(["bundle", "recv", "--endpoint", service, "--node"]).arg(self.store());
        Running::start(command.arg("--dir").arg(inbox))
    }

    /// Takes one bundle that comes for a service, and ends.
    pub(crate) fn recv_once(&self, service: &str, inbox: &Path) -> Command {
        let mut command = bentpipe();
        command.args(["bundle", "recv", "--once", "--endpoint", service, "--node"]);
        command.arg(self.store()).arg("--dir").arg(inbox);
        command
    }

    /// What it holds, the last line of `bundle list`.
    pub(crate) fn list(&self) -> String {
        let mut command = bentpipe();
        let text = output(command.args(["bundle", "list", "--node"]).arg(self.store()));
        text.lines().last().expect("a line").to_owned()
    }
}

/// The file that a line of `bundle recv` names.
pub(crate) fn file_of(line: &str) -> Vec<u8> {
    let (_, path) = line.split_once(" bytes in ").expect(line);
    fs::read(path).expect("it is there")
}
