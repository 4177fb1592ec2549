//! `bentpipe bundle`: nodes of RFC 9171, and the applications of one.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bentpipe_net::bundles::{Client, Delivered, Listed, NodeError, Said, Submission, load, start};

use crate::args::net::{
    At, Bundle, BundleCommand, BundleDelete, BundleList, BundleNode, BundleRecv, BundleSend,
    ReportKind,
};
use crate::commands::log;
use crate::commands::stop::{Stop, in_runtime};
use crate::failure::Failure;
use crate::output::harmless::harmless;
use crate::output::lines::Lines;

/// Does what was asked.
pub(super) fn bundle(args: &Bundle) -> Result<(), Failure> {
    let lines = Arc::new(Lines::new());
    log::start(lines.log(), "warn", false);
    match &args.command {
        BundleCommand::Node(args) => node(args, &lines),
        BundleCommand::Send(args) => send(args, &lines),
        BundleCommand::Recv(args) => recv(args, &lines),
        BundleCommand::List(args) => list(args, &lines),
        BundleCommand::Delete(args) => delete(args, &lines),
    }
}

/// Runs a node until it is stopped.
fn node(args: &BundleNode, lines: &Arc<Lines>) -> Result<(), Failure> {
    let config = load(&args.file).map_err(|errors| Failure::Input(errors.to_string()))?;
    in_runtime(async {
        let mut running = start(&config).map_err(|error| match error {
            NodeError::Key(_) => Failure::Input(error.to_string()),
            _ => Failure::System(error.to_string()),
        })?;
        // Until then a signal ends it at once: a medium that does not answer holds up nobody.
        let mut stop = Stop::listen()?;
        for (layer, address) in &running.addresses {
            lines.say(format_args!(
                "listening on {address} ({})",
                format!("{layer:?}").to_lowercase()
            ));
        }
        let (count, bytes) = running.node.look(bentpipe_net::bundles::holds);
        let id = &config.core.node;
        lines.say(format_args!("{id} holds {count} bundles, {bytes} bytes"));
        tokio::select! {
            () = stop.wait() => {}
            () = running.ended() => {
                return Err(Failure::System("a part of the node has ended".to_owned()));
            }
        }
        running.close().await;
        Ok(())
    })
}

/// A connection with a node.
async fn connect(at: &At) -> Result<Client, Failure> {
    let path = &at.node;
    let socket: PathBuf = if path.is_dir() { path.join("socket") } else { path.clone() };
    Client::connect(&socket).await.map_err(|error| {
        let socket = socket.display();
        Failure::System(format!(
            "--node {}: no node answers at {socket} ({error}); `bentpipe bundle node NODE.toml` starts one",
            path.display()
        ))
    })
}

/// The node has gone, or the socket is not one of a node.
fn gone(error: &io::Error) -> Failure {
    match error.kind() {
        // The node has said so.
        io::ErrorKind::InvalidInput => Failure::Input(error.to_string()),
        _ => Failure::System(format!("the node has gone: {error}")),
    }
}

fn send(args: &BundleSend, lines: &Lines) -> Result<(), Failure> {
    let payload = read(&args.file)?;
    let submission = Submission {
        to: args.to.clone(),
        from: args.from.clone(),
        report_to: args.report_to.clone(),
        reports: args.report.iter().map(|report| name(*report).to_owned()).collect(),
        lifetime_ms: args.lifetime.as_nanos() / 1_000_000,
        bytes: payload.len() as u64,
    };
    in_runtime(async {
        let mut client = connect(&args.at).await?;
        let said = client.send(submission, &payload).await.map_err(|error| {
            Failure::System(format!("the node has gone and may have the bundle or not: {error}"))
        })?;
        match said {
            Said::Taken(id) => lines.deliver(&id).map_err(|error| {
                Failure::System(format!("the node has taken {id}; standard output: {error}"))
            }),
            Said::Refused(why) => Err(Failure::Input(format!("the node refuses: {why}"))),
            Said::NotNow(why) => Err(Failure::System(format!("the node takes nothing now: {why}"))),
        }
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes))
    };
    read.map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    Ok(bytes)
}

const fn name(report: ReportKind) -> &'static str {
    match report {
        ReportKind::Received => "received",
        ReportKind::Forwarded => "forwarded",
        ReportKind::Delivered => "delivered",
        ReportKind::Deleted => "deleted",
    }
}

