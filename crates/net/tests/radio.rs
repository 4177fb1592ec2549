//! Files between two stations of packet radio, whose TNCs are played.

mod tncs;

use std::sync::Arc;

use bentpipe_association::Tuning;
use bentpipe_net::radio::{self, Connection, Digis, Identity, Settings, Station, TncAddress};
use bentpipe_net::transfer::{Inbox, Links, entries, receive, send};
use bentpipe_testkit::pattern;
use bentpipe_transfer::{PORT, Rules};
use bentpipe_transport::xstp::Config;
use bentpipe_units::Span;
use bentpipe_wire::radio::ax25::Pid;
use bentpipe_wire::radio::source_route::{self, Packet};
use bentpipe_wire::xstp::{self, Begin, Body, Segment};
use bytes::BytesMut;
use tempfile::TempDir;
use tncs::{Channel, frame, line, on_line, port};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const LEN: usize = 10_240;

/// The settings for a channel that takes no time.
fn config() -> Arc<Config> {
    let radio = radio::config(&Tuning::default(), &Digis::default()).expect("settings");
    let (soon, first) = (Span::from_millis(50), Span::from_millis(100));
    Arc::new(Config { rtt_init: first, rto_min: soon, ctl_rto_init: first, ..(*radio).clone() })
}

fn identity(text: &str) -> Identity {
    text.parse().expect("an identity")
}

async fn station(tnc: TncAddress, name: &str) -> Station {
    let opened = Station::open(tnc, identity(name), Digis::default(), &Settings::default()).await;
    opened.expect("a station")
}

/// Two stations on one channel, of which the second one listens, and a connection between them.
async fn pair(seed: u64) -> (Channel, Station, Station, Connection, Connection) {
    let ((port_a, tnc_a), (port_b, tnc_b)) = tokio::join!(port(), port());
    let (channel, a, b) = tokio::join!(
        Channel::open([port_a, port_b], seed),
        station(tnc_a, "W1ABC-1"),
        station(tnc_b, "W1ABC-2")
    );
    b.listen(config());
    let connecting = a.connect(identity("W1ABC-2"), PORT, config());
    let (from, (peer, to)) = tokio::join!(connecting, b.accept());
    assert_eq!(peer, identity("W1ABC-1"));
    (channel, a, b, from.expect("a connection"), to)
}

/// Moves a file over a connection.
async fn moved(from: &Connection, to: &Connection, name: &str) {
    let (source, sink) =
        (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let bytes = pattern(LEN);
    std::fs::write(source.path().join(name), &bytes).expect("written");
    let (found, _) = entries(&[source.path().join(name)], Links::Skip);
    let rules = Rules { sender: None, overwrite: false };
    let (sent, received) = tokio::join!(
        send(from, &found, |_| ()),
        receive(to, Inbox::new(sink.path()), rules, |_| ())
    );
    assert_eq!((sent.expect("sent").done, received.expect("received").done), (1, 1));
    let arrived = std::fs::read(sink.path().join(name)).expect("a file");
    assert!(arrived == bytes, "the file arrived changed");
}

#[tokio::test]
async fn files_arrive_both_ways_over_a_channel_that_loses_damages_and_is_used_by_others() {
    let (_channel, a, b, from, to) = pair(7).await;
    moved(&from, &to, "there").await;
    a.listen(config());
    let (back, (_, home)) =
        tokio::join!(b.connect(identity("W1ABC-1"), PORT, config()), a.accept());
    moved(&back.expect("a connection"), &home, "back").await;
    let counters = [a.counters(), b.counters()];
    assert!(counters.iter().all(|c| c.lost_tnc_busy == 0 && c.sent > 10), "{counters:?}");
    assert!(counters.iter().map(|c| c.malformed).sum::<u64>() > 0, "{counters:?}");
    assert!(counters.iter().map(|c| c.unwanted).sum::<u64>() > 0, "{counters:?}");
}

#[tokio::test]
async fn a_tnc_that_goes_away_ends_the_transfer_and_every_later_one() {
    let (channel, a, b, from, to) = pair(8).await;
    let source = TempDir::new().expect("a directory");
    std::fs::write(source.path().join("file"), pattern(4_000_000)).expect("written");
    let (found, _) = entries(&[source.path().join("file")], Links::Skip);
    let sink = TempDir::new().expect("a directory");
    let rules = Rules { sender: None, overwrite: false };
    let (sent, received, ()) = tokio::join!(
        send(&from, &found, |_| ()),
        receive(&to, Inbox::new(sink.path()), rules, |_| ()),
        async {
            while b.counters().received < 30 {
                tokio::task::yield_now().await;
            }
            channel.close().await;
        }
    );
    assert!(sent.is_err() && received.is_err());
    let why = a.lost().await.to_string();
    assert!(why.contains("the TNC at 127.0.0.1:") && why.contains("is gone"), "{why}");
    let later = a.connect(identity("W1ABC-2"), PORT, config()).await;
    assert_eq!(later.expect_err("no TNC").kind(), std::io::ErrorKind::ConnectionAborted);
}

#[tokio::test]
async fn a_tnc_that_is_not_there_is_named() {
    let (port, tnc) = port().await;
    drop(port);
    let own = identity("W1ABC-1");
    let error = Station::open(tnc.clone(), own, Digis::default(), &Settings::default()).await;
    let error = error.expect_err("no TNC").to_string();
    assert!(error.starts_with(&format!("no TNC at {tnc}: ")), "{error}");
}

/// A request to open a connection, on the line.
fn request(from: &str, to: &str, source_port: u16) -> BytesMut {
    let begin = Begin { mss: 158, many_gaps: true, ts: 1, ts_echo: 0 };
    let segment = Segment { source_port, body: Body::Begin(begin), ..Segment::default() };
    let mut payload = BytesMut::new();
    xstp::encode(&segment, None, &mut payload);
    let packet = Packet {
        source: identity(from).ip(),
        destination: identity(to).ip(),
        identification: 0,
        time_to_live: 1,
        hops: Default::default(),
        segments_left: 0,
        protocol: xstp::PROTOCOL,
        payload: payload.freeze(),
    };
    let mut payload = BytesMut::new();
    source_route::encode(&packet, &mut payload).expect("encoded");
    on_line(frame(from, to, Pid::Ip, payload.freeze()))
}

#[tokio::test]
async fn whoever_asks_without_end_and_takes_no_answer_makes_answers_get_lost() {
    let (port, tnc) = port().await;
    let (mut tnc, station) = tokio::join!(line(&port), station(tnc, "W1ABC-1"));
    let (requests, mut n) = (request("W9XYZ", "W1ABC-1", 1), 0u64);
    // Each is answered by a reset, which this TNC does not read.
    while station.counters().lost_tnc_busy == 0 {
        tnc.write_all(&requests).await.expect("it goes on listening");
        n += 1;
        assert!(n < 1_000_000, "answers are kept without end: {:?}", station.counters());
    }
    // It is heard all the same, and what it said last is answered.
    let read = tnc.read_u8().await.expect("an answer");
    assert_eq!(read, 0xc0);
}
