//! A stream over links of different rates and delays: bytes are compared, and the time that they take.

mod world;

use bentpipe_bond::{Bond, Observed, Use};
use bentpipe_units::{ByteCount, Instant, Span};
use bytes::Bytes;

use self::world::{WINDOW, World};

/// Links of these megabits per second and milliseconds of delay, all alike.
fn even(links: &[(u64, u64)]) -> World {
    World::new(links, &vec![Use::Always; links.len()])
}

/// Of the sum of the rates, over so many bytes, the part that was used.
fn share(links: &[(u64, u64)], len: usize) -> f64 {
    let (took, _) = even(links).carry(len, Span::ZERO, |_| ());
    let sum: u64 = links.iter().map(|(mbit, _)| mbit).sum();
    len as f64 * 8.0 / took.as_secs_f64() / (sum as f64 * 1e6)
}

#[test]
fn links_of_about_one_delay_give_the_sum_of_their_rates() {
    let share = share(&[(20, 25), (10, 30)], 30_000_000);
    assert!(share > 0.97, "{share:.3}");
}

#[test]
fn links_of_very_different_delays_do_too() {
    let share = share(&[(20, 25), (10, 300)], 30_000_000);
    assert!(share > 0.95, "{share:.3}");
}

#[test]
fn four_links_give_the_sum_of_their_rates() {
    let share = share(&[(20, 25), (10, 300), (5, 40), (50, 15)], 60_000_000);
    assert!(share > 0.95, "{share:.3}");
}

#[test]
fn a_short_object_takes_the_near_link_alone() {
    let (took, _) = even(&[(20, 25), (10, 300)]).carry(100_000, Span::ZERO, |_| ());
    let alone = even(&[(20, 25)]).carry(100_000, Span::ZERO, |_| ()).0;
    assert!(took <= alone.mul_f64(1.1), "{took:?}, alone {alone:?}");
}

#[test]
fn a_link_that_is_cut_for_ever_costs_no_byte_and_no_long_pause() {
    for cut in 0..2 {
        let mut world = even(&[(20, 25), (10, 300)]);
        let (_, pause) = world.carry(20_000_000, Span::from_secs(3), |world| {
            for end in 0..2 {
                world.connections[end][cut].is_cut = true;
            }
        });
        assert!(pause < Span::from_millis(1_000), "{pause:?} where link {cut} is cut");
    }
}

#[test]
fn what_a_connection_left_that_is_gone_goes_by_the_other_one() {
    let mut world = even(&[(20, 25), (10, 300)]);
    world.carry(20_000_000, Span::from_secs(3), |world| {
        for end in 0..2 {
            world.bonds[end].leave(0);
            world.connections[end][0].is_cut = true;
        }
    });
}

#[test]
fn what_a_connection_took_that_the_peer_did_not_want_goes_by_another_one() {
    let [mut here, mut there] = [Bond::new(WINDOW), Bond::new(WINDOW)];
    here.join(0, Use::Always);
    there.join(0, Use::Always);
    // A nearer link, which the peer closes without a look.
    here.open(1, Use::Always);
    let near = Observed { round_trip: Some(Span::from_millis(1)), ..Observed::default() };
    here.observe(Instant::ZERO, 1, near);
    here.write(Bytes::from_static(b"a stream"));
    while let Some(sent) = here.poll_transmit(Instant::ZERO) {
        if sent.member == 0 {
            sent.bytes.into_iter().for_each(|bytes| there.handle_bytes(0, bytes).expect("frames"));
        }
    }
    assert_eq!(there.read(), None);
    // Its host has acknowledged everything.
    here.observe(Instant::ZERO, 1, near);
    assert!(!here.is_delivered());
    here.leave(1);
    while let Some(sent) = here.poll_transmit(Instant::ZERO) {
        sent.bytes.into_iter().for_each(|bytes| there.handle_bytes(0, bytes).expect("frames"));
    }
    assert_eq!(there.read().as_deref(), Some(&b"a stream"[..]));
}

