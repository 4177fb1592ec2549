//! A command behind the emulated link, in namespaces of its own.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bentpipe_emulator::{Addresses, Bridge, Namespace, Process};
use bentpipe_units::Span;
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use tokio::time::Instant;

use super::Links;
use super::counters::{self, Live};
use super::out;
use super::signals::Signals;
use crate::args::Emulate;
use crate::failure::Failure;

/// The interface on both sides.
const DEVICE: &str = "bentpipe0";
const MTU: u16 = 1500;
const CLIENT: Addresses = Addresses::of_host(1);
const SERVER: Addresses = Addresses::of_host(2);
/// Time that the server has to open a port before the command begins.
const SERVER_START: Span = Span::from_secs(2);
/// Time that the server has to end after the command.
const SERVER_END: Span = Span::from_secs(2);
/// Time that the command has to end after a signal.
const COMMAND_END: Duration = Duration::from_secs(5);

/// Runs the command on the client side, with the server opposite or this host's own network. Everything is gone afterwards.
pub(super) fn run(args: &Emulate, links: &Links) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::System(format!("--netns: {error}"));
    let mtu = args.mtu.unwrap_or(MTU);
    if args.internet || !args.netns && out::is_behind_a_link().map_err(failed)? {
        return out::run(args, links, mtu);
    }
    let (clients, servers) = (Namespace::new().map_err(failed)?, Namespace::new().map_err(failed)?);
    let client = clients.device(DEVICE, mtu, CLIENT).map_err(failed)?;
    let server = servers.device(DEVICE, mtu, SERVER).map_err(failed)?;
    let bridge = Bridge::new(client, server, links.packet_path(), args.swap);
    let (from, to) = (CLIENT.v4, SERVER.v4);
    anstream::eprintln!("{from} (here) leads to {to} (server) over {}", links.names());
    let signals = Signals::watch()?;
    let server = args.server.as_ref().map(|command| serve(&servers, command)).transpose()?;
    let command = clients.start(&args.command, None, |_| {}).map_err(failed)?;
    let (bridge, status) = pass(bridge, command, &signals)?;
    if let Some(mut server) = server {
        // One that does not want to is killed.
        server.stop_group(SERVER_END).map_err(failed)?;
    }
    counters::report(bridge.path(), args.json, io::stderr().lock())?;
    code(status)
}

/// Passes packets until the command ends.
pub(super) fn pass(
    mut bridge: Bridge,
    mut command: Process<'_>,
    signals: &Signals,
) -> Result<(Bridge, ExitStatus), Failure> {
    let failed = |error: io::Error| Failure::System(format!("the link: {error}"));
    let live = Live::new(io::stdout().is_terminal());
    let mut deadline = Deadline::default();
    let ended = bridge.run(Some(command.ended()), |path| {
        live.show(path);
        deadline.lasts(signals, &command)
    });
    live.end();
    ended.map_err(failed)?;
    let status = end(&mut command).map_err(failed)?;
    Ok((bridge, status))
}

/// Starts the server and waits until it can be spoken to. What it says goes to the standard error, so
/// that the standard output is that of the command.
fn serve<'n>(namespace: &'n Namespace, command: &str) -> Result<Process<'n>, Failure> {
    let failed = |error: io::Error| Failure::System(format!("--server: {error}"));
    let output = io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
    let mut server = namespace
        .start(&["sh", "-c", command], None, |command| {
            command.stdin(Stdio::null()).stdout(output).process_group(0);
        })
        .map_err(failed)?;
    namespace.await_port(&server, SERVER_START).map_err(failed)?;
    if server.ended_within(Span::ZERO).map_err(failed)? {
        let status = server.wait().map_err(failed)?;
        return Err(Failure::System(format!("--server: it ended before the command: {status}")));
    }
    Ok(server)
}

/// How long a command may still run.
#[derive(Default)]
struct Deadline {
    until: Option<Instant>,
}

impl Deadline {
    /// Passes signals on. The command may stay until some time after the first of them, but as long as
    /// it likes after a Ctrl-C that it got from the terminal itself: it may have other uses for it.
    fn lasts(&mut self, signals: &Signals, command: &Process<'_>) -> bool {
        let terminated = signals.terminated();
        let interrupted = signals.interrupted() && !in_foreground();
        if terminated {
            command.terminate();
        }
        if interrupted {
            command.interrupt();
        }
        if terminated || interrupted {
            self.until.get_or_insert_with(|| Instant::now() + COMMAND_END);
        }
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// Whether Ctrl-C on the terminal reaches this program and what it starts.
fn in_foreground() -> bool {
    let group = File::open("/dev/tty").ok().and_then(|tty| tcgetpgrp(tty).ok());
    group == Some(getpgrp())
}

/// The end of a command: its own, or the deadline.
fn end(command: &mut Process<'_>) -> io::Result<ExitStatus> {
    if !command.ended_within(Span::ZERO)? {
        command.kill();
    }
    command.wait()
}

/// Passes on how the command ended, as a shell does.
pub(super) fn code(status: ExitStatus) -> Result<(), Failure> {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    match code.and_then(|code| u8::try_from(code).ok()) {
        Some(0) => Ok(()),
        code => Err(Failure::Command(code.unwrap_or(u8::MAX))),
    }
}
