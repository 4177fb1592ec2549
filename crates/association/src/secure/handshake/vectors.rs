//! The test vectors of `docs/protocols/association-vectors.txt`, for whoever implements the association.
//! BENTPIPE_BLESS=1 writes them anew.

use bytes::BytesMut;

use super::*;
use crate::secure::{Admission, Datagram, FRONT, Verdict, parse};
use bentpipe_units::Instant;

const FILE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocols/association-vectors.txt");

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Everything that two hosts say, of keys that are known.
fn vectors(security: Security) -> Vec<(&'static str, Vec<u8>)> {
    let (initiator, responder) = ([1; 32], [2; 32]);
    let (ephemeral, answers_with) = ([3; 32], [4; 32]);
    let [a, b] = [initiator, responder].map(SecretKey::from_bytes);
    let (time, epochs) = (0x0102_0304_0506_0708u64, [7u64, 9]);
    let payload = epochs[0].to_be_bytes();
    let own = Ephemeral::from_bytes(ephemeral);
    let waiting = Initiator::new(security, &a, b.public(), Index::new(5), time, &payload, own);
    let request = waiting.datagram(None);
    let Some(Datagram::Init(init)) = parse(security, &request) else { panic!("a request") };

    let from = "192.0.2.1:25300".parse().expect("an address");
    let mut admission = Admission::new(security, b.public(), Instant::ZERO, [5; 32]);
    assert_eq!(admission.judge(Instant::ZERO, from, &init), Verdict::Read);
    let cookie = admission.cookie(Instant::ZERO, from, &init, [1, 2]);
    let Some(Datagram::Cookie { sealed, .. }) = parse(security, &cookie) else {
        panic!("a cookie")
    };
    let opened = waiting.open_cookie(&sealed).expect("ours");
    let proven = waiting.datagram(Some(&opened));

    let asked = Responder::new(security, b.clone());
    let own = Ephemeral::from_bytes(answers_with);
    let read = asked.read_request(init.sender, init.noise, own).expect("authentic");
    let (mut theirs, answer) = read.answer(Index::new(6), &epochs[1].to_be_bytes());
    let Some(Datagram::Response { sender, noise, .. }) = parse(security, &answer) else {
        panic!("an answer")
    };
    let (mut ours, _) = waiting.finish(sender, noise).expect("authentic");
    let data = |traffic: &mut Traffic, plain: &[u8]| {
        let mut out = BytesMut::zeroed(FRONT);
        out.extend_from_slice(plain);
        traffic.seal(&mut out, 0);
        out.to_vec()
    };
    let public = [&a, &b].map(|key| key.public().as_bytes().to_vec());
    let [a, b] = public;
    vec![
        ("initiator static secret", initiator.to_vec()),
        ("initiator static public", a),
        ("initiator ephemeral secret", ephemeral.to_vec()),
        ("responder static secret", responder.to_vec()),
        ("responder static public", b),
        ("responder ephemeral secret", answers_with.to_vec()),
        ("request: time, then the epoch", [time.to_be_bytes(), payload].concat()),
        ("request, index 000005, without a cookie", request.clone()),
        ("cookie datagram, nonce of two counters", cookie.clone()),
        ("cookie, opened", opened.to_vec()),
        ("request with the proof of that cookie", proven),
        ("answer, index 000006, epoch 9", answer.clone()),
        ("first datagram of the initiator, empty", data(&mut ours, b"")),
        ("second datagram of the initiator, `hello`", data(&mut ours, b"hello")),
        ("first datagram of the responder, `welcome`", data(&mut theirs, b"welcome")),
    ]
}

fn text() -> String {
    let mut text = String::new();
    for (title, security) in [("encrypted", Security::Full), ("readable", Security::None)] {
        text.push_str(&format!("# {title}\n\n"));
        for (what, bytes) in vectors(security) {
            text.push_str(&format!("{what}:\n{}\n\n", hex(&bytes)));
        }
    }
    text
}

#[test]
fn hosts_say_what_the_vectors_say() {
    let text = text();
    if std::env::var_os("BENTPIPE_BLESS").is_some() {
        std::fs::write(FILE, &text).expect("written");
    }
    let kept = std::fs::read_to_string(FILE).expect("the vectors");
    assert!(text == kept, "BENTPIPE_BLESS=1 writes docs/protocols/association-vectors.txt anew");
}
