//! Emulated links between sockets, on threads of their own.
#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod damage;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use bentpipe_emulator::Relay;
use bentpipe_link::{Direction, Hop, ModelSpec, Path, QueueLimit};
use bentpipe_units::{BitRate, Span};

/// A relay over an emulated link, the same in both directions. It ends with the test.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Carried>>,
}

/// What a link did with packets, each time the direction for which that is less.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carried {
    /// Packets that it lost.
    pub(crate) lost: u64,
    /// Bytes that came out.
    pub(crate) bytes: u64,
}

impl Link {
    /// From `listen` to `target`, with so many Mbit/s, so much delay, and losses.
    pub(crate) fn new(
        listen: SocketAddr,
        target: SocketAddr,
        mbits: u64,
        delay: Span,
        loss: f64,
    ) -> Self {
        let models = vec![
            ModelSpec::Rate {
                rate: BitRate::from_bps(mbits * 1_000_000),
                queue: QueueLimit::Packets(200),
            },
            ModelSpec::RandomLoss(loss),
            ModelSpec::Delay(delay),
        ];
        Self::of(listen, target, models)
    }

    /// From `listen` to `target`, with these models either way.
    #[expect(clippy::disallowed_methods, reason = "the emulator waits by itself")]
    pub(crate) fn of(listen: SocketAddr, target: SocketAddr, models: Vec<ModelSpec>) -> Self {
        let hop =
            Hop { name: "link".to_owned(), forward_link: models.clone(), return_link: models };
        let mut relay = Relay::bind(listen, target, Path::new(&[hop], 1), false).expect("a relay");
        let address = relay.local_addr().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let thread = std::thread::spawn(move || {
            relay.run(|_| !told.load(Ordering::Relaxed)).expect("it runs");
            let [there, back] = Direction::BOTH.map(|direction| relay.path().counters(direction));
            Carried {
                lost: there.lost.min(back.lost),
                bytes: there.delivered_bytes.min(back.delivered_bytes),
            }
        });
        Self { address, stop, thread: Some(thread) }
    }

    /// Ends it; returns what it did.
    pub(crate) fn end(mut self) -> Carried {
        self.join()
    }

    fn join(&mut self) -> Carried {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(|thread| thread.join().expect("it ends")).unwrap_or_default()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.join();
    }
}
