//! UDP on a local network, as a gateway sees it: datagrams between two ends, of which a few wait at each.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

use bentpipe_association::host::lock;
use bentpipe_gateway::{Received, Udp};
use bentpipe_wire::Ecn;

/// Datagrams that wait at an end; those that follow are lost.
const WAITING: usize = 32;

/// What waits at one end.
#[derive(Debug, Default)]
struct Queue {
    datagrams: VecDeque<Vec<u8>>,
    reader: Option<Waker>,
}

/// One of two sockets that talk to each other alone.
#[derive(Debug)]
pub(crate) struct Socket {
    queues: Arc<Mutex<[Queue; 2]>>,
    side: usize,
    /// Where the other end is.
    with: SocketAddr,
}

impl Socket {
    /// Both ends: each knows the address of the other one.
    pub(crate) fn pair(addresses: [SocketAddr; 2]) -> [Self; 2] {
        let queues = Arc::<Mutex<[Queue; 2]>>::default();
        [0, 1].map(|side| Self { queues: queues.clone(), side, with: addresses[1 - side] })
    }

    fn queues(&self) -> MutexGuard<'_, [Queue; 2]> {
        lock(&self.queues)
    }

    /// The other end is still there.
    pub(crate) fn is_open(&self) -> bool {
        Arc::strong_count(&self.queues) > 1
    }

    /// Sends a datagram to the other end.
    pub(crate) fn put(&self, datagram: &[u8]) {
        let mut queues = self.queues();
        let queue = &mut queues[1 - self.side];
        if queue.datagrams.len() < WAITING {
            queue.datagrams.push_back(datagram.to_vec());
        }
        queue.reader.take().into_iter().for_each(Waker::wake);
    }

    /// The next datagram, if one is here.
    pub(crate) fn take(&self) -> Option<Vec<u8>> {
        self.queues()[self.side].datagrams.pop_front()
    }
}

impl Udp for Socket {
    async fn send(&self, datagram: &[u8], _: Ecn) -> io::Result<usize> {
        self.put(datagram);
        Ok(datagram.len())
    }

    async fn recv(&self) -> io::Result<Received> {
        let datagram = std::future::poll_fn(|cx| {
            let mut queues = self.queues();
            let queue = &mut queues[self.side];
            match queue.datagrams.pop_front() {
                Some(datagram) => Poll::Ready(datagram),
                None => {
                    queue.reader = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        });
        let bytes = datagram.await.into();
        Ok(Received { bytes, from: self.with, ecn: Ecn::NotCapable })
    }
}
