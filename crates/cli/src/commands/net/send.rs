//! `bentpipe send`: files to a peer.

use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bentpipe_association::endpoint::Streams;
use bentpipe_association::host::Connection;
use bentpipe_association::{LEARN, Tuning};
use bentpipe_net::refusal;
use bentpipe_net::transfer::{EntryError, Links, entries, send as send_entries};
use bentpipe_transfer::{Entry, PORT};
use bentpipe_units::Span;

use crate::args::net::{PathArgs, Send, Transport, Via};
use crate::commands::log;
use crate::commands::net::bar::Bar;
use crate::commands::net::conclude::{conclude, leave, rate};
use crate::commands::net::connecting::Wait;
use crate::commands::net::memory::Memory;
use crate::commands::net::{identity, mqueue, radio, sctp};
use crate::commands::stop::{Stop, in_runtime};
use crate::failure::Failure;
use crate::output::harmless::harmless;
use crate::output::lines::Lines;

/// Time between two looks at the connection for the progress bar.
const REFRESH: Duration = Duration::from_millis(200);
/// Time to tell a peer that the user has stopped.
const BREAK_OFF: Duration = Duration::from_millis(100);

/// Sends files and directories.
pub(crate) fn send(args: &Send) -> Result<(), Failure> {
    let lines = Arc::new(Lines::new());
    log::start(lines.log(), "warn", false);
    let mut tuning = tuning(&args.path);
    match &args.carrier.via {
        Some(Via::Mqueue) => return mqueue::send(args, &tuning, &lines),
        Some(Via::Kiss(tnc)) => return radio::send(tnc, args, &tuning, &lines),
        None => {}
    }
    if args.transport == Transport::Sctp {
        return sctp::send(args, &tuning, &lines);
    }
    let missing = || Failure::Input("name the peer's public key with --peer KEY".to_owned());
    let peer = args.peer.ok_or_else(missing)?;
    if identity::load(args.identity.key.as_deref())?.public() == peer {
        let problem = format!(
            "--peer {peer}: that is the key of this host; `recv` prints that of the other one"
        );
        return Err(Failure::Input(problem));
    }
    let memory = Memory::beside(&identity::key_path(args.identity.key.as_deref())?);
    tuning.known = memory.recall(peer);
    // It asks for an answer until the idle timeout ends.
    let config = tuning.persistent_config();
    let config = config.map_err(|error| Failure::Input(error.to_string()))?;
    let Some(parcel) = Parcel::gather(args, &lines)? else { return Ok(()) };
    in_runtime(async {
        let address = resolve(&args.to).await?;
        let local = match args.bind[..] {
            [] => any_towards(address),
            [one] => (one, 0).into(),
            _ => {
                let problem = "--bind: XSTP sends from one address; only SCTP uses several";
                return Err(Failure::Input(problem.to_owned()));
            }
        };
        let host = identity::host(&args.identity, local)?;
        if args.path.rate.is_none() {
            host.set_learning(LEARN);
        }
        // What the peer makes this host keep is not more than its buffers.
        host.limit_memory((config.snd_buf + config.rcv_buf) * 3, 1);
        let silence = format!(
            "nobody is there, its key is not the one of --peer, or it does not know the key of this host \
             ({}; recv says so there)",
            host.public_key()
        );
        let connecting = host.connect(address, peer, PORT, config);
        let refused = refusal(local.ip(), address);
        let sent = tokio::select! {
            sent = parcel.deliver(connecting, refused, silence, nothing_more) => sent?,
            () = host.failed() => return Err(super::ended()),
        };
        if let Some(round_trip) = sent.round_trip.filter(|_| args.path.rate.is_none()) {
            memory.note(peer, sent.bytes, sent.seconds, round_trip);
        }
        parcel.verdict(sent)
    })
}

/// What is to be sent, and to whom.
pub(super) struct Parcel<'a> {
    to: &'a str,
    idle_timeout: Span,
    /// Time for the peer to take its leave.
    leave: Duration,
    found: Vec<Entry>,
    /// Paths that were named and cannot be sent.
    missing: u64,
    lines: Arc<Lines>,
}

impl<'a> Parcel<'a> {
    /// Looks for what is to be sent. There may be nothing but links, which are skipped.
    pub(super) fn gather(args: &'a Send, lines: &Arc<Lines>) -> Result<Option<Self>, Failure> {
        let links = if args.links { Links::Send } else { Links::Skip };
        let (found, errors) = entries(&args.paths, links);
        let (skipped, missing): (Vec<_>, Vec<_>) =
            errors.into_iter().partition(|error| matches!(error, EntryError::Link { .. }));
        for error in &missing {
            lines.complain(harmless(&error.to_string()));
        }
        match skipped.len() {
            0 => {}
            1 => lines.remark("1 item skipped (symbolic link)"),
            more => lines.remark(format_args!("{more} items skipped (symbolic links)")),
        }
        if found.is_empty() {
            if missing.is_empty() && !skipped.is_empty() {
                return Ok(None);
            }
            return Err(Failure::Input("there is nothing to send".to_owned()));
        }
        let (to, idle_timeout, missing) = (&args.to, args.path.idle_timeout, missing.len() as u64);
        let leave = leave(&args.carrier);
        Ok(Some(Self { to, idle_timeout, leave, found, missing, lines: lines.clone() }))
    }

