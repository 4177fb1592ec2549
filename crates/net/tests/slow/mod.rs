//! A link that takes time, over which datagrams reach a host, and whose far end can have another address from one moment
//! to the next.
#![allow(dead_code, reason = "each test uses its part")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Passes datagrams of one client on to a server, later. It ends when it is dropped.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    path: Arc<Path>,
    tasks: JoinSet<()>,
}

struct Path {
    server: SocketAddr,
    delay: Duration,
    near: UdpSocket,
    far: Mutex<Arc<UdpSocket>>,
    client: Mutex<Option<SocketAddr>>,
}

impl Proxy {
    pub(crate) async fn start(server: SocketAddr, delay: Duration) -> Self {
        let near = socket().await;
        let address = near.local_addr().expect("an address");
        let far = Mutex::new(Arc::new(socket().await));
        let client = Mutex::new(None);
        let path = Arc::new(Path { server, delay, near, far, client });
        let mut proxy = Self { address, path: path.clone(), tasks: JoinSet::new() };
        let (give, mut take) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
        let there = path.clone();
        proxy.tasks.spawn(async move {
            let mut buffer = vec![0; 65_536];
            loop {
                let Ok((len, from)) = there.near.recv_from(&mut buffer).await else { continue };
                *there.client.lock().expect("a client") = Some(from);
                let _ = give.send((Instant::now() + there.delay, buffer[..len].to_vec()));
            }
        });
        proxy.tasks.spawn(async move {
            while let Some((at, bytes)) = take.recv().await {
                tokio::time::sleep_until(at).await;
                let far = path.far.lock().expect("a socket").clone();
                let _ = far.send_to(&bytes, path.server).await;
            }
        });
        proxy.bring_back();
        proxy
    }

    /// From now on the server sees another address.
    pub(crate) async fn change_port(&self) {
        let new = Arc::new(socket().await);
        *self.path.far.lock().expect("a socket") = new;
    }

    fn bring_back(&mut self) {
        let (give, mut take) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
        let path = self.path.clone();
        self.tasks.spawn(async move {
            let mut buffer = vec![0; 65_536];
            loop {
                let far = path.far.lock().expect("a socket").clone();
                // What comes to an address of before is lost.
                let moved = async {
                    while Arc::ptr_eq(&far, &path.far.lock().expect("a socket")) {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                };
                tokio::select! {
                    Ok((len, _)) = far.recv_from(&mut buffer) => {
                        let _ = give.send((Instant::now() + path.delay, buffer[..len].to_vec()));
                    }
                    () = moved => {}
                }
            }
        });
        let path = self.path.clone();
        self.tasks.spawn(async move {
            while let Some((at, bytes)) = take.recv().await {
                tokio::time::sleep_until(at).await;
                let client = *path.client.lock().expect("a client");
                if let Some(client) = client {
                    let _ = path.near.send_to(&bytes, client).await;
                }
            }
        });
    }
}

async fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").await.expect("a socket")
}
