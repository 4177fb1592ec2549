//! Proxies on the way: connections end there and lead on.

use std::sync::Arc;

use bentpipe_link::ModelSpec;
use bentpipe_pep::scheduler::Discipline;
use bentpipe_pep::split;
use bentpipe_record::RunSummary;
use bentpipe_sim::{
    Connections, Draw, FlowSpec, Protocol, ProxySpec, RunSpec, SchedulerSpec, Sharing, TrafficSpec,
    WebSpec,
};
use bentpipe_transport::tcp::recovery::Mode;
use bentpipe_transport::{tcp, xstp};
use bentpipe_units::{ByteCount, Span};

use crate::support::*;

fn tcp(buffer: u64) -> Protocol {
    let buffer = ByteCount::new(buffer);
    let config = tcp::Config { snd_buf: buffer, rcv_buf: buffer, ..tcp::Config::default() };
    let config = Arc::new(config);
    Protocol::Tcp { sender: config.clone(), receiver: config }
}

fn xstp(probing: bool) -> Protocol {
    let config = Arc::new(xstp::Config { probing, ..xstp::Config::paper() });
    Protocol::Xstp { sender: config.clone(), receiver: config }
}

fn proxy(node: usize, protocol: Protocol) -> ProxySpec {
    ProxySpec {
        name: format!("proxy{node}"),
        node,
        protocol,
        relay: split::Config::default(),
        pool: None,
        scheduler: None,
    }
}

/// Host 0, proxies 1 and 2 before and behind a satellite link with errors, host 3.
fn across(satellite: Protocol, kilobytes: u64) -> RunSpec {
    let cable = || vec![rate("10 Mbit/s", 100), millis(20)];
    let noise = ModelSpec::BitErrors(2e-6);
    let links = vec![
        link("near", [0, 1], cable()),
        link("satellite", [1, 2], vec![rate("2 Mbit/s", 100), noise, millis(250)]),
        link("far", [2, 3], cable()),
    ];
    let file = FlowSpec {
        protocol: tcp(200_000),
        proxies: vec![proxy(1, satellite), proxy(2, tcp(200_000))],
        ..flow("file", 0, 3, kilobytes)
    };
    spec(4, links, vec![file])
}

fn legs() -> [Protocol; 3] {
    [tcp(200_000), xstp(false), xstp(true)]
}

#[test]
fn a_file_crosses_three_connections_of_different_protocols_and_no_proxy_holds_more_than_its_buffer()
{
    for (leg, second) in legs().into_iter().zip([200_000, 64_000, 64_000]) {
        let spec = across(leg, 1_000);
        let run = outcome(&spec);
        assert_all_arrived(&spec, &run);
        assert_eq!(run.proxies.len(), 2);
        for (proxy, buffer) in run.proxies.iter().zip([200_000, second]) {
            // A window is stated in units of four bytes.
            assert!(proxy.forward_link.peak < buffer + 4, "{proxy:?}");
            assert!(
                proxy.forward_link.mean > 1_000.0
                    && proxy.forward_link.mean <= proxy.forward_link.peak as f64
            );
            assert_eq!((proxy.return_link.peak, proxy.resets), (0, 0));
        }
    }
}

#[test]
fn packets_of_bytes_tell_the_same_story() {
    for leg in legs() {
        let typed = across(leg, 300);
        let wire = RunSpec { wire: true, ..typed.clone() };
        assert_eq!(outcome(&typed), outcome(&wire));
    }
}

#[test]
fn a_receiver_opens_through_proxies_and_asks() {
    let mut spec = across(xstp(true), 200);
    spec.flows[0].request = Some(ByteCount::new(300));
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
    assert_eq!(run.flows[0].sink.payload_bytes, 300);
    assert!(run.proxies.iter().all(|proxy| proxy.return_link.peak == 300), "{:?}", run.proxies);
    assert!(run.proxies[0].forward_link.peak > 10_000);
    // The request crosses the satellite twice: the way of the connection, and its own.
    let first = run.flows[0].first_byte_after.expect("a byte");
    assert!((0.9..1.4).contains(&first), "{first}");
}