/// Hands over all that `from` writes to connections other than `but`; gives the connections used.
fn hand_over(from: &mut Bond, to: &mut Bond, now: Instant, but: Option<usize>) -> Vec<usize> {
    let mut used = Vec::new();
    while let Some(sent) = from.poll_transmit(now) {
        used.push(sent.member);
        if Some(sent.member) != but {
            sent.bytes
                .into_iter()
                .for_each(|bytes| to.handle_bytes(sent.member, bytes).expect("frames"));
        }
    }
    used
}

#[test]
fn a_status_goes_by_no_connection_that_the_peer_may_not_want() {
    let now = Instant::ZERO;
    let [mut here, mut there] = [Bond::new(WINDOW), Bond::new(WINDOW)];
    here.join(0, Use::Always);
    there.join(0, Use::Always);
    let far = Observed { round_trip: Some(Span::from_millis(600)), ..Observed::default() };
    here.observe(now, 0, far);
    there.observe(now, 0, far);
    hand_over(&mut here, &mut there, now, None);
    // As much as may be sent at first.
    there.write(vec![7; 3_000_000].into());
    for _ in 0..100 {
        there.observe(now, 0, far);
        hand_over(&mut there, &mut here, now, None);
    }
    let mut read = 0;
    // `here` has opened a nearer one; the peer has no memory for it and closes it.
    here.open(1, Use::Always);
    here.observe(
        now,
        1,
        Observed { round_trip: Some(Span::from_millis(30)), ..Observed::default() },
    );
    while let Some(bytes) = here.read() {
        read += bytes.len();
    }
    let used = hand_over(&mut here, &mut there, now, Some(1));
    assert!(!used.is_empty() && !used.contains(&1), "the peer may not want it: {used:?}");
    here.leave(1);
    for second in 0..1_000 {
        let now = now + Span::from_secs(second);
        for bond in [&mut here, &mut there] {
            bond.set_room(WINDOW);
            bond.observe(now, 0, far);
        }
        hand_over(&mut here, &mut there, now, None);
        hand_over(&mut there, &mut here, now, None);
        while let Some(bytes) = here.read() {
            read += bytes.len();
        }
    }
    assert_eq!(read, 3_000_000, "pending at the sender: {}", there.pending());
}

#[test]
fn a_status_on_a_dead_link_is_told_again_when_the_other_one_comes_back() {
    let at = |millis| Instant::ZERO + Span::from_millis(millis);
    let [mut here, mut there] = [Bond::new(WINDOW), Bond::new(WINDOW)];
    let trip = |millis, in_flight| Observed {
        round_trip: Some(Span::from_millis(millis)),
        in_flight,
        ..Observed::default()
    };
    for bond in [&mut here, &mut there] {
        bond.join(0, Use::Always);
        bond.join(1, Use::Always);
        bond.observe(at(0), 0, trip(600, 0));
        bond.observe(at(0), 1, trip(30, 0));
    }
    hand_over(&mut here, &mut there, at(0), None);
    there.write(vec![7; 3_000_000].into());
    for _ in 0..100 {
        there.observe(at(0), 0, trip(600, 0));
        there.observe(at(0), 1, trip(30, 0));
        hand_over(&mut there, &mut here, at(0), None);
    }
    let mut read = 0;
    while let Some(bytes) = here.read() {
        read += bytes.len();
    }
    // The far link has an outage; then the near one fails for ever with the word on it.
    for millis in [0, 1_000, 2_000] {
        here.observe(at(millis), 0, trip(600, 100));
    }
    assert_eq!(hand_over(&mut here, &mut there, at(2_000), Some(1)), [1]);
    for millis in (2_000..60_000).step_by(100) {
        here.observe(at(millis), 0, trip(600, 100));
        here.observe(at(millis), 1, trip(30, 17));
        assert_eq!(hand_over(&mut here, &mut there, at(millis), Some(1)), []);
    }
    // The near one times out; the far one comes back.
    here.leave(1);
    there.leave(1);
    for second in 60..1_000 {
        let now = at(second * 1_000);
        for bond in [&mut here, &mut there] {
            bond.set_room(WINDOW);
            bond.observe(now, 0, trip(600, 0));
        }
        hand_over(&mut here, &mut there, now, None);
        hand_over(&mut there, &mut here, now, None);
        while let Some(bytes) = here.read() {
            read += bytes.len();
        }
    }
    assert_eq!(read, 3_000_000, "pending at the sender: {}", there.pending());
}

