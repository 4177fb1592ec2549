//! How applications of this machine talk to a node: over a Unix socket that its owner alone may use.
//!
//! A question is a line of JSON, at most [`LONGEST_LINE`] bytes, and what belongs to it comes behind it as bytes. So is an answer.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use bentpipe_bundle::{
    Answer, BundleId, Line, Node, NodeId, NotDeleted, Outgoing, Queue, Reports, Request, endpoint,
    read_report,
};
use bentpipe_units::Span;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::folder::DiskFolder;
use super::node::DiskNode;
use crate::runtime::Tokio;

/// Longest line, in bytes.
pub const LONGEST_LINE: u64 = 8192;
/// Applications at a time.
const MOST_APPLICATIONS: usize = 16;

/// What an application asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Question {
    /// To take a bundle, whose payload comes behind the line.
    Send(Submission),
    /// To deliver what is at an endpoint of the node: a service, or a whole endpoint ID.
    Recv {
        /// Which.
        endpoint: String,
    },
    /// What it holds.
    List,
    /// To delete the bundle of this name or hash.
    Delete {
        /// Which.
        id: String,
    },
}

/// A bundle that is to be sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The endpoint ID of its destination.
    pub to: String,
    /// Where it is from: a service of the node, or a whole endpoint ID of it.
    pub from: String,
    /// Whom to tell what becomes of it; nothing for where it is from.
    pub report_to: Option<String>,
    /// What is to be told: `received`, `forwarded`, `delivered`, `deleted`.
    pub reports: Vec<String>,
    /// How long it is of use, in milliseconds.
    pub lifetime_ms: u64,
    /// Length of the payload that comes behind the line.
    pub bytes: u64,
}

/// What a node answers to a question to send.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// It is on the medium of the node, under this name.
    Taken(String),
    /// It is not and never will be, and why.
    Refused(String),
    /// It is not, for now, and why.
    NotNow(String),
}

/// A bundle that is delivered, whose payload comes behind the line. The node keeps it until it is told that the application has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Delivered {
    /// Its name.
    pub id: String,
    /// A hash of its name and of what it carries, as hexadecimal digits.
    pub hash: String,
    /// The endpoint ID that it is from.
    pub source: String,
    /// Length of the payload.
    pub bytes: u64,
    /// What it says, where it is a status report.
    pub report: Option<Report>,
}

/// What a status report says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The bundle that it is about.
    pub about: String,
    /// What became of it.
    pub status: Vec<String>,
    /// Why, as RFC 9171, section 9.5, numbers it.
    pub reason: u32,
}

/// An application has a bundle and needs the node's no more. The node repeats the line when it knows that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Confirm {
    /// Its hash.
    pub delivered: String,
}

/// What a node holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Listed {
    /// The node.
    pub node: String,
    /// Each bundle.
    pub bundles: Vec<ListedBundle>,
    /// Bundles that it has taken, forwarded, delivered and deleted since it began.
    pub counters: [u64; 4],
}

/// A bundle that a node holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ListedBundle {
    /// Its name.
    pub id: String,
    /// What tells it from another one of that name, as hexadecimal digits.
    pub hash: String,
    /// For whom it waits: an endpoint, the node ID of a neighbour, or nothing.
    pub waits_for: Option<String>,
    /// Its length.
    pub bytes: u64,
    /// Whether the next hop has refused it for good.
    pub is_refused: bool,
}

/// A socket at this place, which nobody but the owner may use. A node that was killed leaves one behind.
pub(super) fn listen(path: &Path) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(there) => {
            use std::os::unix::fs::FileTypeExt as _;
            if !there.file_type().is_socket() {
                return Err(io::Error::other("something else is there, which is no socket"));
            }
            if std::os::unix::net::UnixStream::connect(path).is_ok() {
                let kind = io::ErrorKind::AddrInUse;
                return Err(io::Error::new(
                    kind,
                    "another node answers there: `socket` names a place",
                ));
            }
            fs::remove_file(path)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Serves applications for ever.
pub(super) async fn serve(node: DiskNode, listener: UnixListener) {
    let places = Arc::new(Semaphore::new(MOST_APPLICATIONS));
    let mut applications = JoinSet::new();
    loop {
        while applications.try_join_next().is_some() {}
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            continue;
        };
        let node = node.clone();
        applications.spawn(async move {
            let _place = place;
            if let Err(error) = Application::new(node, stream).serve().await {
                tracing::debug!(%error, "an application has gone");
            }
        });
    }
}

