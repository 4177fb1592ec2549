//! Datagrams beside downloads.

use std::task::{Context, Poll, Waker};

use bentpipe_link::ModelSpec;
use bentpipe_units::Span;
use bytes::Bytes;

use crate::dedicated::begin;
use crate::download::meanwhile;
use crate::world::{Link, TERMINAL, World};

/// How often it is looked at what came.
const LOOK: Span = Span::from_millis(2);

/// Downloads are out of slow start after that.
const BEGUN: Span = Span::from_secs(20);

/// What became of datagrams beside two downloads.
struct Beside {
    /// When each left that arrived, since the first one, and how long it took.
    arrived: Vec<(Span, Span)>,
    sent: usize,
    /// Of the downloads, in Mbit/s.
    rate: f64,
}

impl Beside {
    /// How long so many of a hundred took at most that left after that.
    fn took(&self, hundredth: usize, after: Span) -> Span {
        let later = self.arrived.iter().filter(|(left, _)| *left >= after);
        let mut took: Vec<Span> = later.map(|(_, took)| *took).collect();
        took.sort_unstable();
        took[(took.len() * hundredth).div_ceil(100) - 1]
    }
}

/// Sends a datagram of so many bytes every `pause` for twenty seconds beside two downloads, which began so long `before`.
fn datagrams_beside_bulk(mut world: World, bytes: usize, pause: Span, before: Span) -> Beside {
    let mut bulk = begin(&mut world, 2, 100_000_000);
    meanwhile(&mut world, &mut bulk, before);
    let was: usize = bulk.iter().map(|bulk| bulk.read).sum();
    let (began, lasts) = (world.now, Span::from_secs(20));
    let (mut arrived, mut sent) = (Vec::new(), 0);
    let cx = &mut Context::from_waker(Waker::noop());
    while world.now < began + lasts {
        if world.now >= began + pause * sent as u64 {
            let mut datagram = world.now.since(began).as_nanos().to_be_bytes().to_vec();
            datagram.resize(bytes, 0);
            world.send_datagram(Bytes::from(datagram));
            sent += 1;
        }
        meanwhile(&mut world, &mut bulk, pause.min(LOOK));
        while let Poll::Ready((_, datagram)) = world.endpoints[TERMINAL].poll_datagram(cx) {
            let left = u64::from_be_bytes(*datagram.bytes.first_chunk().expect("a time"));
            let left = Span::from_nanos(left);
            arrived.push((left, world.now.since(began + left)));
        }
    }
    let read = bulk.iter().map(|bulk| bulk.read).sum::<usize>() - was;
    let rate = read as f64 * 8.0 / 1e6 / world.now.since(began).as_secs_f64();
    Beside { arrived, sent, rate }
}

#[test]
fn a_call_does_not_wait_for_bulk() {
    let world = World::dedicated(&Link::geo(10.0), 1);
    let beside = datagrams_beside_bulk(world, 200, Span::from_millis(20), BEGUN);
    // All but those that are under way.
    assert!(beside.arrived.len() + 16 >= beside.sent, "{}", beside.arrived.len());
    // The delay of the link and a turn of the others.
    let worst = beside.took(100, Span::ZERO);
    assert!(worst <= Span::from_millis(300 + 10) + LOOK, "{worst:?}");
    assert!(beside.rate > 8.9, "{}", beside.rate);
}

#[test]
fn where_no_rate_is_known_a_call_finds_a_short_queue() {
    for damage in [None, Some(ModelSpec::RandomLoss(0.01))] {
        let mut link = Link::geo(10.0);
        link.damage.extend(damage);
        let beside =
            datagrams_beside_bulk(World::ignorant(&link, 1), 200, Span::from_millis(20), BEGUN);
        // A few round trips after it began.
        let [half, most] = [50, 99].map(|part| beside.took(part, Span::from_secs(5)));
        println!("{half:?}, {most:?}, {:.2} Mbit/s beside them", beside.rate);
        assert!(half <= Span::from_millis(320), "{half:?}");
        assert!(most <= Span::from_millis(360), "{most:?}");
        assert!(beside.rate >= 9.0, "{}", beside.rate);
    }
}

#[test]
fn a_call_that_was_there_first_has_a_short_queue_as_soon_as_slow_start_is_over() {
    let (world, pause) = (World::ignorant(&Link::geo(10.0), 1), Span::from_millis(20));
    let beside = datagrams_beside_bulk(world, 200, pause, Span::ZERO);
    let [half, most] = [50, 99].map(|part| beside.took(part, Span::from_secs(12)));
    println!("{half:?}, {most:?}, {:.2} Mbit/s beside it", beside.rate);
    assert!(half <= Span::from_millis(320), "{half:?}");
    assert!(most <= Span::from_millis(340), "{most:?}");
}

#[test]
fn a_flood_of_datagrams_leaves_the_others_their_turns_and_waits_for_nothing_long() {
    // Nearly all of the link's rate.
    let world = World::dedicated(&Link::geo(10.0), 1);
    let beside = datagrams_beside_bulk(world, 1_000, Span::from_micros(500), BEGUN);
    let arrived = beside.arrived.len();
    assert!(arrived * 5 < beside.sent * 4, "{arrived} of {}", beside.sent);
    // The queue of a flow that does not answer to anything is bounded by what leaves in two round trips.
    let worst = beside.took(100, Span::ZERO);
    assert!(worst <= Span::from_millis(300 + 700), "{worst:?}");
    // Of three parts two are the downloads'.
    assert!((6.2..6.7).contains(&beside.rate), "{}", beside.rate);
}
