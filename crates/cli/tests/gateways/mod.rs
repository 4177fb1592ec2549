//! Gateways as programs of their own, on the loopback interface.
#![allow(dead_code, reason = "every test that includes this uses a part of it")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

pub(crate) fn bentpipe() -> Command {
    Command::new(env!("CARGO_BIN_EXE_bentpipe"))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A port that nobody uses now.
pub(crate) async fn free() -> SocketAddr {
    let held = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    held.local_addr().expect("an address")
}

/// A server that says back everything at once.
pub(crate) async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut reader, mut writer) = tcp.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
            });
        }
    });
    address
}

/// What a server says to a request for this path, from the first line to the end of the body.
pub(crate) async fn get(address: SocketAddr, path: &str) -> String {
    let mut tcp = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    tcp.write_all(request.as_bytes()).await.expect("room");
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).await.expect("text");
    answer
}

/// A gateway that ends with the test.
pub(crate) struct Running {
    pub(crate) child: Child,
    /// Its log, as long as somebody reads it.
    log: Option<BufReader<ChildStderr>>,
    /// Where the others reach it, and where its status is.
    pub(crate) address: SocketAddr,
    pub(crate) ops: SocketAddr,
}

impl Running {
    /// The next line of its log that contains this.
    pub(crate) fn line(&mut self, part: &str) -> String {
        line(self.log.as_mut().expect("a log"), part)
    }

    /// Nobody reads its log from now on: what it says is refused.
    pub(crate) fn close_log(&mut self) {
        self.log = None;
    }

    /// What is left of its log when it has ended.
    pub(crate) fn rest(&mut self) -> String {
        let mut all = String::new();
        self.log.as_mut().expect("a log").read_to_string(&mut all).expect("a log");
        all
    }
}

fn line(log: &mut BufReader<ChildStderr>, part: &str) -> String {
    let mut all = String::new();
    loop {
        let start = all.len();
        let len = log.read_line(&mut all).expect("a log");
        assert!(len > 0, "`{part}` is not in the log:\n{all}");
        if all[start..].contains(part) {
            return all[start..].to_owned();
        }
    }
}

/// The address in a line of a log.
fn address(line: &str) -> SocketAddr {
    let (_, rest) = line.split_once("address=").expect("an address");
    rest.trim().parse().expect("an address")
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A directory with the keys of two gateways.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
    /// The public keys, of the terminal and of the hub.
    pub(crate) keys: [String; 2],
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        let keys = ["terminal", "hub"].map(|name| {
            let path = dir.path().join(name).with_extension("key");
            let output = bentpipe().arg("keygen").arg("--key").arg(path).output().expect("it runs");
            text(&output.stdout).trim().to_owned()
        });
        Self { dir, keys }
    }

    /// A terminal whose hub is at `hub`.
    pub(crate) fn terminal(&self, hub: SocketAddr, more: &str) -> PathBuf {
        let peer = format!("[peers.land]\nkey = \"{}\"\naddress = \"{hub}\"\n", self.keys[1]);
        self.write("terminal", &format!("{more}\n{peer}"))
    }

    /// A hub from which everything on this host can be reached.
    pub(crate) fn hub(&self, more: &str) -> PathBuf {
        let peer = format!("[peers.sea]\nkey = \"{}\"\n", self.keys[0]);
        self.write("hub", &format!("allow = [\"127.0.0.0/8\"]\n{more}\n{peer}"))
    }

    fn write(&self, role: &str, rest: &str) -> PathBuf {
        let key = self.dir.path().join(role).with_extension("key");
        let file = self.dir.path().join(role).with_extension("toml");
        let key = key.display();
        let text = format!(
            "role = \"{role}\"\nkey = \"{key}\"\nlisten = \"127.0.0.1:0\"\n{rest}\n[ops]\n\
             listen = \"127.0.0.1:0\"\n"
        );
        fs::write(&file, text).expect("written");
        file
    }
}

/// Starts a gateway; it is up when this returns.
pub(crate) fn start(config: &PathBuf) -> Running {
    let mut command = bentpipe();
    command.arg("gateway").arg("--config").arg(config).env_remove("RUST_LOG");
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
    let up = address(&line(&mut log, "gateway started"));
    let ops = address(&line(&mut log, "metrics, health and status"));
    Running { child, log: Some(log), address: up, ops }
}

/// What `--check` says of a configuration.
pub(crate) fn check(config: &PathBuf) -> Output {
    bentpipe().args(["gateway", "--check"]).arg(config).output().expect("it runs")
}
