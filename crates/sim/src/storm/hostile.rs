//! A peer with a valid key that says whatever it likes.

use std::path::Component;

use bentpipe_association::secure::{
    Datagram, Ephemeral, FRONT, Index, Initiator, Security, Traffic, parse,
};
use bentpipe_association::{PublicKey, SecretKey};
use bentpipe_link::Stream;
use bentpipe_transfer::frames::{Kind, Message, Offer, data, message};
use bentpipe_transfer::memory_disk::MemoryDisk;
use bentpipe_transfer::{Disk as _, FoundKind};
use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::Ecn;
use bentpipe_wire::xstp::{Begin, Body, Flow, Segment, encode_compact};
use bytes::{Bytes, BytesMut};

use super::flood::Flood;
use crate::program::Outgoing;

/// Names under which it offers things.
const NAMES: [&str; 7] = ["h/a", "h/b", "h", "../x", "h/../../x", "h/.a.bentpipe-part", "l/a"];
/// Most names of others that it remembers.
const MOST_NAMES: usize = 100;
/// Where its symbolic links lead.
const TARGETS: [&str; 3] = ["a", "../x", "/etc/passwd"];

/// What the connections of a hostile peer are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// Files.
    Transfer,
    /// Flows.
    Gateway,
}

pub(super) struct Hostile {
    security: Security,
    key: SecretKey,
    server: PublicKey,
    says: Says,
    epoch: u64,
    time: u64,
    asked: Option<Initiator>,
    traffic: Option<Traffic>,
    next: Instant,
    /// The connection that it has opened last, and the number of its next segment.
    connection: u32,
    sent: u32,
    /// Names of what others have sent.
    names: Vec<String>,
    flood: Flood,
}

impl Hostile {
    pub(super) fn new(
        key: SecretKey,
        server: PublicKey,
        says: Says,
        security: Security,
        flood: Flood,
    ) -> Self {
        Self {
            security,
            key,
            server,
            says,
            epoch: 1,
            time: 1,
            asked: None,
            traffic: None,
            next: Instant::ZERO,
            connection: 0,
            sent: 0,
            names: Vec::new(),
            flood,
        }
    }

    /// It knows the names of what others have sent, the first few.
    pub(super) fn learn(&mut self, names: impl Iterator<Item = String>) {
        self.names.extend(names.take(MOST_NAMES.saturating_sub(self.names.len()).min(5)));
    }

    pub(super) fn next(&self) -> Option<Instant> {
        Instant::earliest(Some(self.next), self.flood.next())
    }

