//! Several paths (RFC 9260, sections 6.4, 8.2 and 8.3).

use bentpipe_testkit::{Direction, Fate, SctpPair, pattern};
use bentpipe_transport::sctp::{Config, Notice, RtxPolicy};
use bentpipe_transport::{Event, Failure, PathId};
use bentpipe_wire::Kind;
use bentpipe_wire::sctp::Chunk;

use crate::support::*;

#[test]
fn a_second_path_is_tried_as_soon_as_the_association_is_open() {
    let mut pair = SctpPair::new(quiet(), quiet(), &[ms(100), ms(250)]).staying_open();
    pair.run_to(at(2_000));
    let asked = pair.sent(Direction::Forward, Kind::HEARTBEAT).next().expect("a HEARTBEAT");
    assert_eq!((asked.at, asked.path), (at(400), PathId(1)));
    let expected =
        [(at(200), Notice::PathConfirmed(PathId(0))), (at(900), Notice::PathConfirmed(PathId(1)))];
    assert_eq!(pair.client.notices, expected);
}

#[test]
fn an_idle_path_is_asked_at_its_timeout_and_the_interval_give_or_take_half() {
    let config = Config { heartbeat: secs(30), ..Config::default() };
    let mut pair = SctpPair::new(config.clone(), config, &[ms(100)]).staying_open();
    pair.run_to(at(400_000));
    let asked: Vec<_> = pair
        .log
        .iter()
        .filter(|c| {
            c.direction == Direction::Forward && matches!(c.packet.chunks[0], Chunk::Heartbeat(_))
        })
        .map(|c| c.at)
        .collect();
    assert!(asked.len() > 5);
    for pair in asked.windows(2) {
        let between = pair[1].since(pair[0]);
        assert!(between >= secs(16) && between <= secs(47), "{between}");
    }
    let waits: std::collections::BTreeSet<_> = asked.windows(2).map(|w| w[1].since(w[0])).collect();
    assert!(waits.len() > 2, "the interval is spread");
}

#[test]
fn new_data_leave_a_dead_path_and_come_back_when_it_answers() {
    let config = Config { path_max_retrans: 2, heartbeat: secs(5), ..Config::default() };
    let dark = |crossing_at| crossing_at > at(3_000) && crossing_at < at(40_000);
    let mut pair = SctpPair::new(config.clone(), config, &[ms(100), ms(300)])
        .staying_open()
        .with_script(move |crossing| {
            if crossing.path == PathId(0) && dark(crossing.at) { Fate::Drop } else { Fate::Pass }
        });
    // A little data every half second.
    let mut written = 0;
    for step in 1..200 {
        pair.run_to(at(500 * step));
        write_chunks(&mut pair, 1);
        written += 1452;
    }
    pair.run_to(at(110_000));
    assert_eq!(pair.server.inbox.len(), written);
    let notices: Vec<_> = pair.client.notices.iter().map(|(_, notice)| *notice).collect();
    let path = PathId(0);
    assert_eq!(notices[2..], [Notice::PathInactive(path), Notice::PathActive(path)]);
    let [inactive, active] = [pair.client.notices[2].0, pair.client.notices[3].0];
    assert!(inactive < at(20_000) && active > at(40_000) && active < at(80_000));
    for crossing in pair.sent(Direction::Forward, Kind::DATA) {
        let away = crossing.at > inactive && crossing.at < active;
        if away || crossing.at < at(3_000) || crossing.at > active + secs(2) {
            assert_eq!(crossing.path == PathId(1), away, "at {}", crossing.at.as_secs_f64());
        }
    }
    assert!(!pair.client.events.iter().any(|(_, event)| matches!(event, Event::Failed(_))));
}

