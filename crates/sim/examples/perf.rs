use bentpipe_link::*;
use bentpipe_sim::*;
use bentpipe_transport::xstp::Config;
use bentpipe_units::*;
use std::sync::Arc;
fn main() {
    let link = |name: &str, a, b, rate: &str, delay: &str| {
        let m = vec![
            ModelSpec::Rate {
                rate: rate.parse().unwrap(),
                queue: QueueLimit::Bytes(ByteCount::new(2_000_000)),
            },
            ModelSpec::Delay(delay.parse().unwrap()),
        ];
        LinkSpec { name: name.into(), ends: [a, b], forth: m.clone(), back: m }
    };
    let cfg = Arc::new(Config {
        snd_buf: ByteCount::new(1_200_000),
        rcv_buf: ByteCount::new(1_200_000),
        ..Config::default()
    });
    let spec = RunSpec {
        name: "x".into(),
        nodes: vec!["a".into(), "b".into(), "c".into()],
        links: vec![
            link("ground", 0, 1, "100 Mbit/s", "40 ms"),
            link("space", 1, 2, "10 Mbit/s", "250 ms"),
        ],
        flows: vec![FlowSpec {
            name: "f".into(),
            from: 0,
            to: 2,
            protocol: Protocol::Xstp { sender: cfg.clone(), receiver: cfg },
            source: SourceSpec {
                start: Instant::ZERO,
                size: None,
                chunk: ByteCount::new(1000),
                rate: None,
            },
        }],
        seed: 1,
        duration: Span::from_secs(
            std::env::var("D").ok().and_then(|d| d.parse().ok()).unwrap_or(3000),
        ),
        encapsulation: Encapsulation::Qlp,
        wire: std::env::args().nth(1).is_some(),
    };
    let t = std::time::Instant::now();
    let s = run(&spec, &mut Silent).unwrap();
    let e = t.elapsed().as_secs_f64();
    println!(
        "{:?}\n{} hops {} events {:.3}s {:.1} M hops/s",
        s.flows[0],
        s.packet_hops,
        s.events,
        e,
        s.packet_hops as f64 / e / 1e6
    );
    println!("{:?}", s.links);
}
