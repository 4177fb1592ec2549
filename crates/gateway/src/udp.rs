//! UDP and ESP inside the association: datagrams that travel between the gateways as datagrams.
//!
//! A flow is what a client and a destination say to each other. At either end it has a socket of its own, so
//! that nobody else's datagrams get into it; it is over when nothing was said for two minutes (RFC 4787,
//! section 4.3), or ten with ESP. Each datagram between the gateways says whose it is, so that neither has to
//! remember anything for the other one.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use bentpipe_wire::Ecn;
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::flows::{Flow, Room};
use crate::open::{Destination, Verdict};
use crate::peer::Remote;
use crate::places::Kind;
use crate::whose::{Target, Whose};
use crate::{Gateway, Network, Received, Role, Tasks as _, Udp};
use bentpipe_association::host::lock;
use bentpipe_units::Span;

/// A flow ends after this time without a datagram.
const IDLE: Span = Span::from_secs(120);
/// The same for ESP: nobody keeps it alive as UDP behind a NAT is, and Linux' own NAT waits so long for it.
const IDLE_ESP: Span = Span::from_secs(600);
/// Datagrams that wait for one flow's socket: as many as may come at once when one that they waited for is there.
const WAITING: usize = 4_096;
/// So many go to a host at once, and then it has a moment to read them.
const BURST: usize = 64;
const MOMENT: Span = Span::from_millis(1);

/// The address that a client talks to.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    /// It.
    pub address: SocketAddr,
    /// It is another host's.
    pub transparent: bool,
}

/// Datagrams that go to a flow's socket, each with its ECN field.
type Queue = mpsc::Sender<(Bytes, Ecn)>;
type Waiting = mpsc::Receiver<(Bytes, Ecn)>;

/// The flows of a gateway: where their datagrams from the remote gateway go.
#[derive(Debug, Default)]
pub(crate) struct Tunnel {
    flows: Mutex<HashMap<(String, Whose), Queue>>,
}

impl Tunnel {
    fn lock(&self) -> MutexGuard<'_, HashMap<(String, Whose), Queue>> {
        // A panic elsewhere leaves it as it was between two calls.
        lock(&self.flows)
    }

    /// Whether a client has ESP with a host already, by whatever peer: each of their sockets would get all that comes back.
    fn has_esp(&self, whose: &Whose) -> bool {
        matches!(whose.to, Target::Esp(_)) && self.lock().keys().any(|(_, other)| other == whose)
    }
}

/// A flow among those to which datagrams from the remote gateway go, as long as this is there.
#[derive(Debug)]
struct Entry<N: Network> {
    inner: Arc<Gateway<N>>,
    key: (String, Whose),
    queue: Queue,
}

impl<N: Network> Drop for Entry<N> {
    fn drop(&mut self) {
        let mut flows = self.inner.tunnel.lock();
        if flows.get(&self.key).is_some_and(|queue| queue.same_channel(&self.queue)) {
            flows.remove(&self.key);
        }
    }
}

/// Takes datagrams of remote gateways, for ever.
pub(crate) async fn serve<N: Network>(inner: Arc<Gateway<N>>) -> io::Result<()> {
    // With this future end all flows that began there.
    let mut flows = inner.network.tasks();
    loop {
        let (peer, came) = tokio::select! {
            biased;
            () = flows.ended() => continue,
            came = inner.host.recv_datagram() => came,
        };
        let remote = inner.peers.values().find(|remote| remote.key == peer);
        let (Some(remote), Some(whose)) = (remote, Whose::read(&came.label)) else {
            continue;
        };
        let key = (remote.name.clone(), whose);
        let known = inner.tunnel.lock().get(&key).cloned();
        let queue = match known {
            Some(queue) => queue,
            None if inner.config.role == Role::Hub => {
                let Some((flow, entry, waiting)) = begin(&inner, remote, &key.1) else { continue };
                let (inner, queue) = (inner.clone(), entry.queue.clone());
                flows.spawn(async move {
                    let remote = inner.peers.values().find(|remote| remote.key == peer);
                    if let Some(remote) = remote {
                        lead(&inner, remote, &entry.key.1, flow, waiting).await;
                    }
                });
                queue
            }
            // An answer that comes too late.
            None => continue,
        };
        let _ = queue.try_send((came.bytes, came.ecn));
    }
}

/// A flow begins, if there may be one more.
fn begin<N: Network>(
    inner: &Arc<Gateway<N>>,
    remote: &Remote,
    whose: &Whose,
) -> Option<(Flow, Entry<N>, Waiting)> {
    if inner.tunnel.has_esp(whose) {
        return None;
    }
    // Datagrams do not wait.
    remote.pace.reserve(inner.host.now(), inner.config.limits.new_per_second, Span::ZERO)?;
    let room = if inner.config.role == Role::Hub {
        Room::There { _permit: remote.places.clone().try_acquire_owned().ok()? }
    } else {
        let client = whose.client.ip();
        Room::Here(inner.places.take(client, Kind::Datagrams, inner.millis())?)
    };
    let flow = Flow::begin(inner, remote, whose.client, whose.to.clone(), room);
    let (queue, waiting) = mpsc::channel(WAITING);
    let key = (remote.name.clone(), whose.clone());
    inner.tunnel.lock().insert(key.clone(), queue.clone());
    Some((flow, Entry { inner: inner.clone(), key, queue }, waiting))
}

