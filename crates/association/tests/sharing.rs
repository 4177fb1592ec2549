//! Connections of one association over a link whose rate nobody knows, in memory: they share one window.

mod world;

use std::task::{Context, Poll, Waker};

use bentpipe_association::Tuning;
use bentpipe_association::endpoint::{ConnectionId, Route, Streams as _};
use bentpipe_testkit::pattern;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bytes::Bytes;
use proptest::prelude::*;

use world::{CLIENT, SERVER, World, address, secs};

/// 10 Mbit/s, 300 ms each direction and a queue of one bandwidth-delay product.
const RATE: BitRate = BitRate::from_bps(10_000_000);
const DELAY: Span = Span::from_millis(300);
const QUEUE: ByteCount = ByteCount::new(750_000);
/// Headers of IPv4 and UDP.
const HEADERS: u64 = 28;

/// How noise treats a datagram: lost, or later by so much.
type Noise = Box<dyn FnMut() -> Option<Span>>;

/// Something that looks like chance and is the same every time.
fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed | 1;
    move |sides| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % sides
    }
}

/// Noise that takes one datagram in so many; none for 0.
fn noise(one_in: u64) -> Noise {
    let mut draw = dice(7);
    Box::new(move || (one_in == 0 || draw(one_in) > 0).then_some(Span::ZERO))
}

/// Two hosts with that link between them.
fn world(mut noise: Noise) -> World {
    let mut free = [Instant::ZERO; 2];
    let over = move |route: Route, len: usize, now: Instant| {
        let to = usize::from(route.address == address(SERVER));
        let bytes = ByteCount::new(len as u64 + HEADERS);
        if RATE.bytes_in(free[to].since(now)) + bytes > QUEUE {
            return None;
        }
        let late = noise()?;
        free[to] = free[to].max(now) + RATE.time_for(bytes);
        Some(free[to].since(now) + DELAY + late)
    };
    let tuning = Tuning { initial_burst: 4, ..Tuning::default() };
    let mut world = World::new().with_config(tuning.config().expect("settings"));
    world.over = Some(Box::new(over));
    world
}

/// What the server sends over one connection that the client opened.
struct Download {
    near: ConnectionId,
    far: Option<ConnectionId>,
    data: Bytes,
    left: Bytes,
    arrived: usize,
    /// When the last byte came.
    ended: Option<Instant>,
    closed: bool,
}

impl Download {
    /// Writes what the connection takes.
    fn write(&mut self, world: &mut World, cx: &Context<'_>) {
        let (Some(far), endpoint) = (self.far, &mut world.endpoints[SERVER]) else { return };
        while !self.left.is_empty() {
            let Poll::Ready(result) = endpoint.poll_write(world.now, far, &mut self.left, cx)
            else {
                return;
            };
            result.expect("an open connection");
            if self.left.is_empty() {
                endpoint.release(world.now, far);
            }
        }
    }

    /// Reads what has come, and checks it.
    fn read(&mut self, world: &mut World, cx: &Context<'_>) {
        let endpoint = &mut world.endpoints[CLIENT];
        if self.closed {
            return;
        }
        while let Poll::Ready(read) = endpoint.poll_read(world.now, self.near, cx) {
            let Some(bytes) = read.expect("an open connection") else {
                assert_eq!(self.arrived, self.data.len(), "the end came too early");
                self.closed = true;
                return endpoint.release(world.now, self.near);
            };
            assert!(self.data[self.arrived..].starts_with(&bytes), "other bytes than were sent");
            self.arrived += bytes.len();
            if self.arrived == self.data.len() {
                self.ended = Some(world.now);
            }
        }
    }
}

struct Downloads {
    world: World,
    all: Vec<Download>,
}

impl Downloads {
    fn new(noise: Noise) -> Self {
        Self { world: world(noise), all: Vec::new() }
    }

    /// One more, of so many bytes. Returns its number.
    fn begin(&mut self, bytes: usize) -> usize {
        let near = self.world.connect();
        let data = pattern(bytes);
        let left = data.clone();
        self.all.push(Download {
            near,
            far: None,
            data,
            left,
            arrived: 0,
            ended: None,
            closed: false,
        });
        self.all.len() - 1
    }

    /// Lets the applications do what they can.
    fn serve(&mut self) {
        let cx = &Context::from_waker(Waker::noop());
        let (world, all) = (&mut self.world, &mut self.all);
        while let Poll::Ready(far) = world.endpoints[SERVER].poll_accept(cx) {
            // All are as good: which one it is shows in the bytes only, and those begin alike.
            let next = all.iter_mut().find(|download| download.far.is_none());
            next.expect("a download").far = Some(far);
        }
        for download in all {
            download.write(world, cx);
            download.read(world, cx);
        }
    }

