//! UDP ASSOCIATE of SOCKS5 (RFC 1928, section 7): a client's datagrams come to one port, each with its destination in front,
//! and so do the answers.

use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bentpipe_gateway::places::Place;
use bentpipe_gateway::{Destination, Received, Udp};
use bentpipe_wire::Ecn;
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{new_udp_header, parse_udp_request};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Mutex, mpsc};

use super::{Inner, PAUSE};
use crate::gateway::system::Running;
use crate::udp_sockets;

/// Datagrams of a client that wait for one flow.
const WAITING: usize = 256;

/// The datagrams of one client, as long as its TCP connection.
#[derive(Debug)]
pub(super) struct Association {
    inner: Arc<Inner>,
    peer: String,
    place: Place,
    relay: Arc<UdpSocket>,
    /// Whose datagrams are taken; port 0 before one came, if the client has named none.
    client: SocketAddr,
    flows: HashMap<Destination, mpsc::Sender<Received>>,
    /// With this the flows end.
    running: Running,
}

impl Association {
    pub(super) fn new(
        inner: &Arc<Inner>,
        peer: &str,
        place: Place,
        relay: UdpSocket,
        client: SocketAddr,
    ) -> Self {
        Self {
            inner: inner.clone(),
            peer: peer.to_owned(),
            place,
            relay: Arc::new(relay),
            client,
            flows: HashMap::new(),
            running: Running::default(),
        }
    }

    /// Carries datagrams until the client ends its TCP connection, or somebody else gets its place.
    pub(super) async fn carry(mut self, mut tcp: TcpStream) -> io::Result<()> {
        let (stay, relay, mut said) = (self.place.stay(), self.relay.clone(), [0; 64]);
        loop {
            tokio::select! {
                biased;
                () = stay.over() => return Ok(()),
                // What it says there is of no account, but that it ends.
                read = tcp.read(&mut said) => {
                    if read? == 0 {
                        return Ok(());
                    }
                }
                came = udp_sockets::receive(&relay) => match came {
                    Ok(came) => self.take(came).await,
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
            }
        }
    }

    async fn take(&mut self, came: Received) {
        let is_client = came.from.ip() == self.client.ip()
            && (self.client.port() == 0 || came.from.port() == self.client.port());
        if !is_client {
            return;
        }
        // Nobody puts fragments together: section 7 allows for that.
        let Ok((0, target, datagram)) = parse_udp_request(&came.bytes).await else { return };
        let datagram = Received { bytes: came.bytes.slice_ref(datagram), ..came };
        let to = match &target {
            TargetAddr::Ip(address) => Destination::from(*address),
            TargetAddr::Domain(name, port) => Destination::Name(name.clone(), *port),
        };
        if !to.leads_anywhere() {
            return;
        }
        self.client = datagram.from;
        self.inner.heard_of(&self.place);
        let datagram = match self.flows.get(&to).map(|flow| flow.try_send(datagram.clone())) {
            Some(Ok(()) | Err(TrySendError::Full(_))) => return,
            Some(Err(TrySendError::Closed(datagram))) => datagram,
            None => datagram,
        };
        self.begin(to, target, datagram);
    }

    /// A flow begins with a datagram.
    fn begin(&mut self, to: Destination, target: TargetAddr, first: Received) {
        let Ok(header) = new_udp_header(target) else { return };
        let (flow, came) = mpsc::channel(WAITING);
        // There is room for the first one.
        let _ = flow.try_send(first);
        let (relay, client) = (self.relay.clone(), self.client);
        let socket = Relayed { relay, client, header, came: Mutex::new(came) };
        if self.inner.carry_socket(&mut self.running, &self.peer, client, to.clone(), socket) {
            self.flows.retain(|_, flow| !flow.is_closed());
            self.flows.insert(to, flow);
        }
    }
}

/// What one destination and the client say to each other.
#[derive(Debug)]
struct Relayed {
    relay: Arc<UdpSocket>,
    client: SocketAddr,
    /// What stands in front of an answer.
    header: Vec<u8>,
    came: Mutex<mpsc::Receiver<Received>>,
}

impl Udp for Relayed {
    async fn send(&self, datagram: &[u8], ecn: Ecn) -> io::Result<usize> {
        let framed = [&self.header, datagram].concat();
        udp_sockets::send_to(&self.relay, self.client, &framed, ecn).await
    }

    async fn recv(&self) -> io::Result<Received> {
        match self.came.lock().await.recv().await {
            Some(datagram) => Ok(datagram),
            None => pending().await,
        }
    }
}
