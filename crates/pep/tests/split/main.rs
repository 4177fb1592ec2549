//! Split connections over wires that lose: everything arrives or a reset does, within the buffers.

mod stalling;
mod world;

use bentpipe_pep::split::Config;
use bentpipe_transport::{Event, tcp};
use bentpipe_units::{ByteCount, Span};
use proptest::prelude::*;

use world::{Leg, World, pattern};

const LONG: Span = Span::from_secs(3_000_000);

fn world(legs: Vec<Leg>) -> World {
    World::new(legs, Config::default(), 11)
}

#[test]
fn a_file_crosses_two_proxies_in_both_directions() {
    let mut world = world(vec![Leg::tcp(50_000), Leg::tcp(30_000), Leg::tcp(50_000)]);
    world.source().outbox = pattern(500_000);
    world.sink().outbox = pattern(80_000);
    assert!(world.run(LONG), "it ends");
    assert_eq!(world.sink().inbox, pattern(500_000));
    assert_eq!(world.source().inbox, pattern(80_000));
    assert!(world.source().saw_the_end() && world.sink().saw_the_end());
}

#[test]
fn the_end_of_one_direction_leaves_the_other_open() {
    let mut world = world(vec![Leg::tcp(20_000), Leg::tcp(20_000)]);
    world.source().outbox = pattern(100_000);
    world.sink().outbox = pattern(100_000);
    world.sink().answers_last = true;
    assert!(world.run(LONG));
    assert_eq!((world.sink().inbox.len(), world.source().inbox.len()), (100_000, 100_000));
    assert!(!world.source().failed() && !world.sink().failed());
}

#[test]
fn a_sink_that_reads_nothing_stops_the_source_and_takes_no_more_than_the_buffers() {
    let mut world = world(vec![Leg::tcp(40_000), Leg::tcp(40_000)]);
    world.source().outbox = pattern(1_000_000);
    world.sink().stalled = true;
    assert!(!world.run(Span::from_secs(600)));
    // What the source wrote is in its own send buffer, in the proxy and at the sink.
    let written = 1_000_000 - world.source().outbox.len();
    assert!((79_000..=120_000).contains(&written), "{written}");
    assert!(world.most[0][0] <= 40_000, "{:?}", world.most);
    world.sink().stalled = false;
    world.change(true, |_, _| {});
    assert!(world.run(LONG));
    assert_eq!(world.sink().inbox, pattern(1_000_000));
}

#[test]
fn a_reset_is_passed_on_at_once_and_what_was_held_with_it() {
    for sink_resets in [false, true] {
        let mut world = world(vec![Leg::tcp(100_000), Leg::tcp(100_000)]);
        world.source().outbox = pattern(10_000_000);
        world.sink().answers_last = true;
        world.run(Span::from_secs(2));
        world.change(sink_resets, |endpoint, now| endpoint.abort(now));
        let reset_at = world.now;
        assert!(world.run(LONG));
        assert!(world.source().failed() && world.sink().failed());
        assert!(!world.sink().saw_the_end() && !world.source().saw_the_end());
        // Two crossings; late segments are answered and nothing more.
        assert!(world.now.since(reset_at) < Span::from_secs(1), "{:?}", world.now);
    }
}

#[test]
fn a_server_that_does_not_answer_resets_the_client() {
    let patient = tcp::Config { syn_retries: Some(3), ..tcp::Config::default() };
    let mut world = world(vec![Leg::tcp(10_000), Leg::Tcp(patient)]);
    world.source().outbox = pattern(100_000);
    world.down = Some(1);
    assert!(world.run(LONG));
    assert!(world.source().failed() && !world.source().saw_the_end());
    assert_eq!(world.most[0], [10_000, 0], "what came meanwhile was held and no more");
}

