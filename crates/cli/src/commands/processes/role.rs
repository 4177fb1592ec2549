//! What each of the three processes does.

use std::future::pending;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use bentpipe_association::endpoint::Streams as _;
use bentpipe_link::Direction;
use bentpipe_net::qlp::{Connection, Node, NodeId, Router, Routes};
use bentpipe_record::{ProbingSummary, TransportCounters};
use bentpipe_scenario::Scenario;
use bentpipe_sim::{SourceSpec, pattern};
use bentpipe_system::calendar as now;
use bentpipe_transport::Inspect as _;
use bentpipe_units::ByteCount;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::Receiver;

use super::case::Case;
use crate::args::{Process, Role};
use crate::commands::emulate::{OneWay, Signals};
use crate::commands::stop::{Stop, in_runtime};
use crate::failure::Failure;

/// What a process says when those after it may start.
pub(super) const READY: &str = "ready";
/// The service that the source connects to.
const SERVICE: u16 = 1;
/// Time for both ends to take leave of each other.
const LEAVE: Duration = Duration::from_secs(5);

/// What the source saw. Times are nanoseconds since 1970.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) counters: TransportCounters,
    pub(super) probing: Option<ProbingSummary>,
    pub(super) failure: Option<String>,
    /// Frames that found a queue full.
    pub(super) lost: u64,
}

/// What the destination saw.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Arrived {
    pub(super) first_at: Option<u64>,
    pub(super) last_at: Option<u64>,
    /// Bytes that are those that were sent.
    pub(super) verified: u64,
    pub(super) wrong_at: Option<u64>,
    pub(super) counters: TransportCounters,
    pub(super) lost: u64,
}

/// What the router saw.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Passed {
    pub(super) forward: OneWay,
    pub(super) returned: OneWay,
    pub(super) lost: u64,
}

/// Is one of three processes, until it is done or the one that started it wants it no more.
pub(crate) fn process(args: &Process) -> Result<(), Failure> {
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    let parsed = read.and_then(|_| Ok(serde_json::from_str::<(String, String)>(&line)?));
    let (source, text) = parsed.map_err(|error| Failure::Input(format!("no scenario: {error}")))?;
    let case = Case::of(&Scenario::parse(&source, &text)?, args.seed)?;
    let routes: Routes = args.routes.iter().copied().collect();
    match args.role {
        Role::Source => in_runtime(self::source(&case, args.node, routes, args.destination)),
        Role::Destination => in_runtime(destination(&case, args.node, routes)),
        Role::Router => router(&case, args.node, routes),
    }
}

/// Sends the file.
async fn source(case: &Case, node: NodeId, routes: Routes, to: NodeId) -> Result<(), Failure> {
    let end = deadline(case)?;
    let open = Node::open(node, routes)?;
    say(READY)?;
    let began = now();
    let mut sent = Sent {
        began,
        ended: began,
        counters: TransportCounters::default(),
        probing: None,
        failure: None,
        lost: 0,
    };
    tokio::pin!(end);
    let connected = tokio::select! {
        connected = open.connect(to, SERVICE, case.sender.clone()) => connected.map(Some),
        ended = &mut end => ended.map(|()| Ok(None))?,
    };
    match connected {
        Ok(Some(mut connection)) => {
            let written = tokio::select! {
                written = write(&mut connection, &case.flow().source) => written,
                ended = &mut end => ended.map(Ok)?,
            };
            sent.failure = written.err().map(|error| error.to_string());
            let endpoint = connection.endpoint();
            let stream = endpoint.stream(connection.id());
            sent.counters = stream.endpoint.counters();
            sent.probing = stream.endpoint.probing_summary();
        }
        Ok(None) => {}
        Err(error) => sent.failure = Some(error.to_string()),
    }
    sent.ended = now();
    sent.lost = open.counters().lost_queue_full;
    report(&sent)
}

