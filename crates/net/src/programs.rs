//! Programs of the system that do what no library does well.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

/// Lets `ip` (of iproute2) do what these lines say in the network of the calling thread. `options` hold for
/// all of them.
pub(crate) fn ip(options: &[&str], batch: &str) -> io::Result<()> {
    feed("ip", "iproute2", &[options, &["-batch", "-"]].concat(), batch)
}

/// Lets `nft` (of nftables) take over rules in the network of the calling thread, all or none.
pub(crate) fn nft(rules: &str) -> io::Result<()> {
    feed("nft", "nftables", &["-f", "-"], rules)
}

fn feed(program: &str, package: &str, args: &[&str], input: &str) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| missing(program, package, &error))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{program}: {}", why.trim())))
}

/// A program that can not be started.
pub(crate) fn missing(program: &str, package: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{program} (of {package}): {error}"))
}