#[test]
fn with_a_spoof_window_no_more_than_it_is_acknowledged_before_the_sink_has_it() {
    for window in [0, 5_000] {
        let config = Config { spoof_window: Some(ByteCount::new(window)), ..Config::default() };
        let legs = vec![Leg::tcp(60_000), Leg::tcp(60_000), Leg::tcp(60_000)];
        let mut world = World::new(legs, config, 3);
        world.loss = 20;
        world.source().outbox = pattern(400_000);
        let mut at = Span::ZERO;
        loop {
            at = at + Span::from_millis(10);
            let over = world.run(at);
            let sent = 400_000 - world.source().outbox.len() as u64;
            let acknowledged = sent - world.kept_by_source();
            let arrived = world.sink().inbox.len() as u64;
            // Each of the two proxies has a window of its own.
            assert!(acknowledged <= arrived + 2 * window, "{acknowledged} of {arrived} at {at}");
            if over {
                break;
            }
        }
        assert_eq!(world.sink().inbox, pattern(400_000));
        assert!(world.source().saw_the_end() && !world.source().failed());
    }
}

/// Runs a transfer in both directions over random legs. `aborts` says when an end gives up, and which. Without `patient` ends
/// a closed connection answers late segments for a second only, as is the default: who has not heard the last
/// acknowledgement by then is reset, though all has arrived.
#[expect(clippy::too_many_arguments, reason = "what a property draws")]
fn transfer(
    legs: Vec<Leg>,
    buffers: &[u64],
    config: Config,
    seed: u64,
    loss: u64,
    sizes: [usize; 2],
    aborts: Option<(u64, bool)>,
    patient: bool,
) {
    let legs = if patient { legs } else { legs.into_iter().map(Leg::impatient).collect() };
    let mut world = World::new(legs, config, seed);
    world.loss = loss;
    world.source().outbox = pattern(sizes[0]);
    world.sink().outbox = pattern(sizes[1]);
    world.sink().answers_last = true;
    if let Some((at, sink)) = aborts {
        world.run(Span::from_millis(at));
        world.change(sink, |endpoint, now| {
            if !endpoint.is_closed() {
                endpoint.abort(now);
            }
        });
    }
    assert!(world.run(LONG), "it never ends");
    for (most, buffer) in world.most.iter().zip(buffers.windows(2)) {
        assert!(most[0] <= buffer[0] && most[1] <= buffer[1], "{most:?} of {buffer:?}");
    }
    let (forth, back) = (pattern(sizes[0]), pattern(sizes[1]));
    let whole = [world.sink().inbox == forth, world.source().inbox == back];
    assert!(forth.starts_with(&world.sink().inbox) && back.starts_with(&world.source().inbox));
    assert!(whole[0] || !world.sink().saw_the_end(), "the sink was told of an end too early");
    assert!(whole[1] || !world.source().saw_the_end(), "the source was told of an end too early");
    if aborts.is_none() && patient {
        assert_eq!(whole, [true, true], "lost without a reset");
    } else if aborts.is_none() {
        let told = world.source().failed() || world.sink().failed();
        assert!(whole == [true, true] || told, "lost, and nobody is told");
    } else {
        // A reset may be lost where nothing more is said: then the source waits, and is told nothing.
        let closed = world.source().heard(|event| *event == Event::Closed);
        assert!(
            whole[0] || world.source().failed() || !closed,
            "the source believes that all is well"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_or_a_reset_does_and_no_proxy_holds_more_than_its_buffer(
        protocols in prop::collection::vec(0..2usize, 2..=3),
        buffers in prop::collection::vec(3_000..60_000u64, 3),
        paced in any::<bool>(),
        spoof in prop::option::of(0..20_000u64),
        seed in any::<u64>(),
        loss in prop_oneof![Just(0), 0..50u64, 0..250u64],
        forth in 0..150_000usize,
        back in 0..30_000usize,
        aborts in prop::option::of((0..8_000u64, any::<bool>())),
        patient in any::<bool>(),
    ) {
        let legs: Vec<_> = protocols.iter().zip(&buffers).map(|(p, b)| Leg::of(*p, *b)).collect();
        let config = Config { paced, spoof_window: spoof.map(ByteCount::new), buffer: None };
        transfer(legs, &buffers, config, seed, loss, [forth, back], aborts, patient);
    }

    #[test]
    fn a_stream_of_sctp_can_be_a_leg(
        buffer in 5_000..60_000u64,
        seed in any::<u64>(),
        loss in 0..100u64,
        forth in 0..100_000usize,
    ) {
        let legs = vec![Leg::tcp(buffer), Leg::of(2, buffer)];
        transfer(legs, &[buffer, buffer], Config::default(), seed, loss, [forth, 0], None, true);
    }
}