#[test]
fn honest_ends_may_write_in_small_pieces() {
    let mut world = even(&[(20, 25), (50, 25)]);
    world.bonds = [(); 2].map(|()| Bond::new(ByteCount::new(256 * 1024)));
    for bond in &mut world.bonds {
        bond.join(0, Use::Always);
        bond.join(1, Use::Always);
    }
    let mut written = 0;
    for step in 0..20_000 {
        if step == 1_000 {
            for end in 0..2 {
                world.connections[end][0].is_cut = true;
            }
        }
        // What a terminal or a logger writes: 10 bytes at a time.
        while world.bonds[0].pending() < 64_000 && written < 3_000_000 {
            world.bonds[0].write(Bytes::from_static(b"ten bytes."));
            written += 10;
        }
        world.step();
        while world.bonds[1].read().is_some() {}
    }
}

#[test]
fn what_a_peer_makes_the_host_keep_counts_as_held() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    struct Segment(Vec<u8>, Arc<AtomicUsize>);
    impl AsRef<[u8]> for Segment {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Segment {
        fn drop(&mut self) {
            self.1.fetch_sub(self.0.len(), Ordering::Relaxed);
        }
    }
    let live = Arc::new(AtomicUsize::new(0));
    let mut bond = Bond::new(WINDOW);
    bond.join(0, Use::Always);
    // Segments of 1,200 bytes: a chunk of one byte, and statuses that say nothing.
    for offset in 0..65_536u64 {
        let mut segment = vec![0];
        segment.extend_from_slice(&offset.to_be_bytes());
        segment.extend_from_slice(&1u32.to_be_bytes());
        segment.push(b'x');
        while segment.len() < 1_200 {
            segment.push(1);
            segment.extend_from_slice(&[0; 16]);
        }
        live.fetch_add(segment.len(), Ordering::Relaxed);
        let bytes = Bytes::from_owner(Segment(segment, Arc::clone(&live)));
        bond.handle_bytes(0, bytes).expect("frames");
    }
    let (live, held) = (live.load(Ordering::Relaxed), bond.held());
    assert!(live <= 2 * held, "{live} bytes are kept, {held} are counted");
}

#[test]
fn what_the_peer_wrote_to_a_connection_that_is_retired_counts_until_it_ends() {
    let mut world = even(&[(20, 25), (20, 25)]);
    let data: Vec<u8> = (0..400_000u32).map(|n| (n % 251) as u8).collect();
    world.bonds[0].write(data.clone().into());
    while world.connections[0][1].sent == 0 {
        world.step();
    }
    // The receiver wants that link no more. What is under way there is acknowledged all the same.
    world.bonds[1].retire(1);
    let mut read = Vec::new();
    for step in 0..4_000 {
        world.step();
        if step == 1_000 {
            world.bonds.iter_mut().for_each(|bond| bond.leave(1));
        }
        while let Some(bytes) = world.bonds[1].read() {
            read.extend_from_slice(&bytes);
        }
    }
    assert!(read == data, "{} bytes", read.len());
}

#[test]
fn what_a_peer_acknowledges_and_does_not_say_to_have_come_is_known() {
    let now = Instant::ZERO;
    let [mut here, mut there] = [Bond::new(WINDOW), Bond::new(WINDOW)];
    for bond in [&mut here, &mut there] {
        bond.join(0, Use::Always);
    }
    let seen = |in_flight| Observed {
        round_trip: Some(Span::from_millis(600)),
        cwnd: Some(WINDOW),
        in_flight,
        ..Observed::default()
    };
    here.write(vec![7; 60_000].into());
    here.observe(now, 0, seen(0));
    let mut sent = 0;
    while let Some(transmit) = here.poll_transmit(now) {
        sent += transmit.bytes.iter().map(Bytes::len).sum::<usize>();
        here.observe(now, 0, seen(sent));
    }
    assert!(here.untold() < 1_000, "it is on its way: {}", here.untold());
    // All but the last segment is acknowledged.
    here.observe(now, 0, seen(1_000));
    assert!(here.untold() > 50_000, "{}", here.untold());
}
