//! What the network itself says of an address.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::udp_sockets;

/// Time between two questions.
const AGAIN: Duration = Duration::from_secs(5);

/// Waits until the network says that nobody listens at `to`. Asks by empty datagrams from a socket of its own, which
/// a host ignores. Such a word is not authentic: it says something about an address where nobody answers, and nothing
/// about a peer that does.
pub async fn refusal(from: IpAddr, to: SocketAddr) -> io::Error {
    let Ok(socket) = udp_sockets::between((from, 0).into(), to, false) else {
        return std::future::pending().await;
    };
    loop {
        let asked = socket.send(&[]).await;
        let mut nothing = [0; 1];
        let heard = match asked {
            Ok(_) => tokio::time::timeout(AGAIN, socket.recv(&mut nothing)).await,
            Err(error) => Ok(Err(error)),
        };
        match heard {
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => return error,
            // What else is wrong may pass.
            Ok(_) => tokio::time::sleep(AGAIN).await,
            Err(_) => {}
        }
    }
}