/// Writes a file, and waits until the other end has all of it.
async fn write(connection: &mut Connection, source: &SourceSpec) -> io::Result<()> {
    let size = source.stream_size().map_or(0, ByteCount::get);
    let mut written = 0;
    while written < size {
        let chunk = pattern::slice(written, source.chunk.get().min(size - written) as usize);
        connection.write_all(chunk).await?;
        written += chunk.len() as u64;
    }
    connection.close();
    // It closes when it has read everything.
    while connection.read_bytes().await?.is_some() {}
    Ok(())
}

/// Receives the file and compares it.
async fn destination(case: &Case, node: NodeId, routes: Routes) -> Result<(), Failure> {
    let end = deadline(case)?;
    let open = Node::open(node, routes)?;
    open.listen(case.receiver.clone());
    say(READY)?;
    let mut arrived = Arrived::default();
    tokio::pin!(end);
    let accepted = tokio::select! {
        (_, connection) = open.accept() => Some(connection),
        ended = &mut end => ended.map(|()| None)?,
    };
    if let Some(connection) = accepted {
        let is_over = tokio::select! {
            // The source says why it failed.
            _ = read(&connection, &mut arrived) => false,
            ended = &mut end => ended.map(|()| true)?,
        };
        arrived.counters = connection.state().1;
        if !is_over {
            tokio::select! {
                _ = tokio::time::timeout(LEAVE, connection.finish()) => {}
                ended = &mut end => ended?,
            }
        }
    }
    arrived.lost = open.counters().lost_queue_full;
    report(&arrived)
}

async fn read(connection: &Connection, arrived: &mut Arrived) -> io::Result<()> {
    while let Some(bytes) = connection.read_bytes().await? {
        if arrived.wrong_at.is_none() {
            let at = now();
            arrived.first_at.get_or_insert(at);
            arrived.last_at = Some(at);
            arrived.wrong_at = pattern::first_difference(arrived.verified, &bytes);
            arrived.verified += bytes.len() as u64;
        }
    }
    Ok(())
}

/// Passes frames on until it is dismissed.
fn router(case: &Case, node: NodeId, routes: Routes) -> Result<(), Failure> {
    let (input, signals) = (io::stdin(), Signals::watch()?);
    let mut router = Router::open(node, routes, case.path().path(), false)?;
    say(READY)?;
    let mut is_stopped = false;
    router
        .run(|_| {
            is_stopped = signals.any();
            !is_stopped && !is_dismissed(input.as_fd())
        })
        .map_err(|error| Failure::System(format!("node {node}: {error}")))?;
    if is_stopped {
        return Err(stopped());
    }
    let [forward, returned] = Direction::BOTH.map(|way| router.path().counters(way).into());
    report(&Passed { forward, returned, lost: router.counters().lost_queue_full })
}

/// Passes when the scenario's time is over or this process is dismissed, with an error when it is stopped. It listens for that
/// from now on: whoever has a queue removes it.
fn deadline(case: &Case) -> Result<impl Future<Output = Result<(), Failure>>, Failure> {
    let mut stop = Stop::listen()?;
    let time = Duration::from_nanos(case.spec.duration.as_nanos());
    Ok(async move {
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            () = dismissed() => Ok(()),
            () = stop.wait() => Err(stopped()),
        }
    })
}

fn stopped() -> Failure {
    Failure::System("stopped".to_owned())
}

/// Passes when the standard input ends, which is a pipe from the process that started this one.
async fn dismissed() {
    let input = io::stdin().as_fd().try_clone_to_owned();
    let Ok(mut input) = input.and_then(Receiver::from_owned_fd) else { return pending().await };
    let _ = input.read_to_end(&mut Vec::new()).await;
}

/// Whether the standard input has ended.
fn is_dismissed(input: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

fn report(report: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(report);
    say(&text.map_err(|error| Failure::System(error.to_string()))?)
}

/// A line for the process that started this one.
fn say(line: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    Ok(writeln!(out, "{line}").and_then(|()| out.flush())?)
}