/// One end of the socket.
#[derive(Debug)]
pub(super) struct Channel {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

impl Channel {
    pub(super) fn new(stream: UnixStream) -> Self {
        let (reader, writer) = stream.into_split();
        Self { reader: BufReader::new(reader), writer }
    }

    /// The next line; `None` at the end.
    pub(super) async fn read<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut line = Vec::new();
        (&mut self.reader).take(LONGEST_LINE).read_until(b'\n', &mut line).await?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') {
            return Err(io::Error::other("a line that is torn or too long"));
        }
        Ok(Some(serde_json::from_slice(&line)?))
    }

    /// A line of any length: it is the node's own.
    pub(super) async fn read_long<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line).await?;
        Ok(serde_json::from_slice(&line)?)
    }

    pub(super) async fn read_bytes(&mut self, len: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut self.reader).take(len).read_to_end(&mut bytes).await?;
        if bytes.len() as u64 != len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }

    /// Throws away so many bytes.
    async fn skip(&mut self, len: u64) -> io::Result<()> {
        let mut rest = (&mut self.reader).take(len);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await.map(drop)
    }

    pub(super) async fn write(&mut self, line: &impl Serialize, bytes: &[u8]) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.writer.write_all(&text).await?;
        self.writer.write_all(bytes).await
    }
}

/// An application at the node's end of the socket.
struct Application {
    node: DiskNode,
    channel: Channel,
}

impl Application {
    fn new(node: DiskNode, stream: UnixStream) -> Self {
        Self { node, channel: Channel::new(stream) }
    }

    async fn serve(mut self) -> io::Result<()> {
        while let Some(question) = self.channel.read::<Question>().await? {
            match question {
                Question::Send(submission) => {
                    let said = match self.submit(submission).await? {
                        Ok(id) => Said::Taken(id.to_string()),
                        Err(said) => said,
                    };
                    self.channel.write(&said, &[]).await?;
                }
                Question::Recv { endpoint } => return self.deliver(&endpoint).await,
                Question::List => {
                    let listed = self.list();
                    self.channel.write(&listed, &[]).await?;
                }
                Question::Delete { id } => {
                    let delete =
                        move |node: &mut Node<DiskFolder>, now| node.delete_named(now, &id);
                    let said = match self.node.with(&Tokio, delete).await? {
                        Ok(id) => Said::Taken(id.to_string()),
                        Err(why @ NotDeleted::Medium(..)) => Said::NotNow(why.to_string()),
                        Err(why) => Said::Refused(why.to_string()),
                    };
                    self.channel.write(&said, &[]).await?;
                }
            }
        }
        Ok(())
    }

    /// Takes a bundle.
    async fn submit(&mut self, said: Submission) -> io::Result<Result<BundleId, Said>> {
        let (id, most) = self.node.look(|node| {
            let config = node.config();
            (config.node.clone(), config.limits.largest)
        });
        if said.bytes > most {
            // It is written anyway by whoever has asked: the owner of this node.
            self.channel.skip(said.bytes).await?;
            let why = format!("{} bytes, and this node takes bundles of {most}", said.bytes);
            return Ok(Err(Said::Refused(why)));
        }
        let payload = self.channel.read_bytes(said.bytes).await?;
        let request = match request(&id, &said, payload) {
            Ok(request) => request,
            Err(why) => return Ok(Err(Said::Refused(why))),
        };
        let taken = self.node.with(&Tokio, move |node, now| node.submit(now, &request)).await?;
        Ok(taken.map_err(|refusal| {
            let why = refusal.to_string();
            if refusal.is_final() { Said::Refused(why) } else { Said::NotNow(why) }
        }))
    }

