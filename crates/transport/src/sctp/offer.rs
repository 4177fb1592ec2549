//! What an end says of itself in INIT and INIT ACK, and what is wrong with what the other one says.

use std::net::IpAddr;

use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::sctp::{Cause, Chunk, Init, Parameter, UnknownAction};
use bytes::Bytes;

use super::auth::{self, Random, Terms};
use super::cookie::{Cookie, addresses};
use super::draw::Draw;
use super::{Config, CookieKey};
use crate::Ports;

/// What each end says of itself in INIT and INIT ACK, and the cookie keeps.
pub(super) struct Offer {
    pub(super) tag: u32,
    pub(super) first: Seq32,
    /// What its part of the key of AUTH is, where it offers changes of addresses.
    pub(super) random: Option<Random>,
}

/// Who answers an INIT.
pub(super) struct Host<'a> {
    pub(super) config: &'a Config,
    pub(super) key: &'a CookieKey,
    pub(super) ports: Ports,
    /// Its own addresses.
    pub(super) own: &'a [IpAddr],
}

/// The INIT or INIT ACK that makes an offer.
pub(super) fn init_of(config: &Config, offer: &Offer, own: &[IpAddr]) -> Init {
    let mut parameters: Vec<_> = own.iter().copied().map(Parameter::from).collect();
    if config.ecn {
        parameters.push(Parameter::EcnCapable);
    }
    parameters.extend(offer.random.iter().flat_map(auth::parameters));
    Init {
        tag: offer.tag,
        window: config.rcv_buf.get() as u32, // at most 2 GiB
        outbound_streams: config.outbound_streams,
        inbound_streams: config.most_inbound(),
        initial_tsn: offer.first,
        parameters,
    }
}

/// Why an INIT or INIT ACK cannot be accepted (RFC 9260, sections 3.3.2 and 3.3.3).
pub(super) fn fault_of(init: &Init) -> Option<Cause> {
    if init.tag == 0 || init.outbound_streams == 0 || init.inbound_streams == 0 {
        return Some(Cause::InvalidParameter);
    }
    let name = |parameter: &&Parameter| matches!(parameter, Parameter::HostName(_));
    let name = init.parameters.iter().find(name)?;
    Some(Cause::UnresolvableAddress(name.to_bytes()))
}

/// Forgets the parameters behind one that is not known and forbids to read on (RFC 9260, section 3.2.1).
pub(super) fn forget_the_rest(init: &mut Init) {
    let stops = |parameter: &Parameter| match parameter {
        Parameter::Other { kind, .. } => UnknownAction::of_parameter(*kind).stop,
        _ => false,
    };
    if let Some(last) = init.parameters.iter().position(stops) {
        init.parameters.truncate(last + 1);
    }
}

/// Parameters that the peer is told are not known.
pub(super) fn unrecognized(init: &Init) -> Vec<Bytes> {
    let told = |parameter: &&Parameter| match parameter {
        Parameter::Other { kind, .. } => UnknownAction::of_parameter(*kind).report,
        _ => false,
    };
    let told = init.parameters.iter().filter(told).take(MOST_UNRECOGNIZED);
    told.map(Parameter::to_bytes).collect()
}

/// Most unknown parameters that the peer is told.
const MOST_UNRECOGNIZED: usize = 4;
/// Longest unknown parameter that the peer is told.
pub(super) const LONGEST_UNRECOGNIZED: usize = 64;

/// The answer to an INIT, with a cookie that remembers both offers.
pub(super) fn init_ack(
    host: &Host<'_>,
    now: Instant,
    offer: &Offer,
    init: &Init,
    tie_tags: (u32, u32),
) -> Chunk {
    let Host { config, key, ports, own } = *host;
    let terms = offer.random.and_then(|random| Terms::of(random, init));
    // Who does not know AUTH is not offered it.
    let offer = &Offer { random: terms.as_ref().map(|terms| terms.random), ..*offer };
    let cookie = Cookie {
        made_at: now,
        ports,
        local_tag: offer.tag,
        peer_tag: init.tag,
        tie_tags,
        local_tsn: offer.first,
        peer_tsn: init.initial_tsn,
        peer_window: init.window,
        outbound: config.outbound_streams.min(init.inbound_streams),
        inbound: config.most_inbound().min(init.outbound_streams),
        ecn: config.ecn && init.parameters.contains(&Parameter::EcnCapable),
        terms,
        peer_addresses: addresses(init),
    };
    let mut answer = init_of(config, offer, own);
    answer.parameters.insert(0, Parameter::Cookie(cookie.seal(key)));
    let short = |bytes: &Bytes| bytes.len() <= LONGEST_UNRECOGNIZED;
    let told = unrecognized(init).into_iter().filter(short).map(Parameter::Unrecognized);
    answer.parameters.extend(told);
    Chunk::InitAck(Box::new(answer))
}

/// Type of the state cookie parameter, which INIT ACK must have.
pub(super) const STATE_COOKIE: u16 = 7;

/// The answer to a cookie that is too old.
pub(super) fn stale_cookie(staleness: Span) -> Chunk {
    let micros = staleness.as_nanos() / 1000;
    Chunk::Error(vec![Cause::StaleCookie(micros.min(u64::from(u32::MAX)) as u32)])
}

/// A new offer out of the caller's entropy.
pub(super) fn new_offer(config: &Config, entropy: u64) -> Offer {
    let mut draw = Draw::new(entropy);
    let (tag, first) = (draw.tag(), Seq32::new(draw.bits() as u32));
    Offer { tag, first, random: config.asconf.then(|| draw.random()) }
}
