//! A peer's association, of which it makes what it likes.

use std::time::Duration;

use bentpipe_association::secure::{Datagram, Ephemeral, FRONT, Index, Initiator, Traffic, parse};
use bentpipe_association::{PublicKey, SecretKey, Security};
use bytes::BytesMut;
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::{Outcome, now};

/// Longest time for the hub to answer.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Keys that the hub takes for those of a peer.
pub(crate) struct Association {
    key: SecretKey,
    hub: PublicKey,
    traffic: Traffic,
}

/// A request for keys with these segments.
pub(crate) fn request(
    key: &SecretKey,
    hub: PublicKey,
    time: u64,
    early: &[u8],
) -> (Initiator, Vec<u8>) {
    let payload = [&time.to_be_bytes()[..], early].concat();
    let index = Index::new(time as u32);
    let mut entropy = || getrandom::u64().expect("the system's source of randomness");
    let own = Ephemeral::draw(&mut entropy);
    let initiator = Initiator::new(Security::Full, key, hub, index, time, &payload, own);
    let datagram = initiator.datagram(None);
    (initiator, datagram)
}

impl Association {
    /// Asks for keys and takes them.
    pub(crate) async fn open(socket: &UdpSocket, key: SecretKey, hub: PublicKey) -> Outcome<Self> {
        let (initiator, datagram) = request(&key, hub, now(), &[]);
        socket.send(&datagram).await?;
        let mut buffer = [0; 2_048];
        let answer = timeout(TIMEOUT, socket.recv(&mut buffer)).await;
        let len = answer.map_err(|_| "the hub does not answer: does it know this key?")??;
        let Some(Datagram::Response { sender, noise, .. }) = parse(Security::Full, &buffer[..len])
        else {
            return Err("the hub answers with something else: is it under attack already?".into());
        };
        let (traffic, _) = initiator.finish(sender, noise).map_err(|_| "no answer to us")?;
        Ok(Self { key, hub, traffic })
    }

    /// The number of the connection that it opens as the `n`-th one.
    pub(crate) fn number(&self, n: u32) -> u32 {
        2 * n + if self.key.public() < self.hub { 2 } else { 1 }
    }

    /// One more request, which it never uses.
    pub(crate) fn request(&self) -> Vec<u8> {
        request(&self.key, self.hub, now(), &[]).1
    }

    pub(crate) fn seal(&mut self, plain: &[u8]) -> Vec<u8> {
        let mut out = BytesMut::zeroed(FRONT);
        out.extend_from_slice(plain);
        self.traffic.seal(&mut out, 0);
        out.to_vec()
    }
}