#[test]
fn retransmissions_take_the_path_of_the_policy() {
    for (policy, after_reports, after_timeout) in
        [(RtxPolicy::AltAll, 1, 1), (RtxPolicy::AltTimeout, 0, 1), (RtxPolicy::Same, 0, 0)]
    {
        let config = Config { rtx_policy: policy, cwnd_init: Some(8), max_burst: 0, ..quiet() };
        for (chunks, expected) in [(6, after_reports), (1, after_timeout)] {
            let mut pair =
                SctpPair::new(config.clone(), config.clone(), &[ms(100), ms(300)]).staying_open();
            pair.run_to(at(2_000));
            pair.log.clear();
            let mut first = true;
            let mut pair = pair.with_script(move |crossing| {
                let drop = crossing.has(Kind::DATA) && std::mem::take(&mut first);
                if drop { Fate::Drop } else { Fate::Pass }
            });
            write_chunks(&mut pair, chunks);
            pair.run_to(at(6_000));
            assert_eq!(pair.server.inbox.len(), chunks * 1452);
            let tsn = first_tsn(&pair);
            let sent = data_sent(&pair, tsn);
            let paths: Vec<u32> =
                sent.iter().filter(|(_, _, tsn)| *tsn == 0).map(|(_, path, _)| *path).collect();
            assert_eq!(paths, [0, expected], "{policy:?}, {chunks} chunks");
        }
    }
}

#[test]
fn when_no_path_answers_the_association_ends() {
    let config = Config {
        path_max_retrans: 1,
        association_max_retrans: 4,
        heartbeat: secs(5),
        ..Config::default()
    };
    let mut pair = SctpPair::new(config.clone(), config, &[ms(100), ms(300)])
        .staying_open()
        .with_script(|crossing| if crossing.at > at(3_000) { Fate::Drop } else { Fate::Pass });
    pair.run_to(at(3_100));
    write_chunks(&mut pair, 3);
    assert!(pair.run(secs(300)));
    assert!(pair.client.was_told(Event::Failed(Failure::NoResponse)));
    assert!(pair.server.was_told(Event::Failed(Failure::NoResponse)), "by its HEARTBEATs");
}

#[test]
fn a_new_primary_path_takes_new_data_and_a_longer_path_makes_shorter_chunks() {
    let mut pair = open(quiet(), 2);
    pair.run_to(at(2_000));
    pair.change(Direction::Forward, |association, now| {
        association.set_primary(PathId(1));
        association.set_path_mtu(now, PathId(1), 576);
    });
    pair.change(Direction::Forward, |association, now| {
        let mut bytes = pattern(1_000);
        bentpipe_transport::Endpoint::write(association, now, &mut bytes).expect("room");
    });
    pair.run_to(at(4_000));
    let sent: Vec<_> =
        pair.sent(Direction::Forward, Kind::DATA).map(|c| (c.path, c.packet.wire_len())).collect();
    assert!(sent.iter().all(|(path, length)| *path == PathId(1) && *length <= 556), "{sent:?}");
    assert!(pair.server.inbox == pattern(1_000));
}

#[test]
fn silence_ends_an_association_after_its_time_however_many_paths_are_asked() {
    let config = Config {
        association_max_retrans: u32::MAX,
        no_response: secs(100),
        heartbeat: secs(5),
        ..Config::default()
    };
    let mut pair = SctpPair::new(config.clone(), config, &[ms(100); 3])
        .staying_open()
        .with_script(|crossing| if crossing.at > at(3_000) { Fate::Drop } else { Fate::Pass });
    pair.run_to(at(3_100));
    write_chunks(&mut pair, 3);
    let failed = |pair: &SctpPair| pair.client.was_told(Event::Failed(Failure::NoResponse));
    pair.run_to(at(95_000));
    assert!(!failed(&pair), "the peer was heard after 3 s at most");
    pair.run_to(at(103_100));
    assert!(failed(&pair));
}

/// When and on which path the client's HEARTBEATs left.
fn asked(pair: &SctpPair) -> Vec<(bentpipe_units::Instant, u32)> {
    let heartbeat = |c: &&bentpipe_testkit::SctpCrossing| {
        c.packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::Heartbeat(_)))
    };
    let of = pair.log.iter().filter(|c| c.direction == Direction::Forward).filter(heartbeat);
    of.map(|c| (c.at, c.path.0)).collect()
}

