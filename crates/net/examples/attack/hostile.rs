//! What a hostile peer says.

#[path = "../../../association/tests/hostile/peer.rs"]
mod peer;

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus as Random;

use crate::Attack;
use crate::association::Association;
use peer::{begin, data};

/// Connections that an attack uses where it opens few.
const FEW: u32 = 100;
/// Numbers of messages about the association.
const MESSAGES: u8 = 17;

/// The `n`-th datagram of an attack.
pub(crate) fn datagram(
    attack: Attack,
    association: &mut Association,
    n: u64,
    random: &mut Random,
) -> Vec<u8> {
    let turn = n as u32;
    let one = association.number(turn % FEW);
    let plain = match attack {
        Attack::Requests => return association.request(),
        Attack::Connections => {
            let number = association.number(turn / 2 % 1_000_000);
            if n.is_multiple_of(2) { begin(number, 536) } else { data(number, 9_000, b"ahead") }
        }
        Attack::Far => {
            if turn < FEW {
                begin(one, 1_200)
            } else {
                data(one, turn.wrapping_mul(97) % 60_000, &[7; 1_000])
            }
        }
        Attack::Questions => match n % 4 {
            0 => [&[0, 10, (n % 8) as u8, 0][..], &turn.to_be_bytes(), &[0, 1]].concat(),
            1 => [&[0, 14][..], &n.to_be_bytes()].concat(),
            2 => [&[0, 3][..], &turn.to_be_bytes()].concat(),
            _ => [&[0, 4][..], &[0; 1_000]].concat(),
        },
        Attack::Parity => {
            let front = [0, 9, 0, 200, 0, 100, (n % 100) as u8, (n % 7) as u8, 4];
            let shards: [u8; 1_000] = random.random();
            [&front[..], &n.to_be_bytes(), &shards].concat()
        }
        _ => {
            let mut rest = vec![0; random.random_range(0..1_200)];
            random.fill(&mut rest[..]);
            let front = match random.random_range(0..3) {
                0 => vec![0, random.random_range(0..MESSAGES)],
                1 => vec![random.random_range(0..128), random.random()],
                _ => begin(one, random.random_range(0..1_500)),
            };
            [front, rest].concat()
        }
    };
    association.seal(&plain)
}
