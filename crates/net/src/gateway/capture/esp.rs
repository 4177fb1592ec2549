//! How packets of ESP come in, which the firewall leads here.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bentpipe_gateway::{Received, Target, Udp};
use bentpipe_wire::Ecn;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use super::{Inner, PAUSE};
use crate::esp_sockets::{ANY, EspSocket};
use crate::gateway::firewall::MARK;
use crate::gateway::system::Running;

/// Packets that wait for one flow.
const WAITING: usize = 1_024;

/// Takes packets of either kind of addresses. Where the process may not, the rest works without.
pub(super) fn start(inner: &Arc<Inner>, tasks: &mut JoinSet<io::Result<()>>, peer: &str) {
    for any in ANY {
        match EspSocket::listen(any, MARK) {
            Ok(socket) => drop(tasks.spawn(serve(inner.clone(), peer.to_owned(), socket))),
            Err(error) => {
                tracing::warn!(%error, %any, "cannot capture ESP: IPsec has to travel in UDP, or CAP_NET_RAW is missing");
            }
        }
    }
}

async fn serve(inner: Arc<Inner>, peer: String, listener: EspSocket) -> io::Result<()> {
    // With this future end all flows.
    let mut running = Running::default();
    let mut flows: HashMap<(IpAddr, IpAddr), mpsc::Sender<Received>> = HashMap::new();
    loop {
        let Ok((packet, host)) = listener.receive_led().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let client = packet.from;
        let ends = (client.ip(), host);
        let packet = match flows.get(&ends).map(|flow| flow.try_send(packet.clone())) {
            Some(Ok(()) | Err(TrySendError::Full(_))) => continue,
            Some(Err(TrySendError::Closed(packet))) => packet,
            None => packet,
        };
        flows.retain(|_, flow| !flow.is_closed());
        if let Some(flow) = begin(&inner, &mut running, &peer, (client, host), packet) {
            flows.insert(ends, flow);
        }
    }
}

/// A flow begins with a packet, if there is a place for it.
fn begin(
    inner: &Arc<Inner>,
    running: &mut Running,
    peer: &str,
    (client, host): (SocketAddr, IpAddr),
    first: Received,
) -> Option<mpsc::Sender<Received>> {
    let socket = EspSocket::between(host, client.ip()).inspect_err(|error| {
        tracing::debug!(%error, %client, %host, "ESP not carried");
    });
    let (flow, came) = mpsc::channel(WAITING);
    // There is room for the first one.
    let _ = flow.try_send(first);
    let led = Led { socket: socket.ok()?, came: Mutex::new(came) };
    inner.carry_socket(running, peer, client, Target::Esp(host), led).then_some(flow)
}

/// What a client and a host say to each other by ESP.
#[derive(Debug)]
struct Led {
    /// Leads to the client.
    socket: EspSocket,
    came: Mutex<mpsc::Receiver<Received>>,
}

impl Udp for Led {
    async fn send(&self, packet: &[u8], ecn: Ecn) -> io::Result<usize> {
        self.socket.send(packet, ecn).await
    }

    async fn recv(&self) -> io::Result<Received> {
        match self.came.lock().await.recv().await {
            Some(packet) => Ok(packet),
            None => std::future::pending().await,
        }
    }
}
