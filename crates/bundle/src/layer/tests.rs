//! All convergence layers, between two ends in memory and with peers that say anything.

use proptest::prelude::*;

use super::mtcp::Mtcp;
use super::tcpcl::Tcpcl;
use super::xstp::Xstp;
use super::*;
use bentpipe_units::Span;

const LARGEST: u64 = 200_000;

fn hello(node: &str) -> Hello {
    Hello { node: node.to_owned(), largest: LARGEST }
}

/// Both ends of each layer, the one that sends first.
fn pairs() -> Vec<(&'static str, [Box<dyn Session>; 2])> {
    let (one, other) = (hello("dtn://a/"), hello("dtn://b/"));
    vec![
        ("mtcp", [Box::new(Mtcp::sender()), Box::new(Mtcp::receiver(LARGEST))]),
        ("xstp", [Box::new(Xstp::new(&one)), Box::new(Xstp::new(&other))]),
        ("tcpcl", [Box::new(Tcpcl::active(one.clone())), Box::new(Tcpcl::passive(other.clone()))]),
        ("tcpcl, back", [Box::new(Tcpcl::passive(one)), Box::new(Tcpcl::active(other))]),
    ]
}

fn id(number: usize) -> BundleId {
    BundleId::named(format!("5-{number}@dtn://a/x"))
}

/// What came to the second end, what was answered to the first, and whom both said they are.
type Talk = (Vec<Bytes>, Vec<(BundleId, Answer)>, Vec<String>);

/// Lets two ends talk, in pieces of so many bytes, until neither has anything to say. What comes to the second is answered
/// as `answers` says.
fn talk(
    ends: &mut [Box<dyn Session>; 2],
    piece: usize,
    answers: &dyn Fn(usize) -> (BundleId, Answer),
) -> Result<Talk, ProtocolError> {
    let now = Instant::ZERO;
    let (mut came, mut said, mut peers) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let mut is_idle = true;
        for from in 0..2 {
            while let Some(bytes) = ends[from].next_output(now) {
                is_idle = false;
                for bytes in bytes.chunks(piece) {
                    ends[1 - from].handle_input(now, bytes)?;
                }
            }
            while let Some(event) = ends[from].next_event() {
                is_idle = false;
                match event {
                    Event::Peer(peer) => peers.push(peer),
                    Event::Bundle(bundle) => {
                        let (id, answer) = answers(came.len());
                        ends[from].answer(Some(&id), answer);
                        came.push(bundle);
                    }
                    Event::Answer(id, answer) => said.push((id, answer)),
                }
            }
        }
        if is_idle {
            return Ok((came, said, peers));
        }
    }
}

#[test]
fn bundles_come_whole_and_in_order_and_are_answered() {
    let sizes = [0, 1, 23, 24, 255, 256, 65_535, 65_536, 65_537, 150_000];
    let answer = |n: usize| match n % 3 {
        0 => Answer::Accepted,
        1 => Answer::Later,
        _ => Answer::Never,
    };
    for (name, mut ends) in pairs() {
        for piece in [1, 7, 1000, 1 << 20] {
            let (mut sent, mut all, mut answered) = (0, Vec::new(), Vec::new());
            let mut got = Vec::new();
            while all.len() < sizes.len() {
                let (came, said, _) = talk(&mut ends, piece, &|_| (id(0), answer(0))).expect(name);
                assert!(came.is_empty() && said.is_empty());
                let most = ends[0].room().expect(name);
                let bundle = vec![sent as u8; sizes[sent]];
                assert!(bundle.len() as u64 <= most, "{name}");
                ends[0].send(id(sent), bundle.clone());
                all.push(bundle);
                let number = sent;
                let (came, said, _) =
                    talk(&mut ends, piece, &|_| (id(number), answer(number))).expect(name);
                got.extend(came.iter().map(|bytes| bytes.to_vec()));
                answered.extend(said);
                sent += 1;
            }
            assert_eq!(got, all, "{name}");
            let expected = |n| if name == "mtcp" { Answer::Accepted } else { answer(n) };
            let expected: Vec<_> = (0..sent).map(|n| (id(n), expected(n))).collect();
            assert_eq!(answered, expected, "{name}");
            assert!(!ends[0].is_waiting(), "{name}");
        }
    }
}

#[test]
fn an_answer_waits_until_somebody_says_what_became_of_the_bundle() {
    for (name, mut ends) in pairs().into_iter().skip(1) {
        let nothing = |_| unreachable!("no bundle was sent");
        let (_, _, peers) = talk(&mut ends, 100, &nothing).expect(name);
        let mut peers = peers;
        peers.sort();
        assert_eq!(peers, ["dtn://a/", "dtn://b/"], "{name}");
        ends[0].send(id(1), b"bundle".to_vec());
        while let Some(bytes) = ends[0].next_output(Instant::ZERO) {
            ends[1].handle_input(Instant::ZERO, &bytes).expect(name);
        }
        assert_eq!(ends[1].next_event(), Some(Event::Bundle(Bytes::from_static(b"bundle"))));
        assert_eq!(ends[1].next_output(Instant::ZERO), None, "{name}: it says so before it is so");
        assert!(!ends[1].wants_input() && ends[0].is_waiting(), "{name}");
        ends[1].answer(Some(&id(1)), Answer::Accepted);
        let (_, said, _) = talk(&mut ends, 100, &nothing).expect(name);
        assert_eq!(said, [(id(1), Answer::Accepted)], "{name}");
        ends[0].close();
        talk(&mut ends, 100, &nothing).expect(name);
        assert!(ends[0].is_closed(), "{name}");
    }
}

