//! Runs a session over a stream of bytes, between a node and its peer.

use std::io;

use bentpipe_association::host::Runtime;
use bentpipe_units::{Instant, Span};
use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::layer::{Event, ProtocolError, Session};
use crate::shared::Line;
use crate::silence::{Progress, Silence};
use crate::{Answer, Folder, Node, NodeId, Origin, Outgoing, Queue, SharedNode};

/// Bytes that are read, or written, at a time.
const PIECE: usize = 64 * 1024;

/// Whom a session is with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// This neighbour, by its place in the configuration. Where it says which node it is, it has to be that one.
    Neighbour(usize),
    /// Whichever of these neighbours it says it is, for which it proves nothing; any other one gives bundles and gets none.
    Unknown(Vec<usize>),
}

/// Why a session has ended.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// The stream has failed.
    #[error("the connection failed: {0}")]
    Stream(#[from] io::Error),
    /// The peer does not keep to the protocol.
    #[error("the peer does not keep to the protocol: {0}")]
    Protocol(#[from] ProtocolError),
    /// The peer is another node than it should be.
    #[error("the peer is {is}, and this connection is for {should}")]
    Other {
        /// What it says.
        is: String,
        /// What is configured.
        should: String,
    },
    /// The peer has not answered for a bundle, or is a stranger that says nothing.
    #[error("the peer has said and taken nothing for {0}")]
    Silent(Span),
    /// Newer sessions with the same peer have taken its place.
    #[error("newer connections of this peer have taken its place")]
    Replaced,
}

/// How a session is run.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Whom it is with.
    pub peer: Peer,
    /// After so long without a word from a peer that has bundles to answer for, and takes nothing, the session is given up.
    pub idle_timeout: Span,
    /// What the other end has taken, where that is known. Otherwise what leaves this end's buffer counts as taken.
    pub progress: Option<Progress>,
}

/// Carries bundles over a stream until one end closes it. Each bundle that comes is answered when the node has it on its
/// medium; what was sent and not answered is the node's again in the end.
///
/// # Errors
/// Why it has ended, unless the peer has closed it.
pub async fn carry<F: Folder>(
    runtime: &impl Runtime,
    node: &SharedNode<F>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    session: impl Session,
    terms: &Terms,
) -> Result<(), CarryError> {
    let line = match terms.peer {
        Peer::Neighbour(place) => Some(node.begin(Queue::Neighbour(place))),
        Peer::Unknown(_) => None,
    };
    let mut carrier = Carrier { runtime, node, session, line, terms };
    carrier.run(stream).await
}

struct Carrier<'a, R, F: Folder, S> {
    runtime: &'a R,
    node: &'a SharedNode<F>,
    session: S,
    line: Option<Line<F>>,
    terms: &'a Terms,
}

