//! An emulated path between UDP clients and a server.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};

use bentpipe_link::queue::FlowKey;
use bentpipe_link::{Carried, Description, Direction, Path};
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::Kind;
use bytes::Bytes;
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};
use rustix::event::{PollFd, PollFlags};

use crate::rounds::Rounds;

/// Most clients at a time; the one that was silent longest gives way to a new one.
const MOST_CLIENTS: usize = 1024;
/// Key of the listening socket.
const LISTENER: usize = 0;
/// What the kernel is asked to buffer.
const KERNEL_BUFFER: usize = 16 * 1024 * 1024;
/// Bytes of the UDP and IP headers in front of every datagram.
const HEADERS_V4: u64 = 28;
const HEADERS_V6: u64 = 48;
const RECEIVE_ROOM: usize = 64 * 1024;

/// A socket that waits for readiness by itself.
struct Side {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl Side {
    #[expect(clippy::disallowed_methods, reason = "this is where sockets come in")]
    fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        let state = UdpSocketState::new((&socket).into())?;
        // Less than asked for is fine.
        let _ = state.set_recv_buffer_size((&socket).into(), KERNEL_BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), KERNEL_BUFFER);
        Ok(Self { socket, state })
    }
}

/// A datagram on its way and the client it comes from or goes to.
#[derive(Debug)]
pub struct Datagram {
    bytes: Bytes,
    client: usize,
    /// Bytes of the headers in front of it.
    headers: u64,
    /// Clients send it.
    from_client: bool,
}

impl Carried for Datagram {
    fn describe(&self) -> Description {
        let bytes = ByteCount::new(self.bytes.len() as u64 + self.headers);
        let flow = FlowKey(2 * self.client as u64 + u64::from(self.from_client));
        Description { bytes, kind: Kind::DATA, flow, ..Description::default() }
    }
}

/// A client and the socket that speaks to the server for it.
struct Client {
    address: SocketAddr,
    side: Side,
    heard: Instant,
}

/// Passes datagrams between clients and one server over an emulated path. Clients are at the far end
/// of the path: what they get goes forth, what they send goes back.
pub struct Relay {
    listener: Side,
    target: SocketAddr,
    path: Path<Datagram>,
    clients: BTreeMap<usize, Client>,
    by_address: HashMap<SocketAddr, usize>,
    next_key: usize,
    rounds: Rounds,
    buffers: Vec<Box<[u8]>>,
    /// Clients send forth and get back.
    swapped: bool,
}

impl Relay {
    /// A relay that listens at `listen` and speaks to `target`.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn bind(
        listen: SocketAddr,
        target: SocketAddr,
        path: Path<Datagram>,
        swapped: bool,
    ) -> io::Result<Self> {
        let listener = Side::bind(listen)?;
        let buffers = (0..BATCH_SIZE).map(|_| vec![0; RECEIVE_ROOM].into_boxed_slice()).collect();
        Ok(Self {
            listener,
            target,
            path,
            clients: BTreeMap::new(),
            by_address: HashMap::new(),
            next_key: LISTENER + 1,
            rounds: Rounds::new(),
            buffers,
            swapped,
        })
    }

    /// The address that clients send to.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.socket.local_addr()
    }

    /// The path, for its counters.
    pub const fn path(&self) -> &Path<Datagram> {
        &self.path
    }

    /// Passes datagrams until `go_on` says no. It is asked about ten times a second.
    ///
    /// # Errors
    /// When the system does not let the relay wait.
    pub fn run(&mut self, mut go_on: impl FnMut(&Path<Datagram>) -> bool) -> io::Result<()> {
        Rounds::sharpen();
        loop {
            let now = self.rounds.now();
            if self.rounds.may_ask(now) {
                self.path.pass_time(now);
                if !go_on(&self.path) {
                    return Ok(());
                }
            }
            self.send_due(now);
            for key in self.wait()? {
                self.receive(key)?;
            }
        }
    }

    /// Waits for datagrams. Returns the keys of the sockets that have some.
    fn wait(&self) -> io::Result<Vec<usize>> {
        let mut keys = vec![LISTENER];
        let mut fds = vec![PollFd::new(&self.listener.socket, PollFlags::IN)];
        for (key, client) in &self.clients {
            keys.push(*key);
            fds.push(PollFd::new(&client.side.socket, PollFlags::IN));
        }
        if !self.rounds.wait(&mut fds, self.path.next())? {
            return Ok(Vec::new());
        }
        let ready = keys.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
        Ok(ready.map(|(key, _)| key).collect())
    }

    fn send_due(&mut self, now: Instant) {
        while let Some((direction, datagram)) = self.path.leave(now) {
            let Datagram { bytes, client, .. } = datagram;
            let Some(client) = self.clients.get(&client) else { continue };
            let to_client = (direction == Direction::Forward) != self.swapped;
            // What a full socket does not take is lost, as on any link.
            let _ = if to_client {
                self.listener.socket.send_to(&bytes, client.address)
            } else {
                client.side.socket.send_to(&bytes, self.target)
            };
        }
    }

    fn receive(&mut self, key: usize) -> io::Result<()> {
        loop {
            let side = match self.clients.get(&key) {
                Some(client) => &client.side,
                None if key == LISTENER => &self.listener,
                None => return Ok(()),
            };
            let mut metas = [RecvMeta::default(); BATCH_SIZE];
            let received = {
                let mut slices = self.buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer));
                let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
                    std::array::from_fn(|_| slices.next().expect("a buffer for each"));
                side.state.recv((&side.socket).into(), &mut slices, &mut metas)
            };
            // Errors of single datagrams, such as an ICMP answer to an earlier one, mean nothing.
            let Ok(count) = received else { break };
            let now = self.rounds.now();
            for (index, meta) in metas[..count].iter().enumerate() {
                let client = if key == LISTENER { self.client(now, meta.addr)? } else { key };
                let direction = if (key == LISTENER) == self.swapped {
                    Direction::Forward
                } else {
                    Direction::Return
                };
                let bytes = Bytes::copy_from_slice(&self.buffers[index][..meta.len]);
                let headers = if meta.addr.is_ipv4() { HEADERS_V4 } else { HEADERS_V6 };
                let stride = meta.stride.max(1);
                for start in (0..bytes.len()).step_by(stride) {
                    let bytes = bytes.slice(start..bytes.len().min(start + stride));
                    let from_client = key == LISTENER;
                    let datagram = Datagram { bytes, client, headers, from_client };
                    self.path.enter(now, direction, datagram);
                }
            }
        }
        Ok(())
    }

    /// The number of the client at this address.
    fn client(&mut self, now: Instant, address: SocketAddr) -> io::Result<usize> {
        if let Some(key) = self.by_address.get(&address) {
            if let Some(client) = self.clients.get_mut(key) {
                client.heard = now;
            }
            return Ok(*key);
        }
        if self.clients.len() >= MOST_CLIENTS
            && let Some(oldest) = self.clients.iter().min_by_key(|(key, c)| (c.heard, **key))
        {
            let oldest = *oldest.0;
            if let Some(client) = self.clients.remove(&oldest) {
                self.by_address.remove(&client.address);
            }
        }
        let any: SocketAddr =
            if self.target.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
        let side = Side::bind(any)?;
        let key = self.next_key;
        self.next_key += 1;
        self.clients.insert(key, Client { address, side, heard: now });
        self.by_address.insert(address, key);
        Ok(key)
    }
}
