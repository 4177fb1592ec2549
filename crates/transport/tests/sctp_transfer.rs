//! Associations as a whole: opening, data both ways, closing.

use bentpipe_testkit::{Direction, Fate, SctpPair, pattern};
use bentpipe_transport::sctp::{Config, State};
use bentpipe_transport::{Endpoint, Event};
use bentpipe_units::{Instant, Span};
use bentpipe_wire::Kind;

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

fn pair() -> SctpPair {
    SctpPair::new(Config::default(), Config::default(), &[ms(100)])
}

#[test]
fn a_transfer_both_ways_arrives_and_both_ends_close() {
    let mut pair = pair().sending(pattern(300_000)).answering(pattern(70_000));
    assert!(pair.run(Span::from_secs(300)));
    assert!(pair.server.inbox == pattern(300_000) && pair.client.inbox == pattern(70_000));
    for end in [&pair.client, &pair.server] {
        assert_eq!(end.association().state(), State::Closed);
        assert!(end.was_told(Event::Connected) && end.was_told(Event::Closed));
        assert!(end.association().is_closed());
    }
}

#[test]
fn four_messages_open_and_the_third_and_fourth_carry_data() {
    let mut pair = pair().sending(pattern(10)).answering(pattern(20));
    pair.run_to(at(450));
    let kinds: Vec<_> =
        pair.log.iter().take(4).map(|c| (c.direction, c.at, c.packet.kind())).collect();
    assert_eq!(
        kinds,
        [
            (Direction::Forward, at(0), Kind::BGN),
            (Direction::Return, at(100), Kind::BGNAK),
            (Direction::Forward, at(200), Kind::COOKIE.with(Kind::DATA)),
            (Direction::Return, at(300), Kind::COOKIE.with(Kind::DATA)),
        ]
    );
    assert_eq!(pair.log[0].packet.tag, 0, "an INIT has no tag to name");
    assert!(pair.client.was_told(Event::Connected) && pair.server.was_told(Event::Connected));
}

#[test]
fn each_message_of_the_opening_may_be_lost() {
    for lost in 0..4 {
        let mut count = 0;
        let mut pair = pair().sending(pattern(5_000)).with_script(move |_| {
            count += 1;
            if count == lost + 1 { Fate::Drop } else { Fate::Pass }
        });
        assert!(pair.run(Span::from_secs(60)), "message {lost}");
        assert!(pair.server.inbox == pattern(5_000), "message {lost}");
    }
}
