//! The handshake: Noise IK, one message in each direction.
//!
//! The initiator knows the responder's static key beforehand. Both prove their keys in one round
//! trip, and both messages carry a payload: the segments that open connections travel with them.

use snow::{Builder, HandshakeState};

use super::Security;
use super::cipher::Cipher;
use super::cookie::{self, mac, proof, same};
use super::datagram::{INIT, Index, MAC_LEN, RESPONSE, SealedCookie, TAG};
use super::exchange::Ephemeral;
use super::traffic::Traffic;
use crate::key::{PublicKey, SecretKey};

const PATTERN: &str = "Noise_IK_25519_AESGCM_SHA256";
/// What the Noise messages add to their payload.
const NOISE_INIT: usize = 32 + 48 + TAG;
const NOISE_RESPONSE: usize = 32 + TAG;
/// Bytes of the time at the front of a request's payload.
const TIME: usize = 8;

/// A message of a handshake that leads nowhere. It gets no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// It is not authentic, or not for this host.
    #[error("handshake message is not authentic")]
    Forged,
    /// Its authentic sender is unknown here.
    #[error("handshake from unknown key {0}")]
    Unknown(PublicKey),
}

/// Key of the hash that shows that the sender of a request knows whom it talks to: a host that does
/// not know the public key gets no sign that anything is here.
fn mac1_key(responder: &PublicKey) -> [u8; 32] {
    blake3::derive_key("bentpipe association 2 mac1", responder.as_bytes())
}

/// The end that asks.
#[derive(Debug)]
pub struct Initiator {
    noise: HandshakeState,
    request: Vec<u8>,
    responder: PublicKey,
    security: Security,
}

impl Initiator {
    /// A request of the host with this key to `responder`, to be answered to `index`. `time` must grow
    /// with every request of this host, also over restarts: nanoseconds of the calendar do.
    ///
    /// # Panics
    ///
    /// When `payload` is longer than a datagram.
    pub fn new(
        security: Security,
        key: &SecretKey,
        responder: PublicKey,
        index: Index,
        time: u64,
        payload: &[u8],
        ephemeral: Ephemeral,
    ) -> Self {
        let mut noise = security
            .builder(PATTERN, ephemeral)
            .local_private_key(key.secret())
            .and_then(|builder| builder.remote_public_key(responder.as_bytes()))
            .and_then(|builder| builder.prologue(security.prologue()))
            .and_then(Builder::build_initiator)
            .expect("a handshake of keys of the right length");
        let plain = [&time.to_be_bytes()[..], payload].concat();
        let mut request = vec![INIT + security.mark()];
        request.extend(index.to_bytes());
        let start = request.len();
        request.resize(start + NOISE_INIT + plain.len(), 0);
        noise.write_message(&plain, &mut request[start..]).expect("a datagram fits");
        let mac1 = mac(&mac1_key(&responder), &request);
        request.extend(mac1);
        Self { noise, request, responder, security }
    }

    /// Whom it asks.
    pub const fn responder(&self) -> PublicKey {
        self.responder
    }

    /// The datagram, with the proof of a cookie if the responder gave one.
    pub fn datagram(&self, cookie: Option<&[u8; MAC_LEN]>) -> Vec<u8> {
        let mac2 = cookie.map_or([0; MAC_LEN], |cookie| proof(cookie, &self.request));
        [&self.request[..], &mac2].concat()
    }

    /// The cookie that the responder gave in answer to this request.
    pub fn open_cookie(&self, sealed: &SealedCookie<'_>) -> Option<[u8; MAC_LEN]> {
        let mac1 = self.request.last_chunk()?;
        cookie::open(self.security, &self.responder, mac1, sealed)
    }

    /// Takes the answer: the keys, and what came with it.
    ///
    /// # Errors
    /// When it is not an authentic answer to this request, which waits on.
    pub fn finish(
        mut self,
        sender: Index,
        message: &[u8],
    ) -> Result<(Traffic, Vec<u8>), Box<Self>> {
        let mut payload = vec![0; message.len()];
        let Ok(len) = self.noise.read_message(message, &mut payload) else {
            return Err(Box::new(self));
        };
        payload.truncate(len);
        let [sending, receiving] = Cipher::pair(self.security, self.noise);
        Ok((Traffic::new(self.security, sending, receiving, sender), payload))
    }
}

/// The end that answers.
#[derive(Clone, Debug)]
pub struct Responder {
    security: Security,
    key: SecretKey,
    mac1: [u8; 32],
}

/// A request that was read: who sent it and what came with it. Nothing is answered yet.
#[derive(Debug)]
pub struct HandshakeRequest {
    security: Security,
    noise: HandshakeState,
    /// Who asks.
    pub peer: PublicKey,
    /// The time in the request; a smaller one than that of an earlier request is a replay.
    pub time: u64,
    /// What came with the request.
    pub payload: Vec<u8>,
    sender: Index,
}

impl Responder {
    /// Answers for the host with this key.
    pub fn new(security: Security, key: SecretKey) -> Self {
        let mac1 = mac1_key(&key.public());
        Self { security, key, mac1 }
    }

    /// Whether the sender of a request knows this host's key: cheap, and checked first.
    pub fn knows_us(&self, covered: &[u8], mac1: &[u8; MAC_LEN]) -> bool {
        same(&mac(&self.mac1, covered), mac1)
    }