#[test]
fn one_that_is_too_large_is_not_kept() {
    let mut mtcp = Mtcp::receiver(1000);
    let error = mtcp.handle_input(Instant::ZERO, &[0x59, 0x03, 0xe9]).expect_err("too large");
    assert!(error.to_string().contains("1001 bytes, where 1000"), "{error}");
    let (mut ends, small) =
        (pairs().swap_remove(1).1, Hello { largest: 1000, ..hello("dtn://b/") });
    ends[1] = Box::new(Xstp::new(&small));
    let nothing = |_| unreachable!("no bundle was sent");
    talk(&mut ends, 10, &nothing).expect("hellos");
    assert_eq!(ends[0].room(), Some(1000));
    ends[0].send(id(0), vec![0; 1001]);
    assert!(talk(&mut ends, 10, &nothing).is_err());
    // TCPCL can say which one, and goes on.
    let mut ends: [Box<dyn Session>; 2] =
        [Box::new(Tcpcl::active(hello("dtn://a/"))), Box::new(Tcpcl::passive(small))];
    talk(&mut ends, 10, &nothing).expect("hellos");
    assert_eq!(ends[0].room(), Some(1000));
    ends[0].send(id(0), vec![0; 70_000]);
    ends[0].send(id(1), vec![1; 10]);
    let (came, said, _) = talk(&mut ends, 10, &|_| (id(1), Answer::Accepted)).expect("goes on");
    assert_eq!(came, [vec![1; 10]]);
    assert_eq!(said, [(id(0), Answer::Never), (id(1), Answer::Accepted)]);
}

#[test]
fn tcpcl_says_something_before_it_is_taken_for_dead_and_takes_the_silent_for_dead() {
    let mut ends = pairs().swap_remove(2).1;
    talk(&mut ends, 10, &|_| unreachable!("no bundle was sent")).expect("hellos");
    let at = ends[0].next_deadline().expect("a keepalive");
    assert_eq!(at, Instant::ZERO + Span::from_secs(30));
    ends[0].handle_timeout(at).expect("time for a keepalive");
    let said = ends[0].next_output(at).expect("a keepalive");
    assert_eq!(&said[..], [4]);
    ends[1].handle_input(at, &said).expect("understood");
    let late = Instant::ZERO + Span::from_secs(60);
    assert!(ends[0].handle_timeout(late).is_err());
    assert!(ends[1].handle_timeout(late).is_ok());
}

#[test]
fn answers_that_answer_nothing_are_no_custody() {
    let hello = [0x83, 0x01, 0x61, b'b', 0x18, 0x64];
    for wrong in [
        // For a bundle that was not sent, for another one, with another name, without a name, of another kind.
        &[0x83, 0x00, 0x01, 0x61, b'x'][..],
        &[0x83, 0x00, 0x00, 0x61, b'x'],
        &[0x83, 0x00, 0x00, 0x60],
        &[0x83, 0x03, 0x00, 0x60],
        &[0x82, 0x00, 0x00],
    ] {
        let mut end = Xstp::new(&self::hello("dtn://a/"));
        end.handle_input(Instant::ZERO, &hello).expect("a hello");
        end.send(id(0), b"bundle".to_vec());
        assert!(end.handle_input(Instant::ZERO, wrong).is_err(), "{wrong:02x?}");
        assert!(end.is_waiting());
        assert_eq!(end.next_event(), Some(Event::Peer("b".to_owned())));
        assert_eq!(end.next_event(), None);
    }
}

/// A valid beginning of each layer, as the peer of the first end says it.
fn beginning(ends: &mut [Box<dyn Session>; 2]) -> Result<(), ProtocolError> {
    talk(ends, 1 << 16, &|_| (id(0), Answer::Accepted)).map(drop)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whatever_a_peer_says_no_session_breaks(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..8),
        begins: bool,
    ) {
        for (_, mut ends) in pairs() {
            if begins {
                beginning(&mut ends)?;
                if ends[0].room().is_some() {
                    ends[0].send(id(0), vec![1; 100]);
                }
            }
            for end in &mut ends {
                for piece in &pieces {
                    if end.handle_input(Instant::ZERO, piece).is_err() {
                        break;
                    }
                    while let Some(event) = end.next_event() {
                        if matches!(event, Event::Bundle(_)) {
                            end.answer(None, Answer::Never);
                        }
                        // Nobody has custody of what was not even written.
                        prop_assert!(!matches!(event, Event::Answer(_, Answer::Accepted)));
                    }
                }
            }
        }
    }

    #[test]
    fn whatever_becomes_of_a_stream_what_is_answered_was_sent(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        sizes in prop::collection::vec(0usize..300, 1..5),
    ) {
        for (_, mut ends) in pairs() {
            beginning(&mut ends)?;
            let mut stream = Vec::new();
            for (n, size) in sizes.iter().enumerate() {
                if ends[0].room().is_some() {
                    ends[0].send(id(n), vec![n as u8; *size]);
                    while let Some(bytes) = ends[0].next_output(Instant::ZERO) {
                        stream.extend_from_slice(&bytes);
                    }
                }
            }
            for (at, value) in &changes {
                let at = at.index(stream.len());
                stream[at] = *value;
            }
            let mut came = 0;
            for piece in stream.chunks(50) {
                if ends[1].handle_input(Instant::ZERO, piece).is_err() {
                    break;
                }
                while let Some(event) = ends[1].next_event() {
                    if let Event::Bundle(bytes) = event {
                        came += 1;
                        prop_assert!(bytes.len() as u64 <= LARGEST);
                        ends[1].answer(Some(&id(0)), Answer::Accepted);
                    }
                }
            }
            prop_assert!(came <= stream.len());
            if changes.is_empty() {
                prop_assert_eq!(came, sizes.len());
            }
        }
    }
}