impl<R: Runtime, F: Folder, S: Session> Carrier<'_, R, F, S> {
    async fn run(
        &mut self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    ) -> Result<(), CarryError> {
        let (mut reader, mut writer) = tokio::io::split(stream);
        let mut changed = self.node.watch();
        let mut output = Bytes::new();
        let is_stranger = matches!(self.terms.peer, Peer::Unknown(_));
        let (idle_timeout, progress) = (self.terms.idle_timeout, self.terms.progress.clone());
        let mut silence = Silence::new(idle_timeout, is_stranger, progress, self.runtime.now());
        let mut buffer = vec![0; PIECE];
        loop {
            changed.borrow_and_update();
            self.handle_events().await?;
            if self.line.is_some() {
                silence.knows_peer();
            }
            if self.node.look(Node::is_closing) {
                self.session.close();
            }
            self.fill().await?;
            let now = self.runtime.now();
            while output.is_empty() {
                let Some(next) = self.session.next_output(now) else { break };
                output = next;
            }
            if self.handle_events().await? {
                // What was written is out, and there may be room for more.
                continue;
            }
            if self.session.is_closed() && output.is_empty() {
                let _ = writer.shutdown().await;
                return Ok(());
            }
            silence.look(now, self.session.is_waiting());
            let gives_up = silence.gives_up(self.session.is_waiting());
            let deadline = Instant::earliest(self.session.next_deadline(), gives_up);
            let wants_input = self.session.wants_input();
            tokio::select! {
                // In this order, and the same each time: what is said first is never held up by what comes.
                biased;
                wrote = writer.write(&output[..output.len().min(PIECE)]), if !output.is_empty() => {
                    let wrote = wrote?;
                    if wrote == 0 {
                        return Err(io::Error::from(io::ErrorKind::WriteZero).into());
                    }
                    output.advance(wrote);
                    silence.wrote(self.runtime.now());
                }
                read = reader.read(&mut buffer), if wants_input => {
                    let read = read?;
                    if read == 0 {
                        return Ok(());
                    }
                    let now = self.runtime.now();
                    silence.heard(now);
                    self.session.handle_input(now, &buffer[..read])?;
                }
                // A node that ends lets its sessions go.
                told = changed.changed() => if told.is_err() { return Ok(()) },
                () = sleep_until(self.runtime, deadline) => {}
            }
            let now = self.runtime.now();
            self.session.handle_timeout(now)?;
            let owes = self.session.is_waiting();
            silence.look(now, owes);
            if silence.gives_up(owes).is_some_and(|at| now >= at) {
                return Err(CarryError::Silent(self.terms.idle_timeout));
            }
            if let Some(session) = self.line.as_ref().map(Line::id)
                && self.node.look(|node| node.is_over(session))
            {
                return Err(CarryError::Replaced);
            }
        }
    }

    /// Gives the node what has come, and the peer what the node says. False if nothing has happened.
    async fn handle_events(&mut self) -> Result<bool, CarryError> {
        let mut any = false;
        while let Some(event) = self.session.next_event() {
            any = true;
            match event {
                Event::Peer(is) => self.meet(&is)?,
                Event::Bundle(bundle) => {
                    let from = if self.line.is_some() { Origin::Known } else { Origin::Stranger };
                    let taken = self
                        .node
                        .with(self.runtime, move |node, now| node.receive(now, &bundle, from));
                    match taken.await? {
                        Ok(taken) => self.session.answer(Some(taken.id()), Answer::Accepted),
                        Err(refusal) => {
                            let final_one = refusal.is_final();
                            let answer = if final_one { Answer::Never } else { Answer::Later };
                            self.session.answer(refusal.id(), answer);
                        }
                    }
                }
                Event::Answer(id, answer) => {
                    let Some(session) = self.line.as_ref().map(Line::id) else { continue };
                    let said = self.node.with(self.runtime, move |node, now| {
                        node.answered(now, session, &id, answer)
                    });
                    // Where the medium fails, the node has said so and offers the bundle again.
                    let _ = said.await?;
                }
            }
        }
        Ok(any)
    }

    /// The peer has said which node it is.
    fn meet(&mut self, is: &str) -> Result<(), CarryError> {
        let id: Option<NodeId> = is.parse().ok();
        let place = self
            .node
            .look(|node| node.config().neighbours.iter().position(|it| Some(it) == id.as_ref()));
        match &self.terms.peer {
            Peer::Neighbour(should) if place != Some(*should) => {
                let should = self.node.look(|node| node.config().neighbours[*should].to_string());
                // What a peer says goes into logs.
                let is = is.chars().filter(char::is_ascii_graphic).take(100).collect();
                Err(CarryError::Other { is, should })
            }
            Peer::Neighbour(_) => Ok(()),
            Peer::Unknown(may_be) => {
                // Who is known by a key, or by another layer, is not whoever says so.
                let place = place.filter(|place| may_be.contains(place));
                self.line = place.map(|place| self.node.begin(Queue::Neighbour(place)));
                Ok(())
            }
        }
    }

    /// Takes bundles from the node as long as there is room for them.
    async fn fill(&mut self) -> Result<(), CarryError> {
        while let (Some(most), Some(session)) =
            (self.session.room(), self.line.as_ref().map(Line::id))
        {
            let next = self.node.with(self.runtime, move |node, now| {
                let next = node.next(now, session, most);
                next.map(|Outgoing { id, mut bundle }| (id, bundle.to_bytes()))
            });
            let Some((id, bytes)) = next.await? else { break };
            self.session.send(id, bytes);
        }
        Ok(())
    }
}

async fn sleep_until(runtime: &impl Runtime, deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => {
            let now = runtime.now();
            runtime.sleep(if deadline > now { deadline.since(now) } else { Span::ZERO }).await;
        }
        None => std::future::pending().await,
    }
}