fn recv(args: &BundleRecv, lines: &Lines) -> Result<(), Failure> {
    if !args.dir.is_dir() {
        let dir = args.dir.display();
        return Err(Failure::Input(format!(
            "--dir {dir}: there is no such directory; `mkdir {dir}` makes one"
        )));
    }
    in_runtime(async {
        let mut stop = Stop::listen()?;
        let mut client = connect(&args.at).await?;
        client.receive(&args.endpoint).await.map_err(|error| gone(&error))?;
        loop {
            let (delivered, payload) = tokio::select! {
                next = client.next() => next.map_err(|error| gone(&error))?,
                () = stop.wait() => return Ok(()),
            };
            let id = harmless(&delivered.id);
            match &delivered.report {
                Some(report) => {
                    let (status, reason) = (report.status.join(", "), report.reason);
                    let about = harmless(&report.about);
                    // It is nowhere else: the node has it until it is written.
                    lines.deliver(format_args!("{id}  {about}: {status}, reason {reason}"))?;
                    client.confirm(&delivered).await.map_err(|error| gone(&error))?;
                }
                None => {
                    let path = keep(&args.dir, &delivered, &payload)
                        .map_err(|error| Failure::writing(&args.dir, error))?;
                    client.confirm(&delivered).await.map_err(|error| gone(&error))?;
                    let bytes = payload.len();
                    lines.say(format_args!("{id}  {bytes} bytes in {}", path.display()));
                }
            }
            if args.once {
                return Ok(());
            }
        }
    })
}

/// Puts a payload into a file, and returns when it is on the medium. A bundle that is delivered once more becomes the same file.
fn keep(dir: &Path, delivered: &Delivered, payload: &[u8]) -> io::Result<PathBuf> {
    let name = bentpipe_net::bundles::file_name(delivered);
    let (path, beside) = (dir.join(&name), dir.join(format!(".{name}.bentpipe-part")));
    // What a recv that was killed has left there, or somebody has put there, is not written into.
    let _ = fs::remove_file(&beside);
    let written = File::create_new(&beside).and_then(|mut file| {
        file.write_all(payload)?;
        file.sync_all()
    });
    if let Err(error) = written {
        // What is full shall not stay full for it.
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    if let Err(error) = fs::rename(&beside, &path) {
        let _ = fs::remove_file(&beside);
        return Err(io::Error::new(error.kind(), format!("{name}: {error}")));
    }
    File::open(dir)?.sync_all()?;
    Ok(path)
}

fn list(args: &BundleList, lines: &Lines) -> Result<(), Failure> {
    let listed: Listed = in_runtime(async {
        let mut client = connect(&args.at).await?;
        client.list().await.map_err(|error| gone(&error))
    })?;
    if args.json {
        let text = serde_json::to_string_pretty(&listed);
        lines.say(text.map_err(|error| Failure::System(error.to_string()))?);
        return Ok(());
    }
    for bundle in &listed.bundles {
        let waits = bundle.waits_for.as_deref().unwrap_or("no route");
        let refused = if bundle.is_refused { ", refused there" } else { "" };
        let (id, bytes) = (harmless(&bundle.id), bundle.bytes);
        let others = listed.bundles.iter().filter(|it| it.id == bundle.id).count();
        let hash = if others > 1 { format!(", hash {}", bundle.hash) } else { String::new() };
        lines.say(format_args!("{id}  {bytes} bytes, for {waits}{refused}{hash}"));
    }
    let [taken, forwarded, delivered, deleted] = listed.counters;
    lines.say(format_args!(
        "{}: {} bundles; since it began {taken} taken, {forwarded} forwarded, {delivered} delivered, {deleted} deleted",
        listed.node,
        listed.bundles.len()
    ));
    Ok(())
}

fn delete(args: &BundleDelete, lines: &Lines) -> Result<(), Failure> {
    let said = in_runtime(async {
        let mut client = connect(&args.at).await?;
        client.delete(&args.id).await.map_err(|error| gone(&error))
    })?;
    match said {
        Said::Taken(id) => {
            lines.say(format_args!("{}: deleted", harmless(&id)));
            Ok(())
        }
        Said::Refused(why) => Err(Failure::Input(harmless(&why).to_string())),
        Said::NotNow(why) => Err(Failure::System(harmless(&why).to_string())),
    }
}
