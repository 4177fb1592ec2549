//! The server: one socket, few connections, and a deadline for those who ask.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::state::State;
use crate::{Options, api};

/// Connections at the same time; those that come then wait.
const CONNECTIONS: usize = 128;
/// Time for a client to say what it wants.
const ASKS_WITHIN: Duration = Duration::from_secs(5);
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
                Ok((tcp, _)) => {
                    let router = router.clone();
                    tasks.spawn(async move {
                        // A client that breaks off is no matter of ours.
                        drop(client(tcp, router).await);
                        drop(place);
                    });
                }
                Err(_) => tokio::time::sleep(TRY_AGAIN).await,
            }
        }
        tasks.shutdown().await;
        Ok(())
    }
}

async fn client(tcp: TcpStream, router: Router) -> Result<(), hyper::Error> {
    // Small messages of a run are not held back for more; where that cannot be had they are.
    drop(tcp.set_nodelay(true));
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ASKS_WITHIN)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(tcp), TowerToHyperService::new(router))
        .with_upgrades()
        .await
}
