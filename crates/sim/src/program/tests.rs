//! Programs in virtual time, two of them on a wire that only delays.

mod bonded;
mod relay;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bentpipe_association::endpoint::PathMemory;
use bentpipe_association::host::{Runtime as _, lock};
use bentpipe_association::{Security, Tuning};
use bentpipe_units::{ByteCount, Span};
use bytes::Bytes;

use super::*;

const PORT: u16 = 7;
/// Bytes of an answer.
const ANSWER: usize = 4_000;
/// Time over the wire, one way.
const DELAY: Span = Span::from_millis(300);

fn key(number: usize) -> SecretKey {
    SecretKey::from_bytes([number as u8 + 1; 32])
}

fn address(number: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, number as u8 + 1], 25_300))
}

/// A client, number 0, and a server, number 1.
struct Two {
    now: Instant,
    programs: [Option<Program>; 2],
    wire: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    sent: u64,
}

impl Two {
    fn new(seed: u64) -> Self {
        let program = |number: usize| {
            let seed = seed + number as u64;
            let begins = Begins {
                key: key(number),
                calendar: 1,
                times: Times::default(),
                paths: PathMemory::default(),
                seed,
                security: Security::Full,
            };
            let program = Program::new(begins, Instant::ZERO);
            program.host().allow(key(1 - number).public());
            Some(program)
        };
        Self { now: Instant::ZERO, programs: [0, 1].map(program), wire: BTreeMap::new(), sent: 0 }
    }

    fn program(&self, number: usize) -> &Program {
        self.programs[number].as_ref().expect("a program that runs")
    }

    /// Lets everything happen up to a time.
    fn run(&mut self, until: Instant) {
        let mut out = Vec::new();
        loop {
            for (number, program) in self.programs.iter_mut().enumerate() {
                let Some(program) = program else { continue };
                program.run(self.now, &mut out);
                for datagram in out.drain(..) {
                    self.sent += 1;
                    self.wire.insert((self.now + DELAY, self.sent), (1 - number, datagram.bytes));
                }
            }
            let deadlines = self.programs.iter().flatten().filter_map(Program::next_deadline).min();
            let arrives = self.wire.keys().next().map(|(at, _)| *at);
            let next = Instant::earliest(deadlines, arrives).filter(|at| *at <= until);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            while let Some(first) = self.wire.first_entry().filter(|one| one.key().0 <= self.now) {
                let (to, bytes) = first.remove();
                if let Some(program) = &mut self.programs[to] {
                    let from = address(1 - to);
                    let _ = program.receive(self.now, from, Ecn::NotCapable, &bytes);
                }
            }
        }
        self.now = until;
    }
}

fn after(span: Span) -> Instant {
    Instant::ZERO + span
}

/// The client sends so many bytes and waits for the answer; the server answers after the first byte and reads on.
/// Returns when the answer had come.
fn answered(two: &mut Two, bytes: usize) -> Arc<Mutex<Option<Instant>>> {
    let server = two.program(1);
    server.host().listen(Tuning::default().config().expect("settings"));
    let (host, time) = (server.host().clone(), server.runtime().clone());
    server.spawn(async move {
        let connection = host.accept().await;
        // What comes meanwhile is not read.
        time.sleep(Span::from_secs(60)).await;
        connection.write_bytes(Bytes::from(vec![8; ANSWER])).await.expect("written");
        while let Ok(Some(_)) = connection.read_bytes().await {}
    });
    let done = Arc::<Mutex<Option<Instant>>>::default();
    let client = two.program(0);
    let (host, time, ends) = (client.host().clone(), client.runtime().clone(), done.clone());
    client.spawn(async move {
        let config = Tuning::default().config().expect("settings");
        let connection = host.connect(address(1), key(1).public(), PORT, config).await;
        let connection = connection.expect("connected");
        let reads = async {
            let mut left = ANSWER;
            while left > 0 {
                let Ok(Some(bytes)) = connection.read_bytes().await else { return };
                left -= bytes.len();
            }
            *lock(&ends) = Some(time.now());
        };
        let _ = tokio::join!(connection.write_bytes(Bytes::from(vec![7; bytes])), reads);
    });
    done
}

