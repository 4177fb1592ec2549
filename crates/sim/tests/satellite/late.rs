//! Datagrams over links that let packets overtake each other.

use std::task::{Context, Poll, Waker};

use bentpipe_link::{ModelSpec, Streams, Timeline};
use bentpipe_units::{Instant, Span};
use bytes::Bytes;

use crate::world::{Link, TERMINAL, World};

/// A delay of up to so long besides, another one for each packet.
fn overtaking(most: Span, seed: u64) -> ModelSpec {
    let (mut stream, each) = (Streams::new(seed).stream("overtaking"), Span::from_micros(97));
    let drawn = |n| (Instant::ZERO + each * n, Span::from_nanos(stream.below(most.as_nanos())));
    let steps = (0..100_000).map(drawn).collect();
    let delays = Timeline::new(steps, Some(each * 100_000)).expect("a timeline");
    ModelSpec::SteppedDelay { delays, reorders: true }
}

/// Offers 16 Mbit/s of datagrams to a link of 20 Mbit/s for 18 s; the numbers of those that arrive, as they come.
fn stream(mut world: World) -> Vec<u64> {
    let (pause, began) = (Span::from_micros(600), world.now);
    let cx = &mut Context::from_waker(Waker::noop());
    let (mut came, mut sent) = (Vec::new(), 0_u64);
    while world.now < began + Span::from_secs(22) {
        while sent < 30_000 && world.now >= began + pause * sent {
            let mut datagram = sent.to_be_bytes().to_vec();
            datagram.resize(1_200, 0);
            world.send_datagram(Bytes::from(datagram));
            sent += 1;
        }
        world.run(pause);
        while let Poll::Ready((_, datagram)) = world.endpoints[TERMINAL].poll_datagram(cx) {
            came.push(u64::from_be_bytes(*datagram.bytes.first_chunk().expect("a number")));
        }
    }
    came
}

#[test]
fn datagrams_arrive_in_order_although_packets_overtake_each_other_and_are_lost() {
    let jitter = Span::from_millis(30);
    for damage in [
        vec![],
        vec![overtaking(jitter, 1)],
        vec![overtaking(jitter, 2), ModelSpec::RandomLoss(0.01)],
    ] {
        let name = format!("{} models", damage.len());
        let came = stream(World::ignorant(&Link { damage, ..Link::geo(20.0) }, 1));
        assert!(came.is_sorted_by(|one, next| one < next), "{name}: out of order");
        // Those of the first seconds exceed what is known of the link by then.
        let later = came.iter().filter(|number| **number >= 10_000).count();
        assert_eq!(later, 20_000, "{name}");
    }
}