    /// Sends it over the connection that `connecting` opens, and prints what became of it. `refused` says when
    /// nobody listens, `silence` what may be wrong when nobody answers. Meanwhile `beside` watches the connection.
    pub(super) async fn deliver<S: Streams>(
        &self,
        connecting: impl Future<Output = io::Result<Connection<S>>>,
        refused: impl Future<Output = io::Error>,
        silence: String,
        beside: impl AsyncFn(&Connection<S>, &Bar) -> Never,
    ) -> Result<Sent, Failure> {
        let began = tokio::time::Instant::now();
        let failed = |error: &dyn Display| Failure::System(format!("{}: {error}", self.to));
        let mut stop = Stop::listen()?;
        let stopped =
            || Failure::System("stopped; the same command resumes the transfer".to_owned());
        let wait =
            Wait { to: self.to, idle_timeout: self.idle_timeout, silence, lines: &self.lines };
        let connection = tokio::select! {
            connected = wait.connect(connecting, refused) => connected?,
            () = stop.wait() => return Err(stopped()),
        };
        let bar = Arc::new(Bar::new(&self.lines, self.found.iter().filter_map(Entry::size).sum()));
        let sent = {
            let watched = watch(&connection, &bar);
            let sending = send_entries(&connection, &self.found, |progress| bar.note(progress));
            tokio::select! {
                sent = sending => Some(sent),
                () = stop.wait() => None,
                never = watched => match never {},
                never = beside(&connection, &bar) => match never {},
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        bar.finish();
        let Some(sent) = sent else {
            // A peer that does not hear it finds out by itself.
            connection.abort();
            tokio::time::sleep(BREAK_OFF).await;
            return Err(stopped());
        };
        let outcome = sent.map_err(|error| failed(&error))?;
        let (state, counters) = connection.state();
        // The peer has said what became of each entry; how it takes its leave changes nothing.
        let _ = tokio::time::timeout(self.leave, connection.finish()).await;
        let said = conclude(format!(
            "{} of {} entries, {} sent in {seconds:.2} s ({}), {} there already, \
             {:.2} % retransmitted",
            outcome.done,
            self.found.len(),
            indicatif::DecimalBytes(outcome.sent),
            rate(outcome.sent, seconds),
            indicatif::DecimalBytes(outcome.had),
            100.0 * counters.retransmitted_segments as f64 / counters.data_segments.max(1) as f64,
        ));
        let said = said.await;
        let (bytes, failed) = (outcome.sent, outcome.failed);
        Ok(Sent { bytes, seconds, round_trip: state.srtt, failed, said })
    }

    /// Whether everything that was named has arrived, whoever has read that, and then whether it could be told.
    pub(super) fn verdict(&self, sent: Sent) -> Result<(), Failure> {
        let failed = sent.failed + self.missing;
        if failed > 0 {
            return Err(Failure::System(format!("{failed} entries were not sent")));
        }
        Ok(sent.said?)
    }
}

/// What a transfer came to.
pub(super) struct Sent {
    bytes: u64,
    seconds: f64,
    round_trip: Option<Span>,
    /// Entries that were found and could not be sent.
    failed: u64,
    /// Whether the user could be told.
    said: io::Result<()>,
}

fn tuning(path: &PathArgs) -> Tuning {
    if path.patience.is_some() {
        anstream::eprintln!("bentpipe: warning: `--patience` is called `--idle-timeout` now");
    }
    Tuning {
        rate: path.rate,
        controller: path.controller.clone(),
        probing: path.probing,
        idle_timeout: path.patience.unwrap_or(path.idle_timeout),
        ..Tuning::default()
    }
}

/// The address of a host.
pub(super) async fn resolve(name: &str) -> Result<SocketAddr, Failure> {
    let mut found = tokio::net::lookup_host(name).await.map_err(|error| {
        Failure::Input(format!("{name}: {error}; write HOST:PORT, such as ground.example:25300"))
    })?;
    found.next().ok_or_else(|| Failure::Input(format!("{name}: there is no such host")))
}

/// Any address of this host, of the family of a peer's.
pub(super) fn any_towards(peer: SocketAddr) -> SocketAddr {
    if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() }
}

/// Keeps RTT and loss on the progress bar up to date.
async fn watch(connection: &Connection<impl Streams>, bar: &Bar) -> Never {
    loop {
        tokio::time::sleep(REFRESH).await;
        let (state, counters) = connection.state();
        let rtt = state.srtt.map_or(0.0, Span::as_secs_f64) * 1e3;
        let sent = counters.data_segments.max(1) as f64;
        let loss = 100.0 * counters.retransmitted_segments as f64 / sent;
        bar.tell(format!("RTT {rtt:.0} ms, loss {loss:.2} %"));
    }
}

/// What never comes.
pub(super) enum Never {}

/// Nothing to watch on a connection but its state.
pub(super) async fn nothing_more<S: Streams>(_: &Connection<S>, _: &Bar) -> Never {
    std::future::pending().await
}
