//! Emulated links between sockets, on threads of their own.
#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod damage;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use bentpipe_link::{ModelSpec, QueueLimit};
use bentpipe_net::emulate::{Hop, Path, Relay, Way};
use bentpipe_units::{BitRate, Span};

/// A relay over an emulated link, the same both ways. It ends with the test.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Link {
    /// From `listen` to `target`, with so many Mbit/s, so much delay, and losses.
    #[expect(clippy::disallowed_methods, reason = "the emulator waits by itself")]
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
        let hop = Hop { name: "link".to_owned(), forth: models.clone(), back: models };
        let mut relay = Relay::bind(listen, target, Path::new(&[hop], 1), false).expect("a relay");
        let address = relay.local_addr().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let thread = std::thread::spawn(move || {
            relay.run(|_| !told.load(Ordering::Relaxed)).expect("it runs");
            let lost = [Way::Forth, Way::Back].map(|way| relay.path().counters(way).lost);
            lost[0].min(lost[1])
        });
        Self { address, stop, thread: Some(thread) }
    }

    /// Ends it; returns how many packets it lost, the direction that lost fewer.
    pub(crate) fn end(mut self) -> u64 {
        self.join()
    }

    fn join(&mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map_or(0, |thread| thread.join().expect("it ends"))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.join();
    }
}
