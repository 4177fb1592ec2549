//! Clients and a server that say datagrams to each other through the gateways: any may be lost, and none comes
//! twice, changed, or to somebody else.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bentpipe_association::host::lock;
use bentpipe_link::Stream;
use bentpipe_units::{Instant, Span};

use super::flows::byte;
use crate::lan::Socket;

/// Whose a datagram is, and its number.
const HEADER: usize = 16;
/// Most clients.
const CLIENTS: usize = 4;
/// What a client says begins a call so often: for so many seconds, on average, it says something short fifty times a second.
const CALLS: f64 = 0.005;
const CALL: f64 = 10.0;
const CALL_PAUSE: Span = Span::from_millis(20);
const CALL_LEN: usize = 172;

/// Sockets that a gateway has opened, with the address of who is at this end.
pub(super) type Sockets = Arc<Mutex<Vec<(SocketAddr, Socket)>>>;

/// A client.
#[derive(Debug)]
struct Talker {
    number: u64,
    address: SocketAddr,
    /// What the terminal has opened to it.
    socket: Option<Socket>,
    sent: u64,
    heard: BTreeSet<u64>,
}

/// A client that says something at short intervals until then.
#[derive(Clone, Copy, Debug)]
struct Call {
    number: u64,
    until: Instant,
}

/// Something that a client says, which no socket of its own takes.
#[derive(Debug)]
pub(super) struct First {
    pub(super) client: SocketAddr,
    pub(super) datagram: Vec<u8>,
}

/// All of them, and what the server has heard.
#[derive(Debug)]
pub(super) struct Talks {
    random: Stream,
    talkers: Vec<Talker>,
    call: Option<Call>,
    begun: u64,
    /// The server's sockets, and whom each talks to.
    there: Vec<(Socket, Option<u64>)>,
    heard: BTreeSet<(u64, u64)>,
    next: Instant,
    /// Datagrams that were answered.
    answered: u64,
}

impl Talks {
    pub(super) const fn new(random: Stream) -> Self {
        Self {
            random,
            talkers: Vec::new(),
            call: None,
            begun: 0,
            there: Vec::new(),
            heard: BTreeSet::new(),
            next: Instant::ZERO,
            answered: 0,
        }
    }

    /// When somebody says something.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// Datagrams that were answered so far.
    pub(super) const fn answered(&self) -> u64 {
        self.answered
    }

    /// Somebody says something. What no socket of its own takes is returned.
    pub(super) fn say(&mut self, now: Instant) -> Option<First> {
        self.call = self.call.filter(|call| now < call.until);
        let call = self.call.map(|call| call.number);
        let caller = self.talkers.iter().position(|talker| Some(talker.number) == call);
        let (at, len) = match caller {
            Some(at) => {
                self.next = now + CALL_PAUSE;
                (at, CALL_LEN)
            }
            None => {
                self.next = now + Span::from_secs_f64(self.random.exponential(1.0).min(200.0));
                (self.somebody(), HEADER + self.random.below(1_200) as usize)
            }
        };
        let talker = &mut self.talkers[at];
        if caller.is_none() && self.random.chance(CALLS) {
            let lasts = Span::from_secs_f64(self.random.exponential(CALL));
            self.call = Some(Call { number: talker.number, until: now + lasts });
            self.next = now + CALL_PAUSE;
        }
        talker.sent += 1;
        let datagram = datagram(talker.number, talker.sent, len, 2);
        talker.socket = talker.socket.take().filter(Socket::is_open);
        match &talker.socket {
            Some(socket) => {
                socket.put(&datagram);
                None
            }
            None => Some(First { client: talker.address, datagram }),
        }
    }

    /// One of the clients. Now and then one leaves, and another one comes.
    fn somebody(&mut self) -> usize {
        if !self.talkers.is_empty() && self.random.chance(0.01) {
            let at = self.random.below(self.talkers.len() as u64) as usize;
            self.talkers.swap_remove(at);
        }
        if self.talkers.len() < CLIENTS {
            self.begun += 1;
            let address = SocketAddr::from(([10, 1, 0, 9], 2_000 + self.begun as u16));
            let (number, heard) = (self.begun, BTreeSet::new());
            self.talkers.push(Talker { number, address, socket: None, sent: 0, heard });
        }
        self.random.below(self.talkers.len() as u64) as usize
    }

    /// Takes what gateways have opened, reads and answers.
    ///
    /// # Errors
    /// What came that must not come.
    pub(super) fn go_on(&mut self, terminal: &Sockets, hub: &Sockets) -> Result<(), String> {
        for (address, socket) in lock(terminal).drain(..) {
            let talker = self.talkers.iter_mut().find(|talker| talker.address == address);
            if let Some(talker) = talker {
                talker.socket = Some(socket);
            }
        }
        self.there.extend(lock(hub).drain(..).map(|(_, socket)| (socket, None)));
        for talker in &mut self.talkers {
            let Some(socket) = &talker.socket else { continue };
            while let Some(came) = socket.take() {
                let (number, serial) = read(&came, 3)?;
                if number != talker.number {
                    return Err(format!(
                        "client {} hears what client {number} asked",
                        talker.number
                    ));
                }
                if !talker.heard.insert(serial) {
                    return Err(format!("answer {serial} comes to client {number} twice"));
                }
                self.answered += 1;
            }
        }
        for (socket, whom) in &mut self.there {
            while let Some(came) = socket.take() {
                let (number, serial) = read(&came, 2)?;
                if *whom.get_or_insert(number) != number {
                    return Err(format!("datagrams of client {number} in another one's socket"));
                }
                if !self.heard.insert((number, serial)) {
                    return Err(format!("datagram {serial} of client {number} comes twice"));
                }
                socket.put(&datagram(number, serial, came.len(), 3));
            }
        }
        self.there.retain(|(socket, _)| socket.is_open());
        Ok(())
    }
}

/// What is said: who, the how manieth time, and bytes that show where they come from.
fn datagram(number: u64, serial: u64, len: usize, direction: u64) -> Vec<u8> {
    let mut bytes = [number.to_be_bytes(), serial.to_be_bytes()].concat();
    bytes.extend((HEADER..len).map(|at| byte(number, direction, serial + at as u64)));
    bytes
}

fn read(came: &[u8], direction: u64) -> Result<(u64, u64), String> {
    let field = |n: usize| came.get(8 * n..8 * n + 8).and_then(|part| part.try_into().ok());
    let (Some(number), Some(serial)) = (field(0), field(1)) else {
        return Err(format!("a datagram of {} bytes", came.len()));
    };
    let (number, serial) = (u64::from_be_bytes(number), u64::from_be_bytes(serial));
    if came == datagram(number, serial, came.len(), direction) {
        Ok((number, serial))
    } else {
        Err(format!("datagram {serial} of client {number} is changed"))
    }
}
