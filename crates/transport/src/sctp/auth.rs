//! Chunks that prove themselves genuine (RFC 4895), which changes of addresses need (RFC 5061, section 4.1.1).
//!
//! Both ends send random bytes in INIT and INIT ACK. They are the key: who has seen those packets can make codes, who has
//! not cannot. There is no secret besides.

use bentpipe_wire::sctp::{self as wire, Chunk, Init, Parameter, bytes_of};
use bytes::{BufMut, Bytes, BytesMut};
use ring::hmac;

/// Random bytes of an end, as many as RFC 4895, section 3.1, wants.
pub(super) type Random = [u8; 32];

/// Types of chunks.
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;
const SHUTDOWN_COMPLETE: u8 = 14;
const AUTH: u8 = 0x0f;
const ASCONF_ACK: u8 = 0x80;
pub(super) const ASCONF: u8 = 0xc1;
/// Numbers of codes, the best one first.
const SHA_256: u16 = 3;
const SHA_1: u16 = 1;
const ALGORITHMS: [u16; 2] = [SHA_256, SHA_1];
/// The longest key vector of a peer: it lies in the cookie.
const LONGEST_VECTOR: usize = 512;

/// What both ends said of AUTH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// This end's.
    pub(super) random: Random,
    /// The parameters of the peer, one after the other.
    pub(super) peer: Bytes,
    /// The code that this end makes: the first in the peer's list that it knows.
    pub(super) algorithm: u16,
}

/// Makes and checks codes.
#[derive(Debug)]
pub(super) struct Auth {
    key: Bytes,
    algorithm: u16,
}

/// What an end with these random bytes says of itself.
pub(super) fn parameters(random: &Random) -> [Parameter; 4] {
    [
        Parameter::Random(Bytes::copy_from_slice(random)),
        Parameter::Chunks(Bytes::from_static(&[ASCONF, ASCONF_ACK])),
        Parameter::HmacAlgorithms(ALGORITHMS.to_vec()),
        Parameter::SupportedExtensions(Bytes::from_static(&[ASCONF, ASCONF_ACK, AUTH])),
    ]
}

/// Whether an end wants chunks authenticated for which this one has no codes.
pub(super) fn wants_more(init: &Init) -> bool {
    // Chunks that open and end an association, and AUTH, cannot stand in the list (RFC 4895, section 3.2).
    let more =
        |kind: &u8| ![ASCONF, ASCONF_ACK, INIT, INIT_ACK, SHUTDOWN_COMPLETE, AUTH].contains(kind);
    init.parameters.iter().any(|parameter| match parameter {
        Parameter::Chunks(kinds) => kinds.iter().any(more),
        _ => false,
    })
}

/// The key vector: three parameters with their headers and without padding (RFC 4895, section 6.1).
fn vector(parameters: &[Parameter]) -> Bytes {
    let find = |wanted: fn(&Parameter) -> bool| parameters.iter().find(|one| wanted(one));
    let parts = [
        find(|parameter| matches!(parameter, Parameter::Random(_))),
        find(|parameter| matches!(parameter, Parameter::Chunks(_))),
        find(|parameter| matches!(parameter, Parameter::HmacAlgorithms(_))),
    ];
    let mut vector = BytesMut::new();
    parts.into_iter().flatten().for_each(|part| vector.put(part.to_bytes()));
    vector.freeze()
}

impl Terms {
    /// What an end with these random bytes and the one with this INIT or INIT ACK agree on; `None` where the other does
    /// not change addresses, or wants more.
    pub(super) fn of(random: Random, init: &Init) -> Option<Self> {
        let parameters = &init.parameters;
        let algorithm = parameters.iter().find_map(|parameter| match parameter {
            Parameter::HmacAlgorithms(list) => {
                list.iter().copied().find(|one| ALGORITHMS.contains(one))
            }
            _ => None,
        })?;
        let has_random = |parameter: &Parameter| matches!(parameter, Parameter::Random(bytes) if !bytes.is_empty());
        let changes = |parameter: &Parameter| match parameter {
            Parameter::SupportedExtensions(kinds) => {
                [ASCONF, ASCONF_ACK].iter().all(|kind| kinds.contains(kind))
            }
            _ => false,
        };
        let peer = vector(parameters);
        let agreed = parameters.iter().any(has_random)
            && parameters.iter().any(changes)
            && !wants_more(init)
            && peer.len() <= LONGEST_VECTOR;
        agreed.then_some(Self { random, peer, algorithm })
    }
}

impl Auth {
    /// The key of an association: the smaller vector, then the larger one (RFC 4895, section 6.1). Vectors begin with the
    /// same byte, which is not 0: the longer one is the larger number.
    pub(super) fn new(terms: &Terms) -> Self {
        let mut vectors = [vector(&parameters(&terms.random)), terms.peer.clone()];
        vectors.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        Self { key: vectors.concat().into(), algorithm: terms.algorithm }
    }

    /// AUTH and the chunk that it proves.
    pub(super) fn seal(&self, chunk: Chunk) -> [Chunk; 2] {
        let covered = bytes_of(std::slice::from_ref(&chunk));
        let mut auth =
            wire::Auth { key: 0, algorithm: self.algorithm, code: Bytes::new(), covered };
        if let Some(key) = self.key_for(auth.algorithm) {
            auth.code = Bytes::copy_from_slice(hmac::sign(&key, &signed(&auth)).as_ref());
        }
        [Chunk::Auth(Box::new(auth)), chunk]
    }

    /// Whether this end knows such codes.
    pub(super) fn knows(auth: &wire::Auth) -> bool {
        ALGORITHMS.contains(&auth.algorithm)
    }

    /// Whether what is behind the chunk is genuine.
    pub(super) fn proves(&self, auth: &wire::Auth) -> bool {
        let Some(key) = self.key_for(auth.algorithm).filter(|_| auth.key == 0) else {
            return false;
        };
        let length = key.algorithm().digest_algorithm().output_len();
        auth.code.len() == length && hmac::verify(&key, &signed(auth), &auth.code).is_ok()
    }

    fn key_for(&self, algorithm: u16) -> Option<hmac::Key> {
        let algorithm = match algorithm {
            SHA_256 => hmac::HMAC_SHA256,
            SHA_1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            _ => return None,
        };
        Some(hmac::Key::new(algorithm, &self.key))
    }
}

/// What the code is over: the chunk with zeros in its place, and what follows (RFC 4895, section 6.2).
fn signed(auth: &wire::Auth) -> Bytes {
    let length = match auth.algorithm {
        SHA_256 => 32,
        _ => 20,
    };
    let empty = wire::Auth { code: vec![0; length].into(), ..auth.clone() };
    let mut signed = BytesMut::from(bytes_of(&[Chunk::Auth(Box::new(empty))]));
    signed.put_slice(&auth.covered);
    signed.freeze()
}
