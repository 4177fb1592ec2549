//! Associations over TCP, for where UDP does not get through.
//!
//! A TCP connection carries datagrams, each with its length in two bytes in front. It promises no more than
//! UDP does: what finds no room is lost, and a connection that breaks is made anew.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bentpipe_wire::Ecn;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use socket2::SockRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::listening;
use bentpipe_association::endpoint::{Endpoint, Outer, Route, Train};
use bentpipe_association::host::{Shared, lock};
use bentpipe_gateway::places::{Kind, Place, Places, Rule};

/// Datagrams that wait for one connection.
const QUEUE: usize = 1024;
/// Datagrams written at once.
const GATHER: usize = 64;
/// Time for a connection to be made, and for who accepted it to say something authentic.
const OPENING: Duration = Duration::from_secs(10);
/// Time for who made a connection to say something authentic: he does so at once, and a satellite is two seconds away
/// at most.
const PROOF: Duration = Duration::from_secs(3);
/// A connection by which nothing authentic came for so long is closed.
const IDLE: Duration = Duration::from_secs(60);
/// Connections of peers at the same time.
const PLACES: usize = 1024;
/// Connections of which nothing authentic has come yet, in all and of one address: behind one there may be several
/// peers, which share it.
const UNKNOWN: usize = 1024;
const EACH: usize = 16;

/// The TCP connections of a host.
#[derive(Debug)]
pub(crate) struct OuterTcp {
    shared: Arc<Shared<Endpoint>>,
    open: Arc<Mutex<Open>>,
    /// Others make the connections.
    listens: bool,
    /// With this end all connections.
    tasks: JoinSet<()>,
}

/// Where datagrams go, by route.
type Open = HashMap<Route, mpsc::Sender<Bytes>>;

impl OuterTcp {
    /// Those of a host to which others connect, if there is a listener, or which connects to others.
    pub(crate) fn new(shared: Arc<Shared<Endpoint>>, listener: Option<TcpListener>) -> Self {
        let (open, mut tasks) = (Arc::default(), JoinSet::new());
        let listens = listener.is_some();
        if let Some(listener) = listener {
            tasks.spawn(accept(listener, shared.clone(), Arc::clone(&open)));
        }
        Self { shared, open, listens, tasks }
    }

    /// Sends datagrams. What cannot be sent is lost.
    pub(crate) fn send(&mut self, train: &Train<'_>) {
        while self.tasks.try_join_next().is_some() {}
        let known = lock(&self.open).get(&train.route).cloned();
        let queue = match known {
            Some(queue) => queue,
            // Others make their connections anew.
            None if self.listens => return,
            None => self.connect(train.route),
        };
        for datagram in train.bytes.chunks(train.each.max(1)) {
            let mut frame = BytesMut::with_capacity(2 + datagram.len());
            frame.put_u16(datagram.len() as u16);
            frame.put_slice(datagram);
            let _ = queue.try_send(frame.freeze());
        }
    }

    fn connect(&mut self, route: Route) -> mpsc::Sender<Bytes> {
        let (queue, waiting) = mpsc::channel(QUEUE);
        lock(&self.open).insert(route, queue.clone());
        let (shared, open) = (self.shared.clone(), self.open.clone());
        self.tasks.spawn(async move {
            let connecting = tokio::time::timeout(OPENING, connect(route)).await;
            let ended = match connecting {
                Ok(Ok(tcp)) => carry(tcp, route, waiting, &shared, None).await,
                Ok(Err(error)) => Err(error),
                Err(late) => Err(late.into()),
            };
            if let Err(error) = ended {
                tracing::debug!(to = %route.address, %error, "TCP connection closed");
            }
            lock(&open).remove(&route);
        });
        queue
    }
}

async fn connect(route: Route) -> io::Result<TcpStream> {
    let socket = if route.address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    if let Some(local) = route.local {
        socket.bind(SocketAddr::new(local, 0))?;
    }
    socket.connect(route.address).await
}

/// Those who have connected.
#[derive(Clone)]
struct Visitors {
    shared: Arc<Shared<Endpoint>>,
    open: Arc<Mutex<Open>>,
    /// Places for those who have shown that they are peers.
    known: Arc<Places>,
}

/// Takes connections that others make, for ever.
async fn accept(listener: TcpListener, shared: Arc<Shared<Endpoint>>, open: Arc<Mutex<Open>>) {
    let known = Places::new(PLACES, Rule::Newest { each: PLACES });
    let unknown = Places::new(UNKNOWN, Rule::Newest { each: EACH });
    let visitors = Visitors { shared, open, known };
    let served = listening::serve(listener, unknown, move |tcp, from, unknown| {
        let visitors = visitors.clone();
        async move { visitors.serve(tcp, from, unknown).await }
    });
    if let Err(error) = served.await {
        tracing::error!(%error, "TCP listener failed");
    }
}

