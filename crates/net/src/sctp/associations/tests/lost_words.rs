//! Changes of addresses of which a word is lost, and addresses that come and go meanwhile.

use super::*;

/// The world goes on for so long.
fn pass(world: &mut World, millis: u64) {
    let later = world.now + Span::from_millis(millis);
    world.run(|world| world.now >= later);
    world.now = world.now.max(later);
}

/// An association of hosts with so many addresses that has carried something.
fn in_use(networks: u8) -> (World, [ConnectionId; 2]) {
    let mut world = World::new(networks);
    let ids = world.opened();
    assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
    (world, ids)
}

/// Whether bytes get through in both directions.
fn works(world: &mut World, ids: [ConnectionId; 2]) -> bool {
    world.transfer([CLIENT, SERVER], ids, &data(100_000))
        && world.transfer([SERVER, CLIENT], ids, &data(100_000))
}

fn paths(world: &World, ids: [ConnectionId; 2]) -> Vec<IpAddr> {
    let paths = &world.endpoints[SERVER].connections[ids[SERVER].0].paths;
    paths.iter().map(Path::ip).collect()
}

#[test]
fn of_two_moves_the_first_of_which_nobody_heard_the_second_counts() {
    for first_is_dark in [true, false] {
        let (mut world, ids) = in_use(1);
        if first_is_dark {
            world.down = vec![1];
        }
        for [from, to] in [[0, 1], [1, 2]] {
            add(&mut world, to, false);
            remove(&mut world, from);
            pass(&mut world, 500);
        }
        pass(&mut world, 20_000);
        assert!(works(&mut world, ids), "{first_is_dark}");
        assert_eq!(paths(&world, ids), [at(2, CLIENT).ip()]);
    }
}

#[test]
fn an_interface_that_comes_back_hears_the_peer_when_the_other_one_goes() {
    let (mut world, ids) = in_use(2);
    pass(&mut world, 20_000);
    remove(&mut world, 0);
    pass(&mut world, 10_000);
    assert!(works(&mut world, ids));
    add(&mut world, 0, true);
    // The first word of it is lost.
    world.settle();
    world.in_flight.retain(|_, (_, _, from, _, _)| from.ip() != at(0, CLIENT).ip());
    pass(&mut world, 30_000);
    remove(&mut world, 1);
    assert!(works(&mut world, ids));
}

#[test]
fn a_retransmitted_asconf_is_known_although_its_first_copy_deleted_the_address_that_it_names() {
    let (mut world, ids) = in_use(1);
    remove(&mut world, 0);
    add(&mut world, 1, true);
    world.settle();
    // It arrives, the answer does not.
    world.now += DELAY;
    let now = world.now;
    for (_, (host, socket, from, ecn, bytes)) in std::mem::take(&mut world.in_flight) {
        world.endpoints[host].handle_datagram(now, socket, from, ecn, &bytes);
    }
    world.settle();
    let is_answer = |bytes: &[u8]| {
        let packet = sctp::decode(Bytes::copy_from_slice(bytes)).expect("a packet");
        packet.chunks.iter().any(|chunk| matches!(chunk, sctp::Chunk::AsconfAck(_)))
    };
    let before = world.in_flight.len();
    world.in_flight.retain(|_, (_, _, _, _, bytes)| !is_answer(bytes));
    assert_eq!(before - world.in_flight.len(), 1);
    remove(&mut world, 1);
    add(&mut world, 2, true);
    pass(&mut world, 30_000);
    assert!(works(&mut world, ids));
}

#[test]
fn a_host_that_is_back_where_it_was_before_anybody_heard_of_it_goes_on() {
    let (mut world, ids) = in_use(1);
    move_client(&mut world, [0, 1]);
    world.settle();
    world.in_flight.clear();
    move_client(&mut world, [1, 4]);
    move_client(&mut world, [4, 0]);
    pass(&mut world, 30_000);
    assert!(works(&mut world, ids));
}

/// What an interface of a host does.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// Another network is there, and is to be the first.
    Comes(u8, bool),
    /// One of its networks is gone.
    Goes(u8),
}

/// A transfer of a client that hears moves between its networks, with a share of what is sent lost until they are over.
fn moves_on(moves: &[(u64, Move)], lost: u64, seed: u64) {
    let (mut world, ids) = in_use(1);
    let mut random = seed | 1;
    let mut has = vec![0];
    for (wait, change) in moves {
        pass(&mut world, *wait);
        match *change {
            Move::Comes(network, first) if !has.contains(&network) => {
                add(&mut world, network, first);
                has.push(network);
            }
            Move::Goes(network) if has.len() > 1 => {
                let gone = has.remove(usize::from(network) % has.len());
                remove(&mut world, gone);
            }
            _ => continue,
        }
        world.settle();
        world.in_flight.retain(|_, _| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % 100 >= lost
        });
    }
    pass(&mut world, 120_000);
    assert!(works(&mut world, ids), "{moves:?}");
    let mut left = paths(&world, ids);
    let mut own: Vec<IpAddr> = has.iter().map(|network| at(*network, CLIENT).ip()).collect();
    left.sort_unstable();
    own.sort_unstable();
    assert_eq!(left, own, "{moves:?}");
}

mod histories {
    use proptest::prelude::*;

    use super::*;

    fn change() -> impl Strategy<Value = Move> {
        let comes =
            (0..6u8, any::<bool>()).prop_map(|(network, first)| Move::Comes(network, first));
        prop_oneof![comes, (0..6u8).prop_map(Move::Goes)]
    }

    proptest! {
        #[test]
        fn a_host_is_found_where_it_is_whatever_its_interfaces_did_and_no_path_is_left_elsewhere(
            moves in prop::collection::vec((0..400u64, change()), 1..14),
            lost in prop_oneof![Just(0u64), Just(20), Just(50)],
            seed in any::<u64>(),
        ) {
            moves_on(&moves, lost, seed);
        }
    }
}
