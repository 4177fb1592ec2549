//! The end that listens: what it answers, agrees to and repeats (RFC 9293, section 3.5).

use super::support::*;

/// A SYN of the peer with these options.
fn syn(options: SynOptions) -> Segment {
    Segment { options: Options::Syn(options), ..peer("S", 0, 0, 0) }
}

/// What the peer's SYN offers if it can everything.
fn everything() -> SynOptions {
    SynOptions { sack_permitted: true, window_shift: Some(3), ..mss(900) }
}

fn offered(segment: &Segment) -> SynOptions {
    match &segment.options {
        Options::Syn(options) => *options,
        other => panic!("no options of a SYN: {other:?}"),
    }
}

#[test]
fn a_syn_is_answered_with_what_both_ends_can_and_the_acknowledgement_opens() {
    let config =
        Config { timestamps: true, window_scaling: true, ecn: EcnMode::Classic, ..plain() };
    let asks = Segment {
        flags: flags("SEW"),
        timestamps: Some(Timestamps { value: 77, echo: 0 }),
        ..syn(everything())
    };
    let mut script = Script::listen(config.clone(), &asks);
    let answer = script.expect(&[("SE", 0, 1, 0)]).remove(0);
    assert_eq!(answer.timestamps.map(|stamps| stamps.echo), Some(77));
    let ours = offered(&answer);
    assert_eq!((ours.mss, ours.sack_permitted), (Some(1000), true));
    assert_eq!(ours.window_shift, Some(6), "4 MB");
    assert_eq!(script.end.state(), State::SynReceived);
    script.hear(Segment {
        timestamps: Some(Timestamps { value: 78, echo: 1 }),
        ..peer(".", 1, 1, 0)
    });
    script.expect(&[]);
    assert_eq!((script.end.state(), script.told()), (State::Established, Some(Event::Connected)));
    // What the SYN left out is not offered back, and not used.
    let mut script = Script::listen(config, &syn(mss(900)));
    let answer = script.expect(&[("S", 0, 1, 0)]).remove(0);
    assert_eq!((answer.timestamps, answer.ecn), (None, Ecn::NotCapable));
    let ours = offered(&answer);
    assert_eq!((ours.sack_permitted, ours.window_shift), (false, None));
}

#[test]
fn the_answer_is_repeated_after_one_two_and_four_seconds_and_then_given_up() {
    let mut script = Script::listen(Config { syn_retries: Some(2), ..plain() }, &syn(everything()));
    for wait in [1_000, 2_000, 4_000] {
        script.expect(&[("S", 0, 1, 0)]);
        script.pass(wait);
    }
    assert_eq!(script.end.state(), State::Closed);
}

#[test]
fn a_syn_that_comes_again_is_answered_again() {
    let mut script = Script::listen(plain(), &syn(everything()));
    script.expect(&[("S", 0, 1, 0)]);
    script.pass(300);
    script.hear(syn(everything()));
    let again = script.sent();
    assert_eq!((again.len(), again[0].ack), (1, Seq32::new(IRS).plus(1)));
    assert_eq!(script.end.state(), State::SynReceived);
}

#[test]
fn data_that_come_with_the_acknowledgement_are_taken() {
    let mut script = Script::listen(plain(), &syn(everything()));
    script.expect(&[("S", 0, 1, 0)]);
    script.hear(peer(".", 1, 1, 100));
    script.expect(&[("", 1, 101, 0)]);
    assert_eq!(script.end.state(), State::Established);
}

#[test]
fn segments_are_as_long_as_the_peer_says_and_536_bytes_if_it_says_nothing() {
    // RFC 9293, section 3.7.1.
    for (options, len) in [(everything(), 900), (SynOptions::default(), 536)] {
        let mut script = Script::listen(plain(), &syn(options));
        script.expect(&[("S", 0, 1, 0)]);
        script.hear(peer(".", 1, 1, 0));
        script.write(10_000);
        let lengths: Vec<_> = script.sent().iter().map(|s| s.payload.len()).collect();
        assert_eq!(lengths, [len, len]);
    }
}
