//! The server: one socket, few connections, and a deadline for those who ask.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;

use crate::state::State;
use crate::{Options, api};

/// Connections at the same time; those that come then wait.
const CONNECTIONS: usize = 128;
/// Time for a client to say what it wants.
const ASKS_WITHIN: Duration = Duration::from_secs(5);
/// Connections of one address among them.
const OF_ONE: usize = 48;
/// Time for a client to say anything, and to take anything that it is sent: a page that talks is asked every 15 s.
const SILENT: Duration = Duration::from_secs(120);
const TAKES_WITHIN: Duration = Duration::from_secs(30);
/// Most bytes of the head of a request.
const HEAD: usize = 16 << 10;
/// Time until the next try where no connection can be taken, as where there are no file descriptors left.
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is open to others, and there is no token.
    #[error(
        "{0} is reached from other hosts: give a token by --token-file, or listen on 127.0.0.1"
    )]
    NoToken(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    state: Arc<State>,
}

impl Server {
    /// Opens its socket, inside of a runtime.
    ///
    /// # Errors
    /// When the address is open to others without a token, or is taken.
    pub async fn bind(options: Options) -> Result<Self, ServeError> {
        let listen = options.listen;
        if !listen.ip().is_loopback() && options.token.is_none() {
            return Err(ServeError::NoToken(listen));
        }
        let wrong = |error| ServeError::Listen(listen, error);
        let listener = TcpListener::bind(listen).await.map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        Ok(Self { listener, address, state: Arc::new(State::new(options)) })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a browser opens. The token is behind the #, where no server and no log sees it.
    pub fn url(&self) -> String {
        let token = self.state.token().map(|token| format!("#token={}", token.reveal()));
        format!("http://{}/{}", self.address, token.unwrap_or_default())
    }

    /// Serves until `stop`.
    ///
    /// # Errors
    /// None of its own: what goes wrong with one client is that client's.
    pub async fn run(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let Self { listener, state, .. } = self;
        let router = api::router(state.clone());
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let clients = Clients::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { state.gateways().watch().await });
        tokio::pin!(stop);
        loop {
            let place = tokio::select! {
                place = places.clone().acquire_owned() => place.map_err(io::Error::other)?,
                () = &mut stop => break,
            };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut stop => break,
            };
            // Those that ended leave nothing behind.
            while tasks.try_join_next().is_some() {}
            match accepted {
                Ok((tcp, from)) => {
                    let Some(one) = clients.add(from.ip()) else { continue };
                    let router = router.clone();
                    tasks.spawn(async move {
                        // A client that breaks off is no matter of ours.
                        drop(client(tcp, router).await);
                        drop((one, place));
                    });
                }
                Err(_) => tokio::time::sleep(TRY_AGAIN).await,
            }
        }
        tasks.shutdown().await;
        Ok(())
    }
}

/// How many connections each address has.
#[derive(Clone, Debug, Default)]
struct Clients(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One of them.
struct One {
    clients: Clients,
    address: IpAddr,
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more of an address, unless it has its share.
    fn add(&self, address: IpAddr) -> Option<One> {
        let mut all = self.lock();
        let count = all.entry(address).or_default();
        if *count >= OF_ONE {
            return None;
        }
        *count += 1;
        Some(One { clients: self.clone(), address })
    }
}

impl Drop for One {
    fn drop(&mut self) {
        let mut all = self.clients.lock();
        if let Some(count) = all.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.address);
            }
        }
    }
}

async fn client(tcp: TcpStream, router: Router) -> Result<(), hyper::Error> {
    // Small messages of a run are not held back for more; where that cannot be had they are.
    drop(tcp.set_nodelay(true));
    let mut tcp = TimeoutStream::new(tcp);
    tcp.set_read_timeout(Some(SILENT));
    tcp.set_write_timeout(Some(TAKES_WITHIN));
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ASKS_WITHIN)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(Box::pin(tcp)), TowerToHyperService::new(router))
        .with_upgrades()
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_share_of_the_connections_and_no_more() {
        let clients = Clients::default();
        let [here, there] = [IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2])];
        let mut held: Vec<One> = (0..OF_ONE).filter_map(|_| clients.add(here)).collect();
        assert_eq!(held.len(), OF_ONE);
        assert!(clients.add(here).is_none() && clients.add(there).is_some());
        held.pop();
        assert!(clients.add(here).is_some());
        drop(held);
        assert!(clients.lock().is_empty());
    }
}
