use std::task::Waker;

use bentpipe_transport::Failure;
use bentpipe_units::Span;
use bytes::Bytes;

use super::*;
use crate::qlp::{self, Frame, Framing, Header, NodeId};
use bentpipe_association::Tuning;
use bentpipe_association::stream::StreamError;
use bentpipe_wire::qlp::Protocol;

/// Two nodes with nothing between them but frames.
struct Two {
    client: qlp::Sessions,
    server: qlp::Sessions,
    now: Instant,
}

fn sessions(node: u16, seed: u64) -> qlp::Sessions {
    let mut next = seed;
    let entropy = move || {
        next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        next
    };
    Sessions::new(Framing(NodeId(node)), Box::new(entropy))
}

fn settings() -> Arc<Config> {
    qlp::config(&Tuning::default()).expect("settings")
}

impl Two {
    fn new() -> Self {
        let mut server = sessions(3, 3);
        server.listen(settings());
        Self { client: sessions(1, 1), server, now: Instant::ZERO }
    }

    /// Passes frames in both directions until there are none.
    fn exchange(&mut self) {
        loop {
            self.client.flush(self.now);
            self.server.flush(self.now);
            let (to_server, to_client) = (self.client.next_frame(), self.server.next_frame());
            if to_server.is_none() && to_client.is_none() {
                return;
            }
            to_server.into_iter().for_each(|frame| self.server.handle_frame(self.now, frame));
            to_client.into_iter().for_each(|frame| self.client.handle_frame(self.now, frame));
        }
    }

    /// Lets time pass to the next deadline of either.
    fn wait(&mut self) {
        let next = Instant::earliest(self.client.next_deadline(), self.server.next_deadline());
        self.now = next.expect("a deadline").max(self.now);
        self.client.handle_timeout(self.now);
        self.server.handle_timeout(self.now);
    }

    fn connect(&mut self) -> (ConnectionId, ConnectionId) {
        let client = self.client.connect(self.now, NodeId(3), 1, settings());
        self.exchange();
        assert_eq!(self.client.poll_connected(client, &cx()), Poll::Ready(Ok(())));
        let Poll::Ready((peer, server)) = self.server.poll_accept(&cx()) else {
            panic!("no connection")
        };
        assert_eq!(peer, NodeId(1));
        (client, server)
    }
}

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

#[test]
fn bytes_arrive_in_order_and_both_ends_close_and_forget_the_connection() {
    let mut two = Two::new();
    let (client, server) = two.connect();
    let data: Bytes = (0..200_000u32).map(|n| (n / 7) as u8).collect();
    let (mut left, mut got) = (data.clone(), Vec::new());
    while got.len() < data.len() {
        let _ = two.client.poll_write(two.now, client, &mut left, &cx());
        two.exchange();
        while let Poll::Ready(Ok(Some(bytes))) = two.server.poll_read(two.now, server, &cx()) {
            got.extend_from_slice(&bytes);
        }
        two.wait();
    }
    assert_eq!(got, data);
    two.client.close(two.now, client);
    two.server.close(two.now, server);
    while two.client.poll_closed(client, &cx()).is_pending() {
        two.exchange();
        two.wait();
    }
    assert_eq!(two.server.poll_read(two.now, server, &cx()), Poll::Ready(Ok(None)));
    two.client.release(two.now, client);
    two.server.release(two.now, server);
    two.exchange();
    while two.client.connections.len() + two.server.connections.len() > 0 {
        two.wait();
        two.exchange();
    }
    assert_eq!(two.client.next_deadline(), None);
}

#[test]
fn a_node_that_does_not_listen_refuses_and_one_that_is_not_there_does_not_answer() {
    let mut two = Two::new();
    two.server = sessions(3, 3);
    let refused = two.client.connect(two.now, NodeId(3), 1, settings());
    two.exchange();
    let Poll::Ready(Err(StreamError::Failed(Failure::Reset(_)))) =
        two.client.poll_connected(refused, &cx())
    else {
        panic!("not refused")
    };
    let unanswered = two.client.connect(two.now, NodeId(9), 1, settings());
    while two.client.poll_connected(unanswered, &cx()).is_pending() {
        two.client.flush(two.now);
        while two.client.next_frame().is_some() {}
        two.wait();
        two.client.flush(two.now);
    }
    let failed = Err(StreamError::Failed(Failure::NoAnswer));
    assert_eq!(two.client.poll_connected(unanswered, &cx()), Poll::Ready(failed));
    assert!(two.now < Instant::ZERO + Span::from_secs(120));
}

#[test]
fn damaged_segments_and_frames_for_others_are_dropped_and_counted() {
    let mut two = Two::new();
    let _ = two.client.connect(two.now, NodeId(3), 1, settings());
    two.client.flush(two.now);
    let request = two.client.next_frame().expect("a request");
    let damaged = |at: usize| {
        let mut payload = request.payload.to_vec();
        payload[at] ^= 0x10;
        Frame { payload: payload.into(), ..request.clone() }
    };
    for at in [0, 12, request.payload.len() - 1] {
        two.server.handle_frame(two.now, damaged(at));
    }
    let elsewhere = Header { destination: NodeId(4), ..request.header };
    let packet = Header { protocol: Protocol::Ip, ..request.header };
    for header in [elsewhere, packet] {
        two.server.handle_frame(two.now, Frame { header, ..request.clone() });
    }
    two.server.flush(two.now);
    assert_eq!(two.server.next_frame(), None);
    let counters = two.server.dropped();
    assert_eq!((counters.malformed, counters.unwanted), (3, 2));
    two.server.handle_frame(two.now, request);
    assert!(two.server.poll_accept(&cx()).is_pending(), "it has not been drained");
    two.server.flush(two.now);
    assert!(two.server.poll_accept(&cx()).is_ready());
}

#[test]
fn a_client_that_was_restarted_is_heard_on_the_port_of_its_predecessor() {
    let mut two = Two::new();
    let (_, before) = two.connect();
    // The same draws give the same port; another session number tells them apart.
    let mut draws = [1u64, u64::MAX].into_iter().cycle();
    let mut first = sessions(1, 1);
    let port = (first.entropy)() as u16;
    two.client = Sessions::new(
        Framing(NodeId(1)),
        Box::new(move || draws.next().unwrap_or(0) ^ u64::from(port) ^ 1),
    );
    let (_, after) = two.connect();
    assert_ne!(before, after);
    let restarted = Err(StreamError::Failed(Failure::PeerRestarted));
    assert_eq!(two.server.poll_read(two.now, before, &cx()), Poll::Ready(restarted));
    assert_eq!(
        two.server.connections[after.0].stream.endpoint.ports(),
        two.server.connections[before.0].stream.endpoint.ports()
    );
}

#[test]
fn whoever_opens_ever_more_connections_is_told_that_there_is_no_room() {
    let mut two = Two::new();
    let requests = MOST_CONNECTIONS + 10;
    for _ in 0..requests {
        two.client.connect(two.now, NodeId(3), 1, settings());
    }
    two.client.flush(two.now);
    while let Some(frame) = two.client.next_frame() {
        two.server.handle_frame(two.now, frame);
    }
    assert_eq!(two.server.connections.len(), MOST_CONNECTIONS);
    two.exchange();
    let told = |connection: &Connection<NodeId>| connection.stream.status.failed.is_some();
    let refused = two.client.connections.iter().filter(|(_, connection)| told(connection)).count();
    assert_eq!(refused, 10);
}
