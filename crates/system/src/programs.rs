//! Programs of the system that do what no library does well.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

/// Lets `ip` (of iproute2) do what these lines say in the network of the calling thread. `options` hold for
/// all of them.
pub fn ip(options: &[&str], batch: &str) -> io::Result<()> {
    feed("ip", "iproute2", &[options, &["-batch", "-"]].concat(), batch)
}

/// Lets `nft` (of nftables) take over rules in the network of the calling thread, all or none.
pub fn nft(rules: &str) -> io::Result<()> {
    feed("nft", "nftables", &["-f", "-"], rules)
}

/// What `nft` says of a table in the network of the calling thread; `None` if there is no such table.
pub fn nft_table(family: &str, name: &str) -> io::Result<Option<String>> {
    let mut command = Command::new("nft");
    command.args(["list", "table", family, name]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().map_err(|error| missing("nft", "nftables", &error))?;
    let listed = output.status.success();
    Ok(listed.then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
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

/// A program that cannot be started.
pub fn missing(program: &str, package: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{program} (of {package}): {error}"))
}
