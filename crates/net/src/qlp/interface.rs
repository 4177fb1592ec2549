//! A node's link: its own queue, the forwarding table and the queues of its neighbours.

use std::collections::BTreeMap;

use bentpipe_wire::qlp::{Frame, NodeId, decode, encode};
use bytes::{Bytes, BytesMut};

use super::queue::{Inbox, OpenError, Outlet, Put};
use super::routes::Routes;

/// What became of the frames of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that arrived.
    pub received: u64,
    /// Messages that were dropped because they are no frames or carry no XSTP segment, damage included.
    pub malformed: u64,
    /// Frames that were dropped because they are not for this node to deal with.
    pub unwanted: u64,
    /// Frames that were put into a queue.
    pub sent: u64,
    /// Frames that found the next node's queue full, and are lost.
    pub lost_queue_full: u64,
    /// Frames for which there was no queue, or none that takes them, and are lost.
    pub lost_no_queue: u64,
}

/// A node's link.
#[derive(Debug)]
pub(super) struct Interface {
    inbox: Inbox,
    routes: Routes,
    outlets: BTreeMap<NodeId, Outlet>,
    pub(super) counters: Counters,
    message: BytesMut,
}

impl Interface {
    /// The link of this node.
    pub(super) fn open(node: NodeId, routes: Routes) -> Result<Self, OpenError> {
        Ok(Self::new(Inbox::open(node)?, routes))
    }

    fn new(inbox: Inbox, routes: Routes) -> Self {
        let (outlets, counters) = (BTreeMap::new(), Counters::default());
        Self { inbox, routes, outlets, counters, message: BytesMut::new() }
    }

    /// Which node it is.
    pub(super) const fn node(&self) -> NodeId {
        self.inbox.node()
    }

    /// Its queue.
    pub(super) const fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Takes the next frame out of the node's queue; `None` when it is empty.
    pub(super) fn receive(&mut self) -> Option<Frame> {
        loop {
            match decode(Bytes::copy_from_slice(self.inbox.receive()?)) {
                Ok(frame) => {
                    self.counters.received += 1;
                    return Some(frame);
                }
                Err(_) => self.counters.malformed += 1,
            }
        }
    }

    /// Puts a frame into the queue of the next node on its way. If that is full, the frame is lost.
    pub(super) fn send(&mut self, frame: &Frame) {
        let next = self.routes.next(frame.header.destination);
        self.message.clear();
        let put = match encode(frame, &mut self.message) {
            Ok(()) => {
                let outlet = self.outlets.entry(next).or_insert_with(|| Outlet::new(next));
                outlet.put(&self.message)
            }
            Err(_) => Put::Refused,
        };
        match put {
            Put::Taken => self.counters.sent += 1,
            Put::Full => self.counters.lost_queue_full += 1,
            Put::Refused => {
                // What others name as their node must not make memory grow.
                self.outlets.remove(&next);
                self.counters.lost_no_queue += 1;
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use bentpipe_wire::qlp::{Header, Protocol};

    use super::super::Route;
    use super::super::queue::tests::free;
    use super::*;

    /// The link of a node that nobody else is.
    pub(in crate::qlp) fn interface(routes: &[Route]) -> Interface {
        Interface::new(free(), routes.iter().copied().collect())
    }

    impl Interface {
        pub(in crate::qlp) fn set_routes(&mut self, routes: &[Route]) {
            self.routes = routes.iter().copied().collect();
        }
    }

    fn frame(source: NodeId, destination: NodeId) -> Frame {
        let header = Header { destination, source, protocol: Protocol::Xstp };
        Frame { header, payload: Bytes::from_static(b"payload") }
    }

    #[test]
    fn a_frame_for_a_node_behind_another_goes_through_that_one() {
        let (mut sink, mut router) = (interface(&[]), interface(&[]));
        let mut source = interface(&[Route { destination: sink.node(), next: router.node() }]);
        let sent = frame(source.node(), sink.node());
        source.send(&sent);
        assert_eq!(sink.receive(), None);
        let passing = router.receive().expect("a frame");
        assert_eq!(passing, sent);
        router.send(&passing);
        assert_eq!(sink.receive(), Some(sent));
        for counters in [source.counters, router.counters] {
            assert_eq!((counters.sent, counters.lost_queue_full), (1, 0));
        }
    }

    #[test]
    fn what_a_full_queue_does_not_take_is_lost_and_counted() {
        let (mut source, sink) = (interface(&[]), interface(&[]));
        let depth = sink.inbox().depth() as u64;
        let sent = frame(source.node(), sink.node());
        for _ in 0..depth + 3 {
            source.send(&sent);
        }
        let expected = Counters { sent: depth, lost_queue_full: 3, ..Counters::default() };
        assert_eq!(source.counters, expected);
        drop(sink);
        source.send(&sent);
        assert_eq!(source.counters.lost_no_queue, 1);
        let long = Frame { payload: vec![0; 70_000].into(), ..sent };
        source.send(&long);
        assert_eq!(source.counters.lost_no_queue, 2);
    }

    #[test]
    fn malformed_frames_are_dropped_and_counted_and_the_next_one_counts() {
        let (mut source, mut sink) = (interface(&[]), interface(&[]));
        let mut outlet = Outlet::new(sink.node());
        for junk in
            [&b""[..], b"short", b"\0\x03\0\x01\0\x09\0\x01short", b"\0\x03\0\x01\0\0\0\x09"]
        {
            assert_eq!(outlet.put(junk), Put::Taken);
        }
        let sent = frame(source.node(), sink.node());
        source.send(&sent);
        assert_eq!(sink.receive(), Some(sent));
        assert_eq!((sink.counters.malformed, sink.counters.received), (4, 1));
    }
}
