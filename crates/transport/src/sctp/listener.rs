//! Who waits for associations, without keeping anything of them.

use std::net::IpAddr;
use std::sync::Arc;

use bentpipe_units::Instant;
use bentpipe_wire::sctp::{Chunk, Init, Packet};

use super::cookie::Cookie;
use super::offer::{Host, fault_of, forget_the_rest, init_ack, new_offer, stale_cookie};
use super::stray::answer;
use super::{Association, Config, CookieKey, Identity, out_of_the_blue};
use crate::PathId;
use crate::Ports;

/// Waits for associations. It keeps nothing of them: a cookie that the peer brings back says
/// everything (RFC 9260, section 5.1.3), so no number of INITs takes any memory.
#[derive(Clone, Debug)]
pub struct Listener {
    config: Arc<Config>,
    key: CookieKey,
    addresses: Vec<IpAddr>,
}

/// What a listener makes of a packet.
#[derive(Debug)]
pub enum Answer {
    /// The packet goes back to where the other came from.
    Reply(Packet),
    /// A new association, to be drained; the packet was its first.
    Open(Box<Association>),
    /// Nothing.
    Nothing,
}

impl Listener {
    /// A listener whose associations have these settings. `addresses` are told to the peer; none where
    /// it sees or knows the only one.
    pub const fn new(config: Arc<Config>, key: CookieKey, addresses: Vec<IpAddr>) -> Self {
        Self { config, key, addresses }
    }

    /// A packet came on `id` for which there is no association. A new one has that path and the
    /// `others`. `entropy` is what tags and numbers are drawn from, which nobody must guess.
    pub fn handle(
        &self,
        now: Instant,
        id: PathId,
        others: &[PathId],
        packet: &mut Packet,
        entropy: u64,
    ) -> Answer {
        let reply = |packet: Option<Packet>| packet.map_or(Answer::Nothing, Answer::Reply);
        if let Some(Chunk::Init(init)) = packet.chunks.first_mut() {
            forget_the_rest(init);
        }
        match packet.chunks.first() {
            Some(Chunk::Init(init)) if packet.tag == 0 => {
                Answer::Reply(self.answer_init(now, packet, init, entropy))
            }
            Some(Chunk::Init(_)) => Answer::Nothing,
            Some(Chunk::CookieEcho(bytes)) => {
                let cookie = Cookie::open(bytes, &self.key).filter(|cookie| {
                    cookie.ports == ports_of(packet) && cookie.local_tag == packet.tag
                });
                let Some(cookie) = cookie else { return Answer::Nothing };
                if let Some(stale) = cookie.staleness(now, self.config.cookie_life) {
                    return reply(Some(answer(packet, cookie.peer_tag, stale_cookie(stale))));
                }
                let mut paths = vec![id];
                paths.extend(others.iter().filter(|other| **other != id));
                let identity = Identity {
                    ports: cookie.ports,
                    paths,
                    addresses: self.addresses.clone(),
                    key: self.key.clone(),
                    entropy,
                };
                let config = self.config.clone();
                let mut association = Association::of_cookie(config, now, identity, &cookie);
                association.counters.segments_received += 1;
                association.process(now, id, packet);
                Answer::Open(Box::new(association))
            }
            _ => reply(out_of_the_blue(packet)),
        }
    }

    fn answer_init(&self, now: Instant, packet: &Packet, init: &Init, entropy: u64) -> Packet {
        if let Some(cause) = fault_of(init) {
            let abort = Chunk::Abort { reflected: false, causes: vec![cause] };
            return answer(packet, init.tag, abort);
        }
        let host = Host {
            config: &self.config,
            key: &self.key,
            ports: ports_of(packet),
            own: &self.addresses,
        };
        let chunk = init_ack(&host, now, &new_offer(&self.config, entropy), init, (0, 0));
        answer(packet, init.tag, chunk)
    }
}

/// The ports of the end that gets a packet.
fn ports_of(packet: &Packet) -> Ports {
    Ports { local: packet.destination_port, peer: packet.source_port }
}
