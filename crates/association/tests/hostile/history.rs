//! What a peer with a valid key does, as bytes.
#![allow(dead_code, reason = "the fuzzer has no seeds")]

use bentpipe_association::endpoint::Streams as _;
use bentpipe_units::Span;
use bentpipe_wire::Ecn;

use crate::peer::{begin, data};
use crate::stage::{LIMIT, Stage, hostile};

/// Does what the input says beside an honest transfer. The first byte says whether the transfer is waited for; each
/// step begins with what it is, and three bytes more.
///
/// # Panics
///
/// If the peer makes the endpoint hold more than its share, or the honest transfer does not arrive whole.
pub(crate) fn hostile_history(input: &[u8]) {
    let mut stage = Stage::new();
    let Some((waits, mut input)) = input.split_first() else { return };
    while let Some(([what, a, b, c], rest)) = input.split_first_chunk() {
        input = step(&mut stage, *what, [*a, *b, *c], rest);
        assert!(stage.endpoint.held(hostile()) <= LIMIT);
    }
    if waits % 16 == 0 {
        stage.check();
    }
}

/// One step; returns what it leaves of the input.
fn step<'a>(stage: &mut Stage, what: u8, [a, b, c]: [u8; 3], rest: &'a [u8]) -> &'a [u8] {
    let number = u32::from(a);
    match what % 10 {
        // Anything: a message about the association, or a segment.
        0..=3 => {
            let (said, rest) = rest.split_at(usize::from(c % 64).min(rest.len()));
            let front = if what % 10 < 2 { [0, a % 17] } else { [a & 0x7f, b] };
            stage.say(&[&front[..], said].concat());
            return rest;
        }
        4 => stage.say(&begin(number, u16::from_be_bytes([b, c]))),
        5 => stage.say(&data(number, u32::from_be_bytes([0, 0, b, c]), b"payload")),
        6 => {
            let unit = [1, 20, 300, 2_000][usize::from(b % 4)];
            stage.run(Span::from_millis(u64::from(a % 32) * unit));
        }
        7 => {
            if b % 2 == 1 {
                stage.hostile.restart();
            }
            stage.run(Span::from_millis(1));
            stage.hostile.associate(&mut stage.endpoint, stage.now);
        }
        8 => {
            let (early, rest) = rest.split_at(usize::from(c % 64).min(rest.len()));
            let (_, request) = stage.hostile.request(early);
            let from = stage.hostile.address;
            stage.endpoint.handle_datagram(stage.now, from, Ecn::NotCapable, &request);
            return rest;
        }
        _ => {
            stage.hostile.address = std::net::SocketAddr::from(([10, 0, 0, a.max(9)], 25_300));
            if let Some(id) = stage.held.pop().filter(|_| b % 2 == 1) {
                stage.endpoint.release(stage.now, id);
            }
        }
    }
    rest
}

/// Connections, parity, marks, probes and requests.
pub(crate) fn hostile_seeds() -> Vec<Vec<u8>> {
    let parity: &[u8] =
        &[0, 9, 0, 22, 0, 9, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9, 1, 2, 3, 4, 5, 6];
    vec![
        [&[0][..], &[4, 2, 4, 0], &[5, 2, 255, 220], &[6, 9, 2, 0], &[9, 9, 1, 0]].concat(),
        [&[0][..], parity, &[6, 3, 1, 0], &[0, 3, 0, 4, 0, 0, 9, 9]].concat(),
        [&[1][..], &[0, 10, 0, 9, 3, 1, 128, 0, 0, 0, 2, 13, 1], &[6, 9, 2, 0]].concat(),
        [&[0][..], &[8, 0, 0, 3, 0, 1, 7], &[7, 0, 1, 0], &[4, 2, 0, 0], &[0, 13, 0, 0]].concat(),
        [&[1][..], &[2, 2, 16, 9, 0, 0, 0, 1, 0, 0, 0, 2, 3], &[6, 30, 3, 0]].concat(),
    ]
}
