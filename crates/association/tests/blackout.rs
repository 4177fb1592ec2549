//! Minutes without a link in the middle of a transfer.

mod world;

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bentpipe_association::Tuning;
use bentpipe_association::endpoint::Streams as _;
use bentpipe_association::endpoint::{ConnectionId, Endpoint, StreamError};
use bentpipe_testkit::pattern;
use bentpipe_transport::Failure;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{BitRate, Span};
use bytes::Bytes;

use world::{CLIENT, DELAY, SERVER, Wire, World, address, secs};

/// What a user gets who says nothing, and one who says what the link carries.
fn settings() -> [(&'static str, Arc<Config>); 2] {
    let rate = Some(BitRate::from_bps(10_000_000));
    [("no rate", Tuning::default()), ("a rate", Tuning { rate, ..Tuning::default() })]
        .map(|(name, tuning)| (name, tuning.config().expect("settings")))
}

/// A network that loses all that these ends send.
fn without(ends: &'static [usize]) -> Wire {
    Box::new(move |end, _| if ends.contains(&end) { Vec::new() } else { vec![DELAY] })
}

/// The client writes; some of it is sent and some waits when the night falls in which these ends are
/// not heard. Returns the connection and what found no room.
fn until_night(world: &mut World, data: &Bytes, down: &'static [usize]) -> (ConnectionId, Bytes) {
    let connection = world.connect();
    let mut left = data.clone();
    let cx = &mut Context::from_waker(Waker::noop());
    let night = world.now + secs(3);
    loop {
        let _ = world.endpoints[CLIENT].poll_write(world.now, connection, &mut left, cx);
        if !world.step(night) {
            break;
        }
    }
    let unsent = world.endpoints[CLIENT].unsent(connection);
    assert!(unsent > 0 && unsent + left.len() < data.len(), "in the middle: {unsent}");
    world.wire = without(down);
    (connection, left)
}

/// Whether a read or a wait told that nothing was heard for too long.
fn gave_up<T: std::fmt::Debug>(said: &Poll<Result<T, StreamError>>) -> bool {
    matches!(said, Poll::Ready(Err(StreamError::Failed(Failure::NoResponse))))
}

#[test]
fn a_transfer_outlives_three_minutes_in_the_dark() {
    let data = pattern(8_000_000);
    for (name, config) in settings() {
        for (down, moves) in [
            (&[CLIENT, SERVER][..], false),
            (&[CLIENT], false),
            (&[SERVER], false),
            (&[CLIENT, SERVER], true),
        ] {
            let mut world = World::new().with_config(config.clone());
            let (connection, left) = until_night(&mut world, &data, down);
            world.run(secs(90));
            if moves {
                world.addresses[CLIENT] = address(77);
            }
            world.run(secs(90));
            world.wire = without(&[]);
            println!("{name}, {down:?} down, the client moves: {moves}");
            let (read, _) = world.transfer(connection, &left, secs(300)).expect("a transfer");
            assert!(read == data, "{name}, {down:?} down, the client moves: {moves}");
            world.run(secs(60));
            let connections = world.endpoints.each_ref().map(Endpoint::connections);
            assert_eq!(connections, [0, 0]);
        }
    }
}

#[test]
fn beyond_the_idle_timeout_both_ends_fail_forget_the_connection_and_can_begin_anew() {
    let data = pattern(8_000_000);
    let idle_timeout = Tuning::default().idle_timeout;
    for (name, config) in settings() {
        let mut world = World::new().with_config(config);
        let (connection, _) = until_night(&mut world, &data, &[CLIENT, SERVER]);
        let cx = &mut Context::from_waker(Waker::noop());
        let Poll::Ready(accepted) = world.endpoints[SERVER].poll_accept(cx) else {
            panic!("{name}: nothing was accepted");
        };
        world.run(idle_timeout - secs(20));
        let said = world.endpoints[CLIENT].poll_connected(connection, cx);
        assert_eq!(said, Poll::Ready(Ok(())), "{name}: too early");
        // The last keep-alive is waited for, too.
        world.run(secs(40));
        let said = world.endpoints[CLIENT].poll_connected(connection, cx);
        assert!(gave_up(&said), "{name}: the client: {said:?}");
        let last = loop {
            match world.endpoints[SERVER].poll_read(world.now, accepted, cx) {
                Poll::Ready(Ok(Some(bytes))) => assert!(!bytes.is_empty()),
                other => break other,
            }
        };
        assert!(gave_up(&last), "{name}: the server: {last:?}");
        world.endpoints[CLIENT].release(world.now, connection);
        world.endpoints[SERVER].release(world.now, accepted);
        world.run(secs(60));
        let connections = world.endpoints.each_ref().map(Endpoint::connections);
        assert_eq!(connections, [0, 0], "{name}");
        let (sent, rings) = (world.sent.len(), world.rings);
        world.run(secs(3_600));
        assert_eq!(world.sent.len() - sent, 0, "{name}: datagrams for nobody");
        assert_eq!(world.rings, rings, "{name}: timers for nobody");
        world.wire = Box::new(|_, _| vec![Span::from_millis(20)]);
        let again = world.connect();
        let data = pattern(100_000);
        assert_eq!(world.transfer(again, &data, secs(60)).expect("a transfer").0, data, "{name}");
    }
}