/// Carries a flow from a remote gateway to where it leads.
async fn lead<N: Network>(
    inner: &Gateway<N>,
    remote: &Remote,
    whose: &Whose,
    flow: Flow,
    waiting: Waiting,
) {
    let source = inner.source(whose.client);
    let led = async {
        let addresses = match &whose.to {
            Target::Port(to) => inner.look_up(&remote.name, to).await?,
            Target::Esp(host) => vec![SocketAddr::new(*host, 0)],
        };
        let allowed =
            addresses.into_iter().find(|address| inner.policy.allows(&inner.network, *address));
        let to = allowed.ok_or(Verdict::Forbidden)?;
        let socket = match &whose.to {
            Target::Port(_) => inner.network.socket_to(to, source),
            // Behind one address nobody could tell apart what comes back: IKE sees that and takes UDP (RFC 7296, section 2.23).
            Target::Esp(host) => match source {
                // This host's own IPsec is not a client's.
                Some(client) if !inner.network.is_own(client) => {
                    inner.network.esp_to(*host, client.ip())
                }
                _ => return Err(Verdict::Forbidden),
            },
        };
        Ok::<_, Verdict>((socket.map_err(|error| Verdict::from(&error))?, to))
    };
    match led.await {
        Ok(with) => carry(inner, remote, whose, &flow, with, waiting).await,
        Err(verdict) => inner.refused(&remote.name, whose.client, &whose.to, verdict),
    }
}

impl<N: Network> Gateway<N> {
    /// A client has said something, to be carried to the remote gateway of this name: the first datagram of a
    /// flow as a rule. Its others come by a socket between `to` and the client alone, on one of `flows`.
    pub fn carry_datagram(
        self: &Arc<Self>,
        flows: &mut N::Tasks,
        peer: &str,
        client: SocketAddr,
        here: Here,
        to: Destination,
        (datagram, ecn): (&[u8], Ecn),
    ) {
        flows.reap();
        let remote = &self.peers[peer];
        let whose = Whose { client, to: to.into() };
        let known = self.tunnel.lock().contains_key(&(peer.to_owned(), whose.clone()));
        if !known {
            let socket = self.network.socket_between(here.address, client, here.transparent);
            let socket = match socket {
                Ok(socket) => socket,
                Err(error) => return self.cannot_answer(peer, client, here, &error),
            };
            let Some(begun) = begin(self, remote, &whose) else { return };
            begun.0.sent(datagram.len());
            self.run(flows, begun, socket);
        }
        self.host.send_datagram(remote.key, whose.datagram(datagram, ecn));
    }

    /// Carries what a client and `to` say to each other by this socket, on one of `flows`. False where there is no place
    /// for one more flow, or the client has that one already.
    pub fn carry_socket(
        self: &Arc<Self>,
        flows: &mut N::Tasks,
        peer: &str,
        client: SocketAddr,
        to: impl Into<Target>,
        socket: impl Udp,
    ) -> bool {
        flows.reap();
        let whose = Whose { client, to: to.into() };
        if self.tunnel.lock().contains_key(&(peer.to_owned(), whose.clone())) {
            return false;
        }
        let Some(begun) = begin(self, &self.peers[peer], &whose) else { return false };
        self.run(flows, begun, socket);
        true
    }

    /// Says that nothing could come back to a client from where it sends to.
    fn cannot_answer(&self, peer: &str, client: SocketAddr, here: Here, error: &io::Error) {
        if let Some(skipped) = self.refusals.admit(self.seconds()) {
            let to = here.address;
            let hint = if error.kind() == io::ErrorKind::AddrInUse {
                ": a program of this host has the port on every address"
            } else {
                ""
            };
            tracing::warn!(peer, %client, %to, %error, skipped, "datagrams not carried{hint}");
        }
    }

    fn run(
        &self,
        flows: &mut N::Tasks,
        (flow, entry, waiting): (Flow, Entry<N>, Waiting),
        socket: impl Udp,
    ) {
        flows.spawn(async move {
            let (inner, (peer, whose)) = (&entry.inner, &entry.key);
            let with = (socket, whose.client);
            carry(inner, &inner.peers[peer], whose, &flow, with, waiting).await;
        });
    }
}

/// Carries a flow between its socket and the remote gateway until nothing is said any more.
async fn carry<N: Network>(
    inner: &Gateway<N>,
    remote: &Remote,
    whose: &Whose,
    flow: &Flow,
    (socket, with): (impl Udp, SocketAddr),
    mut waiting: Waiting,
) {
    let mut burst = 0;
    let idle = if let Target::Esp(_) = whose.to { IDLE_ESP } else { IDLE };
    let stay = flow.stay();
    let over = async {
        match &stay {
            Some(stay) => stay.over().await,
            None => std::future::pending().await,
        }
    };
    let mut over = std::pin::pin!(over);
    loop {
        tokio::select! {
            biased;
            () = &mut over => return,
            datagram = waiting.recv() => {
                let Some((datagram, ecn)) = datagram else { return };
                flow.received(datagram.len());
                // One that cannot be sent is as good as lost.
                let _ = socket.send(&datagram, ecn).await;
                burst = if waiting.is_empty() { 0 } else { burst + 1 };
                if burst == BURST {
                    burst = 0;
                    inner.network.sleep(MOMENT).await;
                }
            }
            heard = socket.recv() => {
                // An error is an answer to a datagram before, such as that nobody listens there.
                let Ok(Received { bytes, from, ecn }) = heard else { continue };
                // What came before the socket was this flow's alone may be another one's.
                if from != with {
                    continue;
                }
                flow.sent(bytes.len());
                inner.host.send_datagram(remote.key, whose.datagram(&bytes, ecn));
            }
            () = inner.network.sleep(idle) => return,
        }
    }
}