    /// Delivers what is at an endpoint, one bundle after the other, for as long as the application is there.
    async fn deliver(&mut self, at: &str) -> io::Result<()> {
        let id = self.node.look(|node| node.config().node.clone());
        let at = match own(&id, at) {
            Ok(at) => at,
            Err(why) => return self.channel.write(&Said::Refused(why), &[]).await,
        };
        let line = self.node.begin(Queue::Endpoint(at.to_string()));
        let mut changed = self.node.watch();
        loop {
            changed.borrow_and_update();
            let session = line.id();
            let next = self.node.with(&Tokio, move |node, now| node.next(now, session, u64::MAX));
            if let Some(out) = next.await? {
                self.deliver_one(&line, &out).await?;
                continue;
            }
            tokio::select! {
                changed = changed.changed() => if changed.is_err() { return Ok(()) },
                // It says nothing while it waits: this is its end.
                read = self.channel.read::<Confirm>() => {
                    read?;
                    return Ok(());
                }
            }
        }
    }

    async fn deliver_one(&mut self, line: &Line<DiskFolder>, out: &Outgoing) -> io::Result<()> {
        let Outgoing { id, bundle } = out;
        let report = read_report(bundle).map(|told| Report {
            about: told.about.to_string(),
            status: told.status.iter().map(|(status, _)| status.name().to_owned()).collect(),
            reason: told.reason,
        });
        let payload = bundle.payload();
        let (bytes, source) = (payload.len() as u64, bundle.source().to_string());
        let hash = id.hash_text();
        let delivered = Delivered { id: id.to_string(), hash, source, bytes, report };
        self.channel.write(&delivered, payload).await?;
        let confirm: Confirm = self.channel.read().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        if confirm.delivered != delivered.hash {
            return Err(io::Error::other("it confirms another bundle"));
        }
        let (id, session) = (id.clone(), line.id());
        let act = move |node: &mut Node<DiskFolder>, now| {
            node.answered(now, session, &id, Answer::Accepted)
        };
        self.node.with(&Tokio, act).await??;
        self.channel.write(&confirm, &[]).await
    }

    fn list(&self) -> Listed {
        self.node.look(|node| {
            let config = node.config();
            let bundles = node.entries().map(|entry| ListedBundle {
                id: entry.id.to_string(),
                hash: entry.id.hash_text(),
                waits_for: match entry.queue {
                    Queue::Endpoint(endpoint) => Some(endpoint),
                    Queue::Neighbour(place) => Some(config.neighbours[place].to_string()),
                    Queue::Nowhere => None,
                },
                bytes: entry.len,
                is_refused: entry.is_refused,
            });
            let counters = node.counters();
            Listed {
                node: config.node.to_string(),
                bundles: bundles.collect(),
                counters: [
                    counters.taken,
                    counters.forwarded,
                    counters.delivered,
                    counters.deleted,
                ],
            }
        })
    }
}

/// An endpoint of a node: a service of it, or the whole ID.
fn own(node: &NodeId, said: &str) -> Result<bentpipe_bundle::EndpointID, String> {
    if !said.contains(':') {
        return node.service(said).map_err(|error| error.to_string());
    }
    let endpoint = endpoint(said).map_err(|error| error.to_string())?;
    if !node.has(&endpoint) {
        return Err(format!("{said} is no endpoint of this node, which is {node}"));
    }
    Ok(endpoint)
}

/// What a node is asked to send.
fn request(node: &NodeId, said: &Submission, payload: Vec<u8>) -> Result<Request, String> {
    let mut reports = Reports::default();
    for report in &said.reports {
        match report.as_str() {
            "received" => reports.reception = true,
            "forwarded" => reports.forwarding = true,
            "delivered" => reports.delivery = true,
            "deleted" => reports.deletion = true,
            other => return Err(format!("there is no report `{other}`")),
        }
    }
    let from = own(node, &said.from)?;
    let report_to = match &said.report_to {
        Some(to) => endpoint(to).map_err(|error| error.to_string())?,
        None => from.clone(),
    };
    Ok(Request {
        to: endpoint(&said.to).map_err(|error| error.to_string())?,
        from,
        report_to,
        reports,
        lifetime: Span::from_nanos(said.lifetime_ms.saturating_mul(1_000_000)),
        payload,
    })
}