#[test]
fn a_server_whose_memory_is_full_of_what_came_can_answer_before_it_reads_on() {
    let mut two = Two::new(1);
    two.program(1).host().limit_memory(ByteCount::new(2_000_000), 16);
    let done = answered(&mut two, 3_000_000);
    two.run(after(Span::from_secs(59)));
    let held = two.program(1).host().shared().endpoint().held(key(0).public());
    assert!(held > ByteCount::new(800_000), "the memory is full: {held}");
    two.run(after(Span::from_secs(70)));
    let done = lock(&done).expect("an answer");
    // It waited 60 s after it had the connection, which took three times the delay.
    let due = after(Span::from_secs(60) + DELAY * 4);
    assert!(done >= due && done < due + DELAY, "{done}: not within one more delay of {due}");
}

#[test]
fn a_write_that_is_broken_off_counts_until_its_connection_keeps_nothing_or_is_dropped() {
    for drops in [false, true] {
        let mut two = Two::new(1);
        two.program(1).host().listen(Tuning::default().config().expect("settings"));
        let client = two.program(0);
        let (host, time) = (client.host().clone(), client.runtime().clone());
        let held = Arc::<Mutex<[u64; 2]>>::default();
        let seen = held.clone();
        client.spawn(async move {
            let config = Tuning::default().config().expect("settings");
            let connection = host.connect(address(1), key(1).public(), PORT, config).await;
            let connection = connection.expect("connected");
            let writes = connection.write_bytes(Bytes::from(vec![7; 100_000_000]));
            assert!(time.timeout(Span::from_secs(1), writes).await.is_none(), "it waits");
            let held = || host.shared().endpoint().held(key(1).public()).get();
            let before = held();
            if drops {
                drop(connection);
            } else {
                connection.keeps_nothing();
            }
            *lock(&seen) = [before, held()];
        });
        two.run(after(Span::from_secs(10)));
        let [before, now] = *lock(&held);
        assert!(before > 90_000_000 && now < 30_000_000, "{before} and {now}");
    }
}

#[test]
fn a_request_of_the_first_flight_is_answered_after_one_round_trip() {
    let mut two = Two::new(1);
    let server = two.program(1);
    server.host().listen(Tuning::default().config().expect("settings"));
    let host = server.host().clone();
    server.spawn(async move {
        for _ in 0..2 {
            let connection = host.accept().await;
            let _ = connection.read_bytes().await;
            connection.write_bytes(Bytes::from_static(b"an answer")).await.expect("written");
            let _ = connection.finish().await;
        }
    });
    let took = Arc::<Mutex<Vec<Span>>>::default();
    let client = two.program(0);
    let (host, time, ends) = (client.host().clone(), client.runtime().clone(), took.clone());
    client.spawn(async move {
        for _ in 0..2 {
            let began = time.now();
            let config = Tuning::default().config().expect("settings");
            let connection = host.open(address(1), key(1).public(), PORT, config);
            connection.write_bytes(Bytes::from_static(b"a request")).await.expect("written");
            assert!(connection.read_bytes().await.expect("read").is_some());
            lock(&ends).push(time.now().since(began));
            connection.finish().await.expect("finished");
        }
    });
    two.run(after(Span::from_secs(30)));
    let took = lock(&took).clone();
    // The first one waits for keys.
    assert_eq!(took, [DELAY * 4, DELAY * 2]);
}

#[test]
fn a_program_that_is_killed_says_nothing_more_and_the_other_one_notices() {
    let mut two = Two::new(1);
    let done = answered(&mut two, 10_000);
    two.run(after(Span::from_secs(5)));
    two.programs[0] = None;
    let sent = two.sent;
    two.run(after(Span::from_secs(400)));
    assert_eq!(*lock(&done), None);
    assert!(two.sent > sent, "the server answered and asked");
    assert_eq!(two.program(1).host().shared().endpoint().connections(), 0);
    assert_eq!(two.program(1).tasks(), 0);
}

#[test]
fn the_same_seed_is_the_same_history_and_another_one_is_not() {
    let history = |seed| {
        let mut two = Two::new(seed);
        answered(&mut two, 100_000);
        two.run(after(Span::from_secs(2)));
        two.wire
    };
    assert_eq!(history(1), history(1));
    assert_ne!(history(1), history(2));
}
