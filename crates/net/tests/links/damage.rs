//! A stretch of the way on which datagrams are damaged and arrive all the same.

#![allow(dead_code, reason = "each test uses its part")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::net::UdpSocket;
use tokio::task::AbortHandle;

/// Most bytes of a datagram.
const ROOM: usize = 65_536;

/// Passes datagrams between a terminal and `target`; of a thousand five have a wrong bit, two end early and
/// five come twice. It ends with the test.
#[derive(Debug)]
pub(crate) struct Damage {
    task: AbortHandle,
    damaged: Arc<AtomicU64>,
}

impl Damage {
    /// Listens at `listen`.
    pub(crate) async fn new(listen: SocketAddr, target: SocketAddr, seed: u64) -> Self {
        let near = UdpSocket::bind(listen).await.expect("a port");
        let far = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let damaged = Arc::new(AtomicU64::new(0));
        let counted = damaged.clone();
        let task = tokio::spawn(async move {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut terminal = None;
            let (mut up, mut down) = (vec![0; ROOM], vec![0; ROOM]);
            loop {
                // Errors of single datagrams mean nothing.
                let (bytes, socket, to) = tokio::select! {
                    Ok((len, from)) = near.recv_from(&mut up) => {
                        terminal = Some(from);
                        (&mut up[..len], &far, target)
                    }
                    Ok((len, _)) = far.recv_from(&mut down) => {
                        let Some(terminal) = terminal else { continue };
                        (&mut down[..len], &near, terminal)
                    }
                    else => continue,
                };
                let (mut len, mut times) = (bytes.len(), 1);
                let place = random.random_range(0..len.max(1));
                let fate = random.random_range(0..1000);
                match fate {
                    0..5 if len > 0 => bytes[place] ^= 1 << random.random_range(0..8),
                    5..7 => len = place,
                    7..12 => times = 2,
                    _ => {}
                }
                counted.fetch_add(u64::from(fate < 12), Ordering::Relaxed);
                for _ in 0..times {
                    let _ = socket.send_to(&bytes[..len], to).await;
                }
            }
        });
        Self { task: task.abort_handle(), damaged }
    }

    /// Datagrams that did not pass as they were.
    pub(crate) fn damaged(&self) -> u64 {
        self.damaged.load(Ordering::Relaxed)
    }
}

impl Drop for Damage {
    fn drop(&mut self) {
        self.task.abort();
    }
}