#[test]
fn a_second_path_that_is_dark_does_not_end_an_idle_association() {
    let config = Config {
        path_max_retrans: 1,
        association_max_retrans: 0,
        heartbeat: secs(5),
        ..Config::default()
    };
    for from in [0, 3_000] {
        let mut pair = SctpPair::new(config.clone(), config.clone(), &[ms(100), ms(300)])
            .staying_open()
            .with_script(move |crossing| {
                let dark = crossing.path == PathId(1) && crossing.at > at(from);
                if dark { Fate::Drop } else { Fate::Pass }
            });
        pair.run_to(at(3_600_000));
        assert!(!pair.client.was_told(Event::Failed(Failure::NoResponse)), "dark from {from} ms");
        assert!(pair.client.notices.iter().any(|(_, n)| *n == Notice::PathInactive(PathId(1))));
    }
}

#[test]
fn a_path_that_never_answered_is_tried_at_its_timeout_until_inactive_and_then_now_and_then() {
    let config = Config { path_max_retrans: 2, ..Config::default() };
    let mut pair = SctpPair::new(config.clone(), config, &[ms(100), ms(300)])
        .staying_open()
        .with_script(|crossing| if crossing.path == PathId(1) { Fate::Drop } else { Fate::Pass });
    pair.run_to(at(600_000));
    let times: Vec<_> =
        asked(&pair).into_iter().filter(|(_, path)| *path == 1).map(|(at, _)| at).collect();
    // Asked for one timeout, paused for the next, which is twice as long.
    assert_eq!(times[..3], [at(400), at(3_400), at(9_400)]);
    for pair in times[2..].windows(2) {
        assert!(pair[1].since(pair[0]) >= secs(15 + 8 + 4), "{}", pair[1].since(pair[0]));
    }
}

#[test]
fn many_addresses_of_a_peer_are_tried_one_in_each_timeout() {
    let mut pair = open(quiet(), 1);
    pair.run_to(at(1_000));
    pair.change(Direction::Forward, |association, now| {
        for path in 1..16 {
            association.add_path(now, PathId(path));
        }
    });
    pair.run_to(at(30_000));
    let asked = asked(&pair);
    let expected: Vec<_> = (1..16).map(|path| (at(u64::from(path) * 1_000), path)).collect();
    assert_eq!(asked, expected);
}

#[test]
fn what_had_arrived_before_an_outage_does_not_prove_the_path_when_it_is_acknowledged_late() {
    let config = Config {
        path_max_retrans: 1,
        heartbeat: secs(1_000),
        rtx_policy: RtxPolicy::Same,
        // The window of the second path holds less than was in flight on the first.
        cwnd_init: Some(2),
        max_burst: 0,
        ..Config::default()
    };
    // From 3 s on nothing comes back on the first path, and soon nothing gets there either.
    let mut pair = SctpPair::new(config.clone(), config, &[ms(100), ms(100)])
        .staying_open()
        .with_script(|crossing| {
            let lost = match crossing.direction {
                Direction::Return => crossing.at >= at(3_000),
                Direction::Forward => crossing.at >= at(3_200),
            };
            if crossing.path == PathId(0) && lost { Fate::Drop } else { Fate::Pass }
        });
    let mut written = 0;
    for step in 0..8 {
        pair.run_to(at(1_000 + 250 * step));
        write_chunks(&mut pair, 4);
        written += 4 * 1452;
    }
    for step in 0..40 {
        pair.run_to(at(3_000 + 2_000 * step));
        write_chunks(&mut pair, 6);
        written += 6 * 1452;
    }
    pair.run_to(at(120_000));
    assert_eq!(pair.server.inbox.len(), written);
    let notices: Vec<_> = pair.client.notices.iter().map(|(_, notice)| *notice).collect();
    assert_eq!(notices[2..], [Notice::PathInactive(PathId(0))], "and it stays so");
    let inactive = pair.client.notices[2].0;
    let late = pair.sent(Direction::Forward, Kind::DATA).filter(|crossing| crossing.at > inactive);
    assert!(late.map(|crossing| crossing.path).all(|path| path == PathId(1)));
}
