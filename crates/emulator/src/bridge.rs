//! An emulated path between two TUN devices.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use bentpipe_link::{Direction, Path};
use bentpipe_units::Instant;
use bytes::BytesMut;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use tun_rs::{DeviceBuilder, ExpandBuffer, GROTable, SyncDevice, VIRTIO_NET_HDR_LEN};

use crate::rounds::Rounds;

/// Room in front of a packet for what the kernel wants to know about it.
const HEADROOM: usize = VIRTIO_NET_HDR_LEN;
/// The longest IP packet, and the longest row of segments that the kernel hands over at once.
const LONGEST: usize = 65_535;
/// The most segments in such a row: those of a TCP connection with an MSS of 128 bytes.
const MOST_SEGMENTS: usize = 512;
/// Reads from one device before the other one, and what is due, has its turn.
const READS_IN_A_TURN: usize = 16;
/// Packets that are written at once.
const WRITES_AT_ONCE: usize = 128;

/// An IP packet on its way over a bridge.
#[derive(Debug)]
pub struct Packet(BytesMut);

impl Packet {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut room = BytesMut::with_capacity(HEADROOM + bytes.len());
        room.resize(HEADROOM, 0);
        room.extend_from_slice(bytes);
        Self(room)
    }

    /// The packet without the room in front of it.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0[HEADROOM..]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0[HEADROOM..]
    }
}

impl AsRef<[u8]> for Packet {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl AsMut<[u8]> for Packet {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Segments of a connection that leave at the same moment are appended to the first of them.
impl ExpandBuffer for Packet {
    fn buf_capacity(&self) -> usize {
        // It grows when it has to.
        2 * HEADROOM + LONGEST
    }

    fn buf_resize(&mut self, len: usize, value: u8) {
        self.0.resize(len, value);
    }

    fn buf_extend_from_slice(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// A TUN device: a network interface whose packets this program reads and writes.
pub struct Device {
    device: SyncDevice,
    /// Packets that are about to be written.
    due: Vec<Packet>,
    table: GROTable,
}

impl Device {
    /// The device of this name in the network namespace of the calling thread: a new one, which needs
    /// `CAP_NET_ADMIN` and goes away with this value, or one that is there and that this user may use.
    /// It is not brought up and keeps the MTU that it has if `mtu` is left out.
    ///
    /// # Errors
    /// When the system refuses it, or there is no `/dev/net/tun`.
    pub fn open(name: &str, mtu: Option<u16>) -> io::Result<Self> {
        let builder = DeviceBuilder::new().name(name).offload(true).inherit_enable_state();
        let builder = if let Some(mtu) = mtu { builder.mtu(mtu) } else { builder };
        let device = builder.build_sync()?;
        device.set_nonblocking(true)?;
        Ok(Self { device, due: Vec::with_capacity(WRITES_AT_ONCE), table: GROTable::default() })
    }

    fn write(&mut self, packet: Packet) {
        self.due.push(packet);
        if self.due.len() == WRITES_AT_ONCE {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.due.is_empty() {
            // What an interface that is down does not take is lost, as on any link.
            let _ = self.device.send_multiple(&mut self.table, &mut self.due, HEADROOM);
            self.due.clear();
        }
    }
}

/// What the kernel hands over at once, and the packets that it is split into.
struct Buffers {
    row: Vec<u8>,
    segments: Vec<Vec<u8>>,
    lengths: Vec<usize>,
}

impl Buffers {
    fn new() -> Self {
        Self {
            row: vec![0; HEADROOM + LONGEST],
            segments: vec![vec![0; LONGEST]; MOST_SEGMENTS],
            lengths: vec![0; MOST_SEGMENTS],
        }
    }
}

/// Passes IP packets between two devices over an emulated path. The clients are behind the first
/// device, at the far end of the path: what they get goes forth, what they send goes back.
pub struct Bridge {
    /// Of the clients, of the server.
    devices: [Device; 2],
    path: Path<Packet>,
    rounds: Rounds,
    buffers: Buffers,
    /// Clients send forth and get back.
    swapped: bool,
}

impl Bridge {
    /// A bridge between the devices of the clients and of the server.
    pub fn new(clients: Device, server: Device, path: Path<Packet>, swapped: bool) -> Self {
        Self {
            devices: [clients, server],
            path,
            rounds: Rounds::new(),
            buffers: Buffers::new(),
            swapped,
        }
    }

    /// The path, for its counters.
    pub const fn path(&self) -> &Path<Packet> {
        &self.path
    }

    /// Passes packets until `end` can be read from (a process, say, that has ended) or `go_on` says no.
    /// It is asked about ten times a second.
    ///
    /// # Errors
    /// When a device has gone away, or the system does not let the bridge wait.
    pub fn run(
        &mut self,
        end: Option<BorrowedFd<'_>>,
        mut go_on: impl FnMut(&Path<Packet>) -> bool,
    ) -> io::Result<()> {
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
            let [clients, server, ended] = self.wait(end)?;
            if ended {
                return Ok(());
            }
            for (index, ready) in [clients, server].into_iter().enumerate() {
                if ready {
                    self.receive(index)?;
                }
            }
        }
    }

    /// Waits for packets and for the end: which of the devices has some, and whether it is the end.
    fn wait(&self, end: Option<BorrowedFd<'_>>) -> io::Result<[bool; 3]> {
        let [clients, server] = self.devices.each_ref().map(|side| side.device.as_fd());
        let mut fds = [clients, server, end.unwrap_or(clients)]
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let watched = if end.is_some() { 3 } else { 2 };
        self.rounds.wait(&mut fds[..watched], self.path.next())?;
        Ok(fds.map(|fd| !fd.revents().is_empty()))
    }

    fn send_due(&mut self, now: Instant) {
        while let Some((direction, packet)) = self.path.leave(now) {
            let to_server = (direction == Direction::Forward) == self.swapped;
            self.devices[usize::from(to_server)].write(packet);
        }
        self.devices.iter_mut().for_each(Device::flush);
    }

    fn receive(&mut self, index: usize) -> io::Result<()> {
        let direction =
            if (index == 1) == self.swapped { Direction::Return } else { Direction::Forward };
        let Buffers { row, segments, lengths } = &mut self.buffers;
        for _ in 0..READS_IN_A_TURN {
            let count = match self.devices[index].device.recv_multiple(row, segments, lengths, 0) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => match error.raw_os_error() {
                    Some(code) if code != Errno::IO.raw_os_error() => return Err(error),
                    // An interface that is down, or a packet that cannot be read: as if lost.
                    _ => continue,
                },
            };
            let now = self.rounds.now();
            for (segment, length) in segments.iter().zip(lengths.iter()).take(count) {
                self.path.enter(now, direction, Packet::new(&segment[..*length]));
            }
        }
        Ok(())
    }
}
