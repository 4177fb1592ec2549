//! A node that has connections: its link, and the task that runs both.

use std::io;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use bentpipe_units::Instant;
use bentpipe_wire::qlp::NodeId;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::interface::{Counters, Interface};
use super::queue::OpenError;
use super::routes::Routes;
use super::{Framing, Sessions};
use crate::sessions::Opener;
use crate::task;
use bentpipe_association::host::{Shared, lock};
use bentpipe_system::Clock;

/// Frames taken from the queue before what they ask for is sent.
const BATCH: usize = 64;

/// A node that has connections. Clones are the same node.
///
/// The node goes on in the background, on the runtime that it was made on, until the last clone and the
/// last connection are gone; then its queue is removed.
#[derive(Clone, Debug)]
pub struct Node {
    opener: Opener<Framing>,
    link: Arc<Mutex<Interface>>,
}

impl Deref for Node {
    type Target = Opener<Framing>;

    fn deref(&self) -> &Opener<Framing> {
        &self.opener
    }
}

impl Node {
    /// The node of this number, with its forwarding table.
    ///
    /// # Errors
    /// When a process that is running is that node, or the system permits no queue.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn open(node: NodeId, routes: Routes) -> Result<Self, OpenError> {
        let interface = Interface::open(node, routes)?;
        let watch = interface.inbox().watch().and_then(watched);
        let watch = watch.map_err(|error| OpenError::System { node, error })?;
        let clock = Clock::start();
        let entropy = || getrandom::u64().expect("the system's source of randomness");
        let shared =
            Arc::new(Shared::new(Sessions::new(Framing(node), Box::new(entropy)), Arc::new(clock)));
        let link = Arc::new(Mutex::new(interface));
        let task = run(watch, link.clone(), shared.clone(), clock);
        Ok(Self { opener: Opener::new(task::run(shared, Arc::default(), task)), link })
    }

    /// Messages that its queue holds before it is full.
    pub fn depth(&self) -> usize {
        lock(&self.link).inbox().depth()
    }

    /// What became of its frames so far.
    pub fn counters(&self) -> Counters {
        let dropped = self.opener.dropped();
        let mut counters = lock(&self.link).counters;
        counters.malformed += dropped.malformed;
        counters.unwanted += dropped.unwanted;
        counters
    }
}

/// A descriptor whose readiness the runtime tells.
#[expect(
    deprecated,
    reason = "sound for a descriptor that is owned; what came after it is `unsafe`"
)]
fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

/// Runs a node for ever.
async fn run(
    watch: AsyncFd<OwnedFd>,
    link: Arc<Mutex<Interface>>,
    shared: Arc<Shared<Sessions>>,
    clock: Clock,
) {
    loop {
        let (deadline, empty) = turn(&mut lock(&link), &shared);
        if !empty {
            tokio::task::yield_now().await;
            continue;
        }
        tokio::select! {
            ready = watch.readable() => match ready {
                // What arrived before this is taken now, what arrives later makes it ready again.
                Ok(mut ready) => ready.clear_ready(),
                // The runtime is shutting down.
                Err(_) => return,
            },
            () = shared.changed.notified() => {}
            () = clock.sleep_until(deadline) => {}
        }
    }
}

/// Receives, lets the time pass, sends. Returns the next deadline and whether the queue is empty.
fn turn(link: &mut Interface, shared: &Shared<Sessions>) -> (Option<Instant>, bool) {
    let mut sessions = shared.endpoint();
    let now = shared.now();
    let mut empty = false;
    for _ in 0..BATCH {
        let Some(frame) = link.receive() else {
            empty = true;
            break;
        };
        sessions.handle_frame(now, frame);
    }
    sessions.handle_timeout(now);
    sessions.flush(now);
    while let Some(frame) = sessions.next_frame() {
        link.send(&frame);
    }
    (sessions.next_deadline(), empty)
}
