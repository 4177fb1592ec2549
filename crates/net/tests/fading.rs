//! A link of a known rate that fades, over the emulator: real sockets and a real clock.

mod links;

use std::net::SocketAddr;
use std::time::Duration;

use bentpipe_association::host::Connection;
use bentpipe_association::{SecretKey, Security, Share, Tuning};
use bentpipe_link::{Fade, ModelSpec, QueueLimit};
use bentpipe_net::Host;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bytes::Bytes;
use tokio::time::{Instant as Clock, timeout_at};

use links::Link;

/// Mbit/s, and meanwhile.
const CLEAR: f64 = 8.0;
const FADED: f64 = 1.6;
/// Seconds from which on the link is faded, and is not any more.
const FADE: (u64, u64) = (5, 15);

fn rate(mbits: f64) -> BitRate {
    BitRate::from_bps((mbits * 1e6) as u64)
}

/// Mbit/s that a reader gets until then.
async fn reads(connection: &Connection, until: Clock) -> f64 {
    let (began, mut bytes) = (Clock::now(), 0);
    while let Ok(read) = timeout_at(until, connection.read_bytes()).await {
        bytes += read.expect("it goes on").expect("no end").len();
    }
    bytes as f64 * 8e-6 / (until - began).as_secs_f64()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_faded_link_is_used_and_so_is_one_that_has_cleared() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let keys = [(); 2].map(|()| SecretKey::generate());
    let publics = [keys[0].public(), keys[1].public()];
    let [sender, receiver] = keys.map(|key| Host::bind(any, key, Security::Full).expect("a host"));
    let tuning = Tuning { rate: Some(rate(CLEAR)), ..Tuning::default() };
    let config = tuning.config().expect("settings");
    receiver.allow(publics[0]);
    receiver.listen(config.clone());
    let second = |n| Instant::ZERO + Span::from_secs(n);
    let fade =
        Fade { at: second(FADE.0), lasts: second(FADE.1).since(second(FADE.0)), rate: rate(FADED) };
    let queue = QueueLimit::Bytes(ByteCount::new(200_000));
    let link = Link::of(
        any,
        receiver.local_addr(),
        vec![
            ModelSpec::FadingRate { rate: rate(CLEAR), queue, fades: vec![fade] },
            ModelSpec::Delay(Span::from_millis(50)),
        ],
    );
    let began = Clock::now();
    sender.set_rate(0, rate(CLEAR));
    sender.set_share(0, publics[1], Share { rate: rate(CLEAR), weight: 1 });
    let connection = sender.connect(link.address, publics[1], 7, config).await.expect("connected");
    let writes = tokio::spawn(async move {
        let bytes = Bytes::from_static(&[7; 50_000]);
        while connection.write_bytes(bytes.clone()).await.is_ok() {}
    });
    let accepted = receiver.accept().await;
    let at = |seconds| began + Duration::from_secs(seconds);
    let clear = reads(&accepted, at(FADE.0)).await;
    // Three seconds are for finding it out.
    reads(&accepted, at(FADE.0 + 3)).await;
    let faded = reads(&accepted, at(FADE.1)).await;
    reads(&accepted, at(FADE.1 + 3)).await;
    let cleared = reads(&accepted, at(FADE.1 + 8)).await;
    writes.abort();
    println!("{clear:.2}, {faded:.2} and {cleared:.2} Mbit/s of {CLEAR}, {FADED} and {CLEAR}");
    // The bounds leave room for machines that are busy with something else.
    assert!(faded > 0.70 * FADED && cleared > 0.75 * CLEAR, "{faded} and {cleared} Mbit/s");
}
