//! Recordings over UDP, and the responder at their far end.

use std::io;
use std::net::SocketAddr;

use bentpipe_system::Clock;
use bentpipe_trace::record::{Limits, Responder};
use tokio::net::UdpSocket;

use super::{LONGEST, Probes};
use crate::udp_sockets;

/// A socket that leads to a responder.
#[derive(Debug)]
pub struct Udp(UdpSocket);

impl Udp {
    /// One to this address.
    ///
    /// # Errors
    /// When there is no way there.
    pub fn to(address: SocketAddr) -> io::Result<Self> {
        udp_sockets::to(address, None).map(Self)
    }
}

impl Probes for Udp {
    async fn send(&self, datagram: &[u8]) -> io::Result<()> {
        self.0.send(datagram).await.map(drop)
    }

    async fn receive(&self, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.clear();
        buffer.resize(LONGEST, 0);
        let length = self.0.recv(buffer).await?;
        buffer.truncate(length);
        Ok(())
    }
}

/// A responder that listens.
#[derive(Debug)]
pub struct Respond {
    socket: UdpSocket,
    responder: Responder,
}

impl Respond {
    /// Listens at this address.
    ///
    /// # Errors
    /// When it is taken, or the system has no randomness.
    pub async fn listen(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        let socket = UdpSocket::bind(address).await?;
        Ok(Self { socket, responder: Responder::new(limits, secret) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Answers for ever. What cannot be sent is lost, as it may be on any link.
    pub async fn run(mut self) -> std::convert::Infallible {
        let clock = Clock::start();
        let (mut out, mut buffer) = (Vec::new(), vec![0; LONGEST]);
        loop {
            while let Some(to) = self.responder.poll(clock.now(), &mut out) {
                let _ = self.socket.send_to(&out, to).await;
            }
            tokio::select! {
                received = self.socket.recv_from(&mut buffer) => {
                    // An error is about a datagram that was sent to somebody who is gone.
                    let Ok((length, from)) = received else { continue };
                    let datagram = buffer.get(..length).unwrap_or_default();
                    if self.responder.handle(clock.now(), from, datagram, &mut out) {
                        let _ = self.socket.send_to(&out, from).await;
                    }
                }
                () = clock.sleep_until(self.responder.timeout()) => {}
            }
        }
    }
}