#[test]
fn web_pages_are_read_through_a_proxy_over_connections_that_are_used_again() {
    let mut spec = across(tcp(100_000), 0);
    spec.flows[0].traffic = Some(TrafficSpec::Web(WebSpec {
        sessions: 3,
        session_gap: Span::from_secs(1),
        pages: 4,
        objects: Draw::Constant(3.0),
        inter_page: Draw::Constant(1.0),
        start_to_start: false,
        inter_object: Draw::Constant(0.01),
        object: Draw::Constant(20_000.0),
        connections: Connections::PerObject(4),
    }));
    let run = outcome(&spec);
    let pieces = run.flows[0].pieces.expect("pieces");
    assert_eq!((pieces.arrived, pieces.failed), (36, 0), "{pieces:?}");
    assert_eq!(run.flows[0].delivered_bytes, 36 * 20_000);
    assert_eq!(run.proxies[1].far.payload_bytes, 36 * 20_000, "counted over all connections");
}

/// Two senders behind a gateway whose scheduler has the rate of the satellite link.
fn scheduled(sharing: Sharing, room: u32, weights: [u32; 2]) -> RunSpec {
    let links = vec![
        link("a", [0, 2], vec![rate("10 Mbit/s", 100), millis(5)]),
        link("b", [1, 2], vec![rate("10 Mbit/s", 100), millis(60)]),
        // No room to wait: what the scheduler sends too early would be lost.
        link("satellite", [2, 3], vec![rate("1 Mbit/s", room), millis(250)]),
    ];
    let config = Arc::new(tcp::Config {
        recovery: Mode::DepartureOrder,
        release_reported: true,
        window_in_segments: true,
        snd_buf: ByteCount::new(100_000),
        rcv_buf: ByteCount::new(400_000),
        controller: bentpipe_cc::Choice::new("fixed", Default::default()).expect("a controller"),
        ..tcp::Config::default()
    });
    let satellite = Protocol::Tcp { sender: config.clone(), receiver: config };
    let flows = [0, 1].map(|from| FlowSpec {
        protocol: tcp(100_000),
        proxies: vec![ProxySpec {
            scheduler: Some((0, weights[from])),
            ..proxy(2, satellite.clone())
        }],
        ..flow(&format!("file{from}"), from, 3, 4_000)
    });
    let schedulers = vec![SchedulerSpec {
        name: "line".into(),
        rate: "1 Mbit/s".parse().expect("a rate"),
        sharing,
    }];
    RunSpec {
        schedulers,
        duration: Span::from_secs(30),
        ..spec(4, links, flows.into_iter().collect())
    }
}

fn delivered(run: &RunSummary) -> [f64; 2] {
    [0, 1].map(|flow| run.flows[flow].delivered_bytes as f64)
}

#[test]
fn turns_fill_the_link_exactly_and_share_it_equally_whatever_the_way_behind() {
    let run = outcome(&scheduled(Sharing::Turns(Discipline::RoundRobin), 0, [1, 1]));
    let satellite = channel(&run, "satellite", 2);
    assert_eq!(lost(satellite), 0, "{satellite:?}");
    let [a, b] = delivered(&run);
    assert!((a / b - 1.0).abs() < 0.02, "{a} {b}");
    // 1448 of 1500 bytes.
    let first = run.flows[0].first_byte_after.expect("a byte");
    let share = 8.0 * (a + b) / (30.0 - first) / 1e6;
    assert!((0.955..=0.966).contains(&share), "{share}");
    assert_eq!(run.proxies[0].far.timeouts + run.proxies[1].far.timeouts, 0);
}

#[test]
fn weights_divide_the_link() {
    let [a, b] = delivered(&outcome(&scheduled(Sharing::Turns(Discipline::Weighted), 0, [1, 3])));
    assert!((2.7..3.3).contains(&(b / a)), "{a} {b}");
}

#[test]
fn windows_that_follow_the_use_of_the_link_fill_it_and_are_equal() {
    let sharing = Sharing::Windows(ByteCount::new(1448));
    let run = outcome(&scheduled(sharing, 200, [1, 1]));
    assert_eq!(lost(channel(&run, "satellite", 2)), 0);
    let [a, b] = delivered(&run);
    assert!((a / b - 1.0).abs() < 0.15, "{a} {b}");
    let first = run.flows[0].first_byte_after.expect("a byte");
    let share = 8.0 * (a + b) / (30.0 - first) / 1e6;
    assert!((0.9..=0.966).contains(&share), "{share}");
}