    /// Reads a request, to be answered with this key.
    ///
    /// # Errors
    /// When it is not authentic.
    pub fn read_request(
        &self,
        sender: Index,
        message: &[u8],
        ephemeral: Ephemeral,
    ) -> Result<HandshakeRequest, HandshakeError> {
        let mut noise = self
            .security
            .builder(PATTERN, ephemeral)
            .local_private_key(self.key.secret())
            .and_then(|builder| builder.prologue(self.security.prologue()))
            .and_then(Builder::build_responder)
            .expect("a handshake of keys of the right length");
        let mut payload = vec![0; message.len()];
        let len = noise.read_message(message, &mut payload).map_err(|_| HandshakeError::Forged)?;
        payload.truncate(len);
        let peer = noise.get_remote_static().and_then(PublicKey::from_slice);
        let peer = peer.ok_or(HandshakeError::Forged)?;
        let (time, rest) = payload.split_first_chunk::<TIME>().ok_or(HandshakeError::Forged)?;
        let (time, payload) = (u64::from_be_bytes(*time), rest.to_vec());
        Ok(HandshakeRequest { security: self.security, noise, peer, time, payload, sender })
    }
}

impl HandshakeRequest {
    /// Answers: the keys, and the datagram. `index` is this host's name for the keys.
    ///
    /// # Panics
    ///
    /// When `payload` is longer than a datagram.
    pub fn answer(mut self, index: Index, payload: &[u8]) -> (Traffic, Vec<u8>) {
        let mut datagram = vec![RESPONSE + self.security.mark()];
        datagram.extend(index.to_bytes());
        datagram.extend(self.sender.to_bytes());
        let start = datagram.len();
        datagram.resize(start + NOISE_RESPONSE + payload.len(), 0);
        self.noise.write_message(payload, &mut datagram[start..]).expect("a datagram fits");
        let [receiving, sending] = Cipher::pair(self.security, self.noise);
        (Traffic::new(self.security, sending, receiving, self.sender), datagram)
    }
}

#[cfg(test)]
mod vectors;

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;
    use crate::secure::{Datagram, FRONT, parse};

    fn keys() -> [SecretKey; 3] {
        [1, 2, 3].map(|n| SecretKey::from_bytes([n; 32]))
    }

    fn ephemeral() -> Ephemeral {
        Ephemeral::from_bytes([9; 32])
    }

    fn request(datagram: &[u8]) -> (Index, &[u8], &[u8], [u8; MAC_LEN]) {
        match parse(Security::Full, datagram) {
            Some(Datagram::Init(init)) => (init.sender, init.noise, init.covered1, init.mac1),
            other => panic!("not a request: {other:?}"),
        }
    }

    #[test]
    fn one_round_trip_proves_both_keys_and_carries_both_payloads() {
        let [a, b, _] = keys();
        let security = Security::Full;
        let initiator =
            Initiator::new(security, &a, b.public(), Index::new(5), 99, b"BGN", ephemeral());
        let datagram = initiator.datagram(None);
        let responder = Responder::new(Security::Full, b);
        let (sender, noise, covered, mac1) = request(&datagram);
        assert!(responder.knows_us(covered, &mac1));
        let request = responder.read_request(sender, noise, ephemeral()).expect("authentic");
        assert_eq!((request.peer, request.time), (a.public(), 99));
        assert_eq!(request.payload, b"BGN");
        let (mut theirs, answer) = request.answer(Index::new(6), b"BGNAK");
        let Some(Datagram::Response { sender, receiver, noise }) = parse(security, &answer) else {
            panic!("not an answer")
        };
        assert_eq!(receiver, Index::new(5));
        let (mut ours, payload) = initiator.finish(sender, noise).expect("authentic");
        assert_eq!(payload, b"BGNAK");
        for (from, to) in [(true, b"forth"), (false, b"back!")] {
            let (from, to_keys) =
                if from { (&mut ours, &mut theirs) } else { (&mut theirs, &mut ours) };
            let mut out = BytesMut::zeroed(FRONT);
            out.extend_from_slice(to);
            from.seal(&mut out, 0);
            let Some(Datagram::Data { number, sealed, .. }) = parse(security, &out) else {
                panic!("data")
            };
            let mut plain = BytesMut::new();
            assert!(to_keys.open(number, sealed, &mut plain).is_some());
            assert_eq!(&plain[..], to);
            assert_eq!(to_keys.open(number, sealed, &mut plain), None, "a replay");
            let mut forged = sealed.to_vec();
            forged[0] ^= 1;
            assert_eq!(to_keys.open(number + 1, &forged, &mut plain), None, "a forgery");
            assert_eq!(&plain[..], to);
        }
    }

    #[test]
    fn a_request_for_another_host_is_not_ours() {
        let [a, b, c] = keys();
        let datagram =
            Initiator::new(Security::Full, &a, c.public(), Index::new(5), 1, b"", ephemeral())
                .datagram(None);
        let (sender, noise, covered, mac1) = request(&datagram);
        let responder = Responder::new(Security::Full, b);
        assert!(!responder.knows_us(covered, &mac1));
        assert_eq!(
            responder.read_request(sender, noise, ephemeral()).map(drop),
            Err(HandshakeError::Forged)
        );
    }

    #[test]
    fn a_forged_answer_leaves_the_request_waiting() {
        let [a, b, _] = keys();
        let initiator =
            Initiator::new(Security::Full, &a, b.public(), Index::new(5), 1, b"", ephemeral());
        let responder = Responder::new(Security::Full, b);
        let datagram = initiator.datagram(None);
        let (sender, noise, ..) = request(&datagram);
        let (_, answer) = responder
            .read_request(sender, noise, ephemeral())
            .expect("ok")
            .answer(Index::new(6), b"");
        let mut forged = answer[7..].to_vec();
        forged[40] ^= 1;
        let waiting = initiator.finish(Index::new(6), &forged).expect_err("forged");
        assert!(waiting.finish(Index::new(6), &answer[7..]).is_ok());
    }
}
