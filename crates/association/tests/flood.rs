//! A million datagrams of garbage in the middle of a transfer.

mod world;

use std::net::SocketAddr;
use std::task::{Context, Poll, Waker};

use bentpipe_association::Tuning;
use bentpipe_association::endpoint::Streams as _;
use bentpipe_testkit::pattern;
use bentpipe_units::{BitRate, Instant, Span};
use bentpipe_wire::Ecn;

use world::{CLIENT, SERVER, World, address, associated, secs};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// The flood comes in waves: each in no time, ten milliseconds apart.
const WAVES: u64 = 1_000;
const WAVE: u64 = 1_000;
/// Bytes by which the flood may move the peak of what is in use: lists double.
const SLACK: usize = 65_536;

/// A stream of random numbers (Marsaglia, Xorshift RNGs).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Makes garbage out of nothing and out of what was once sent.
struct Garbage {
    draw: Draw,
    captured: Vec<(usize, Vec<u8>)>,
    made: Vec<u8>,
}

impl Garbage {
    /// The next piece and where it comes from.
    fn make(&mut self) -> (SocketAddr, &[u8]) {
        let Self { draw, captured, made } = self;
        made.clear();
        let from = if draw.below(2) == 0 { address(CLIENT) } else { address(50 + draw.below(9)) };
        let how = draw.below(6);
        if how == 0 {
            // Noise, half of it with a known kind.
            let len = draw.below(1500);
            made.resize_with(len, || draw.next() as u8);
            if let Some(kind) = made.first_mut().filter(|kind| **kind > 127) {
                *kind %= 6;
            }
            return (from, made);
        }
        made.extend_from_slice(&captured[draw.below(captured.len())].1);
        match how {
            // As it was.
            1 => {}
            2 => made.truncate(draw.below(made.len())),
            3 => made.resize(made.len() + 1 + draw.below(100), 0x5a),
            // Another packet number, so that it seems new.
            4 if made.len() > 7 => {
                made[4..7].fill_with(|| draw.next() as u8);
            }
            _ => {
                for _ in 0..=draw.below(4) {
                    let at = draw.below(made.len());
                    made[at] ^= 1 << draw.below(8);
                }
            }
        }
        (from, made)
    }
}

/// What a transfer came to.
struct Run {
    intact: bool,
    last: Instant,
    peak: usize,
    connections: [usize; 2],
}

/// A transfer of 13 s, with so much garbage for both ends in each hundredth of the first ten.
fn transfer(wave: u64) -> Run {
    let tuning = Tuning { rate: Some(BitRate::from_bps(5_000_000)), ..Tuning::default() };
    let mut world: World = associated().with_config(tuning.config().expect("settings"));
    let captured = std::mem::take(&mut world.sent);
    let made = Vec::with_capacity(2_000);
    let mut garbage = Garbage { draw: Draw(0x9e37_79b9_7f4a_7c15), captured, made };
    let data = pattern(8_000_000);

    let _profiler = dhat::Profiler::builder().testing().build();
    let connection = world.connect();
    let mut left = data.clone();
    let cx = &mut Context::from_waker(Waker::noop());
    for _ in 0..WAVES {
        let _ = world.endpoints[CLIENT].poll_write(world.now, connection, &mut left, cx);
        for n in 0..wave {
            let to = if n % 4 == 0 { CLIENT } else { SERVER };
            let (from, bytes) = garbage.make();
            world.endpoints[to].handle_datagram(world.now, from, Ecn::NotCapable, bytes);
        }
        world.run(Span::from_millis(10));
        world.sent.clear();
    }
    assert!(
        world.endpoints[CLIENT].unsent(connection) > 0,
        "the flood is over before the transfer is"
    );
    assert_eq!(world.endpoints[CLIENT].poll_connected(connection, cx), Poll::Ready(Ok(())));
    let (read, last) = world.transfer(connection, &left, secs(60)).expect("a transfer");
    let peak = dhat::HeapStats::get().max_bytes;
    world.run(secs(60));
    let connections =
        world.endpoints.each_ref().map(bentpipe_association::endpoint::Endpoint::connections);
    Run { intact: read == data, last, peak, connections }
}

#[test]
fn a_million_datagrams_of_garbage_change_neither_the_transfer_nor_its_memory() {
    let (calm, flooded) = (transfer(0), transfer(WAVE));
    println!("peak {} bytes, in the flood {}", calm.peak, flooded.peak);
    assert!(calm.intact && flooded.intact);
    assert_eq!(flooded.last, calm.last, "the last byte comes when it would have come");
    assert!(flooded.peak <= calm.peak + SLACK, "{} to {} bytes", calm.peak, flooded.peak);
    assert_eq!((calm.connections, flooded.connections), ([0, 0], [0, 0]));
}