impl Visitors {
    /// Serves a connection until it ends, or somebody else gets its place.
    async fn serve(&self, tcp: TcpStream, from: SocketAddr, unknown: Place) -> io::Result<()> {
        let local = tcp.local_addr()?;
        let route = Route {
            address: SocketAddr::new(from.ip().to_canonical(), from.port()),
            local: Some(local.ip().to_canonical()),
            outer: Outer::Tcp,
        };
        let (queue, waiting) = mpsc::channel(QUEUE);
        lock(&self.open).insert(route, queue);
        // However this ends.
        let _listed = Listed { open: &self.open, route };
        let (proved, mut proof) = oneshot::channel();
        let mut carried = pin!(carry(tcp, route, waiting, &self.shared, Some(proved)));
        let known = tokio::select! {
            ended = &mut carried => return ended,
            Ok(()) = &mut proof => self.known.take(from.ip(), Kind::Connection, 0),
        };
        drop(unknown);
        let Some(known) = known else { return Ok(()) };
        let stay = known.stay();
        tokio::select! {
            ended = carried => ended,
            () = stay.over() => Ok(()),
        }
    }
}

/// A connection among those that are open.
struct Listed<'a> {
    open: &'a Mutex<Open>,
    route: Route,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        lock(self.open).remove(&self.route);
    }
}

/// Carries datagrams in both directions until the connection ends or nothing authentic comes any more.
async fn carry(
    tcp: TcpStream,
    route: Route,
    waiting: mpsc::Receiver<Bytes>,
    shared: &Shared<Endpoint>,
    proved: Option<oneshot::Sender<()>>,
) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    // Better over a lossy link, where the kernel has it.
    let _ = SockRef::from(&tcp).set_tcp_congestion(b"bbr");
    let (reader, writer) = tcp.into_split();
    tokio::select! {
        ended = read(reader, route, shared, proved) => ended,
        ended = write(writer, waiting) => ended,
    }
}

async fn read(
    mut tcp: OwnedReadHalf,
    route: Route,
    shared: &Shared<Endpoint>,
    mut proved: Option<oneshot::Sender<()>>,
) -> io::Result<()> {
    let mut buffer = BytesMut::with_capacity(64 * 1024);
    let first = if proved.is_some() { PROOF } else { OPENING };
    let mut until = tokio::time::Instant::now() + first;
    loop {
        buffer.reserve(16 * 1024);
        if tokio::time::timeout_at(until, tcp.read_buf(&mut buffer)).await?? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut authentic = false;
        {
            let mut endpoint = shared.endpoint();
            let now = shared.now();
            while let Some(datagram) = take(&mut buffer) {
                authentic |= endpoint.handle_datagram(now, route, Ecn::NotCapable, &datagram);
            }
        }
        if authentic {
            until = tokio::time::Instant::now() + IDLE;
            if let Some(proved) = proved.take() {
                let _ = proved.send(());
            }
        }
        shared.changed.notify_one();
    }
}

/// Takes a datagram from the front, once all of it is there.
fn take(buffer: &mut BytesMut) -> Option<BytesMut> {
    let len = usize::from(u16::from_be_bytes(*buffer.first_chunk()?));
    if buffer.len() < 2 + len {
        return None;
    }
    buffer.advance(2);
    Some(buffer.split_to(len))
}

async fn write(mut tcp: OwnedWriteHalf, mut waiting: mpsc::Receiver<Bytes>) -> io::Result<()> {
    let (mut frames, mut bytes) = (Vec::new(), BytesMut::new());
    while waiting.recv_many(&mut frames, GATHER).await > 0 {
        for frame in frames.drain(..) {
            bytes.put_slice(&frame);
        }
        tcp.write_all_buf(&mut bytes).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Instant;
    use proptest::prelude::*;

    use super::*;
    use bentpipe_association::SecretKey;
    use bentpipe_association::secure::Security;
    use bentpipe_system::Clock;

    #[tokio::test]
    async fn who_says_nothing_authentic_gives_way_to_those_after_him() {
        let key = SecretKey::from_bytes([1; 32]);
        let endpoint = Endpoint::new(key, Security::Full, 0, Box::new(|| 5), Instant::ZERO);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let to = listener.local_addr().expect("an address");
        let outer_tcp = OuterTcp::new(
            Arc::new(Shared::new(endpoint, Arc::new(Clock::start()))),
            Some(listener),
        );
        let mut silent = Vec::new();
        for _ in 0..2 * EACH {
            silent.push(TcpStream::connect(to).await.expect("a connection"));
        }
        for first in &mut silent[..EACH] {
            assert_eq!(
                first.read_u8().await.expect_err("an end").kind(),
                io::ErrorKind::UnexpectedEof
            );
        }
        let last = silent[EACH].try_read(&mut [0]).expect_err("nothing");
        assert_eq!(last.kind(), io::ErrorKind::WouldBlock);
        drop(outer_tcp);
    }

    proptest! {
        #[test]
        fn datagrams_come_out_as_they_went_in_however_they_are_cut(
            datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..10),
            cut in 1usize..50,
        ) {
            let mut stream = BytesMut::new();
            for datagram in &datagrams {
                stream.put_u16(datagram.len() as u16);
                stream.put_slice(datagram);
            }
            let (mut buffer, mut read) = (BytesMut::new(), Vec::new());
            for part in stream.chunks(cut) {
                buffer.extend_from_slice(part);
                while let Some(datagram) = take(&mut buffer) {
                    read.push(datagram.to_vec());
                }
            }
            prop_assert_eq!(read, datagrams);
        }
    }
}