    fn run(&mut self, span: Span) {
        let until = self.world.now + span;
        self.serve();
        while self.world.step(until) {
            self.serve();
        }
    }

    /// Runs until all bytes of this one have come, and says how long that took.
    fn until_end_of(&mut self, download: usize) -> Span {
        let began = self.world.now;
        self.serve();
        while self.all[download].ended.is_none() {
            assert!(self.world.step(began + secs(3_600)), "not over after an hour");
            self.serve();
        }
        self.world.now.since(began)
    }

    /// Bytes that each of them brings in this time.
    fn brings(&mut self, span: Span) -> Vec<usize> {
        let before: Vec<_> = self.all.iter().map(|download| download.arrived).collect();
        self.run(span);
        self.all.iter().zip(before).map(|(download, before)| download.arrived - before).collect()
    }
}

#[test]
fn one_download_soon_fills_the_link() {
    for one_in in [0, 1_000, 100] {
        let mut downloads = Downloads::new(noise(one_in));
        let only = downloads.begin(30_000_000);
        let took = downloads.until_end_of(only);
        // The bytes alone take 24 s, handshakes and slow start the rest.
        assert!(took < secs(32), "{one_in}: {took:?}");
    }
}

#[test]
fn what_one_connection_found_out_the_next_one_knows() {
    let mut downloads = Downloads::new(noise(0));
    let first = downloads.begin(100_000);
    // The handshake of the hosts, and slow start.
    assert!(downloads.until_end_of(first) > secs(2));
    let bulk = downloads.begin(10_000_000);
    downloads.until_end_of(bulk);
    downloads.run(secs(5));
    let next = downloads.begin(100_000);
    let took = downloads.until_end_of(next);
    assert!(took < Span::from_millis(720), "one round trip and 80 ms: {took:?}");
}

#[test]
fn eight_downloads_share_alike_and_one_that_comes_later_has_its_part_soon() {
    let mut downloads = Downloads::new(noise(1_000));
    for _ in 0..7 {
        downloads.begin(100_000_000);
    }
    downloads.run(secs(30));
    downloads.begin(100_000_000);
    downloads.run(secs(5));
    let bytes = downloads.brings(secs(40));
    let mean = bytes.iter().sum::<usize>() as f64 / 8.0;
    assert!(mean * 8.0 > 0.9 * 50e6, "nine tenths of the link: {bytes:?}");
    for part in &bytes {
        assert!((*part as f64 / mean - 1.0).abs() < 0.1, "{bytes:?}");
    }
}

#[test]
fn an_object_of_100_kb_beside_eight_downloads_takes_a_second_and_a_half() {
    for one_in in [0, 1_000, 100] {
        let mut downloads = Downloads::new(noise(one_in));
        for _ in 0..8 {
            downloads.begin(100_000_000);
        }
        let mut times: Vec<_> = (0..11)
            .map(|_| {
                downloads.run(secs(7));
                let object = downloads.begin(100_000);
                downloads.until_end_of(object)
            })
            .collect();
        times.sort_unstable();
        assert!(times[5] < Span::from_millis(1_500), "{one_in}: {times:?}");
    }
}

#[test]
fn who_reads_slowly_leaves_the_link_to_the_others() {
    let mut downloads = Downloads::new(noise(0));
    let slow = downloads.begin(100_000_000);
    downloads.run(secs(5));
    // From now on it reads nothing, and the buffers fill.
    downloads.all[slow].closed = true;
    downloads.run(secs(60));
    let quick = downloads.begin(100_000_000);
    downloads.run(secs(20));
    let bytes = downloads.brings(secs(20));
    assert!(bytes[quick] as f64 > 0.9 * 25e6, "{bytes:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_is_read_is_what_was_written_whatever_the_link_does(
        seed in any::<u64>(),
        lost in 0u64..20,
        late in 0u64..10,
        sizes in prop::collection::vec(1usize..400_000, 1..6),
        apart in 0u64..2_000,
    ) {
        let mut draw = dice(seed);
        let mut downloads = Downloads::new(Box::new(move || {
            if draw(100) < lost {
                None
            } else if draw(100) < late {
                Some(Span::from_millis(draw(200)))
            } else {
                Some(Span::ZERO)
            }
        }));
        for size in sizes {
            let all: Vec<_> = (0..3).map(|_| downloads.begin(size)).collect();
            downloads.run(Span::from_millis(apart));
            for download in all {
                downloads.until_end_of(download);
            }
        }
        downloads.run(secs(3_600));
        prop_assert_eq!(downloads.world.endpoints[CLIENT].connections(), 0);
        prop_assert_eq!(downloads.world.endpoints[SERVER].connections(), 0);
    }
}