    /// What the server says to it.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        match parse(self.security, bytes) {
            Some(Datagram::Response { sender, noise, .. }) => {
                let Some(asked) = self.asked.take() else { return };
                match asked.finish(sender, noise) {
                    Ok((traffic, _)) => self.traffic = Some(traffic),
                    Err(waits) => self.asked = Some(*waits),
                }
            }
            Some(Datagram::Cookie { receiver, sealed }) => self.flood.challenge(receiver, &sealed),
            _ => {}
        }
    }

    /// The next datagrams, if it is time.
    pub(super) fn act(
        &mut self,
        now: Instant,
        to: std::net::SocketAddr,
        random: &mut Stream,
    ) -> Vec<Outgoing> {
        let Self { flood, security, key, server, epoch, time, .. } = self;
        let mut out = flood.act(now, |random, index| {
            *time += 1;
            let own = Ephemeral::draw(&mut || random.bits());
            Initiator::new(*security, key, *server, index, *time, &epoch.to_be_bytes(), own)
        });
        if now >= self.next {
            self.next = now + Span::from_millis(1 + random.below(2_000));
            out.extend(if self.traffic.is_none() || random.chance(0.05) {
                Some(self.request(random))
            } else {
                let plain = self.say(random);
                self.seal(&plain)
            });
        }
        let send = |bytes| Outgoing { route: to.into(), ecn: Ecn::NotCapable, bytes };
        out.into_iter().map(send).collect()
    }

    fn request(&mut self, random: &mut Stream) -> Vec<u8> {
        // Sometimes it is another process, or one of before.
        if random.chance(0.3) {
            self.epoch = random.below(6);
        }
        self.time += random.below(3);
        let early = if random.chance(0.3) { self.say(random) } else { Vec::new() };
        let payload = [&self.epoch.to_be_bytes()[..], &early].concat();
        let index = Index::new(random.bits() as u32);
        let own = Ephemeral::draw(&mut || random.bits());
        let asked =
            Initiator::new(self.security, &self.key, self.server, index, self.time, &payload, own);
        let datagram = asked.datagram(None);
        self.asked = Some(asked);
        datagram
    }

    fn seal(&mut self, plain: &[u8]) -> Option<Vec<u8>> {
        let traffic = self.traffic.as_mut()?;
        let mut out = BytesMut::zeroed(FRONT);
        out.extend_from_slice(plain);
        traffic.seal(&mut out, 0);
        Some(out.to_vec())
    }

    /// What is in a datagram: noise, a new connection, bytes on one that is there, or something about any connection.
    fn say(&mut self, random: &mut Stream) -> Vec<u8> {
        match random.below(8) {
            0 => (0..random.below(200)).map(|_| random.bits() as u8).collect(),
            1 => vec![0, random.bits() as u8, random.bits() as u8, random.bits() as u8],
            2 | 3 => {
                // Hosts share the numbers: the one with the smaller key has the even ones.
                let first = if self.key.public() < self.server { 2 } else { 1 };
                self.connection = first + 2 * random.below(30) as u32;
                self.sent = 0;
                let mss = [0, 1, 100, 1400, u16::MAX][random.below(5) as usize];
                let begin = Begin { ts: 1, ts_echo: 0, mss, many_gaps: random.chance(0.5) };
                self.segment(self.connection, 0, Body::Begin(begin))
            }
            4 => {
                let number = random.below(60) as u32;
                let seq = random.bits() as u32;
                self.segment(number, seq, flow(Bytes::from_static(b"anything"), random.chance(0.3)))
            }
            _ => {
                let said = self.frame(random);
                let seq = self.sent;
                self.sent += 1;
                self.segment(self.connection, seq, flow(said, random.chance(0.05)))
            }
        }
    }

    /// Something that a program may read on its connection.
    fn frame(&self, random: &mut Stream) -> Bytes {
        match self.says {
            Says::Transfer => self.of_transfer(random),
            Says::Gateway => of_gateway(random),
        }
    }

    /// A frame of a transfer, more or less in turn.
    fn of_transfer(&self, random: &mut Stream) -> Bytes {
        let name = if self.names.is_empty() || random.chance(0.5) {
            NAMES[random.below(NAMES.len() as u64) as usize].to_owned()
        } else {
            self.names[random.below(self.names.len() as u64) as usize].clone()
        };
        let kind = match random.below(4) {
            0 => Kind::Directory,
            1 => Kind::Link { target: TARGETS[random.below(3) as usize].to_owned() },
            _ => Kind::File { size: [0, 5, 1 << 40, u64::MAX][random.below(4) as usize] },
        };
        match random.below(7) {
            0..=2 => message(&Message::Offer(Offer { name, kind, mode: 0o7777, changed: 5 })),
            3 => data(b"abcde"),
            4 => message(&Message::End { hash: *blake3::hash(b"abcde").as_bytes() }),
            5 => message(&Message::Seek { offset: random.bits() }),
            _ => message(&Message::Keep),
        }
    }

    fn segment(&self, number: u32, seq: u32, body: Body) -> Vec<u8> {
        let mut out = BytesMut::new();
        let mut left = number;
        while left > 0x7f {
            out.extend_from_slice(&[left as u8 | 0x80]);
            left >>= 7;
        }
        out.extend_from_slice(&[left as u8]);
        let segment = Segment {
            source_port: number as u16,
            destination_port: if self.says == Says::Transfer { 1 } else { 2 },
            sq: 1,
            window: u16::MAX,
            seq: Seq32::new(seq),
            body,
        };
        encode_compact(&segment, 1_000, &mut out);
        out.to_vec()
    }

    /// Nothing of it is outside, and no link leads there.
    pub(super) fn check(&self, disk: &MemoryDisk) -> Result<(), String> {
        for path in disk.paths() {
            if path.components().any(|part| !matches!(part, Component::Normal(_))) {
                return Err(format!("{} leads out of the directory", path.display()));
            }
            if let Ok(Some(found)) = disk.look(&path)
                && let FoundKind::Link(target) = found.kind
                && target != "a"
                && (target != "../x" || path.components().count() < 2)
            {
                return Err(format!("{} is a link to {target}", path.display()));
            }
        }
        Ok(())
    }
}

fn flow(payload: Bytes, end: bool) -> Body {
    Body::Flow(Flow { payload, poll: None, report: None, end_ack: None, end })
}

/// What gateways say to each other, more or less in turn: a flow is wanted, bytes of one, its end or a reset.
fn of_gateway(random: &mut Stream) -> Bytes {
    let messages = &bentpipe_gateway::fuzz::gateway_seeds()[0];
    match random.below(4) {
        0 => Bytes::from(messages[random.below(messages.len() as u64) as usize].clone()),
        1 => Bytes::from_static(&[0, 0, 0, 3, b'a', b'b', b'c']),
        2 => Bytes::from(vec![random.below(4) as u8, 0, 0, random.below(3) as u8]),
        _ => (0..random.below(30)).map(|_| random.bits() as u8).collect::<Vec<u8>>().into(),
    }
}
