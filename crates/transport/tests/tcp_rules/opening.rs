//! Opening: who says what, and what is agreed.

use super::support::*;

#[test]
fn a_syn_is_repeated_after_one_two_and_four_seconds_and_then_given_up() {
    let mut script = Script::start(Config { syn_retries: Some(2), ..plain() });
    for wait in [1_000, 2_000, 4_000] {
        let syn = script.sent();
        assert_eq!((syn.len(), syn[0].flags), (1, Flags::SYN));
        script.pass(wait);
    }
    assert_eq!(script.told(), Some(Event::Failed(Failure::NoAnswer)));
    assert_eq!(script.end.state(), State::Closed);
}

#[test]
fn both_ends_may_open_at_once() {
    let mut script = Script::start(plain());
    script.sent();
    script.hear(Segment { options: Options::Syn(mss(1000)), ..peer("S", 0, 0, 0) });
    assert_eq!(script.end.state(), State::SynReceived);
    script.expect(&[("S", 0, 1, 0)]);
    script.hear(peer("S.", 0, 1, 0));
    assert_eq!(script.end.state(), State::Established);
}

#[test]
fn a_wrong_acknowledgement_of_the_syn_is_reset_and_a_right_reset_refuses() {
    let mut script = Script::start(plain());
    script.sent();
    script.hear(peer("S.", 0, 9, 0));
    let reset = script.sent();
    assert_eq!((reset[0].flags, reset[0].seq), (Flags::RST, Seq32::new(ISS).plus(9)));
    script.hear(peer("R.", 0, 9, 0));
    assert_eq!(script.end.state(), State::SynSent);
    script.hear(peer("R.", 0, 1, 0));
    assert_eq!(script.told(), Some(Event::Failed(Failure::ResetByPeer)));
}

#[test]
fn windows_are_scaled_when_both_ends_say_so() {
    for (offered, scaled) in [(Some(3), true), (None, false)] {
        let mut script = Script::start(Config { window_scaling: true, ..plain() });
        script.sent();
        script.hear(syn_ack(SynOptions { window_shift: offered, ..mss(1000) }));
        let window = script.sent()[0].window;
        assert_eq!(window == 62_500, scaled, "{window} times 64 bytes, or bytes");
    }
}

#[test]
fn a_syn_offers_everything_and_what_the_answer_leaves_out_is_not_used() {
    let config =
        Config { timestamps: true, window_scaling: true, ecn: EcnMode::Classic, ..plain() };
    let mut script = Script::start(config);
    let syn = script.sent().remove(0);
    assert_eq!(syn.flags, flags("SEW"));
    assert!(syn.timestamps.is_some());
    let Options::Syn(offered) = syn.options else { panic!("no options of a SYN") };
    assert_eq!((offered.mss, offered.sack_permitted), (Some(1000), true));
    assert_eq!(offered.window_shift, Some(6), "4 MB");
    script.pass(100);
    script.hear(syn_ack(mss(500)));
    let ack = script.expect(&[("", 1, 1, 0)]).remove(0);
    assert_eq!((ack.timestamps, ack.ecn), (None, Ecn::NotCapable));
    script.write(600);
    let sent = script.expect(&[("", 1, 1, 500), ("", 501, 1, 100)]);
    assert_eq!(sent[0].ecn, Ecn::NotCapable);
    script.hear(peer(".", 1001, 1, 10));
    let duplicate = script.expect(&[("", 601, 1, 0)]);
    assert_eq!(duplicate[0].options, Options::None, "no reports without SACK");
}
