//! The parts that every packet goes through.

use std::hint::black_box;

use bentpipe_link::{BitErrors, Delay, Model, Passing, QueueLimit, RateQueue, Streams};
use bentpipe_units::{BitRate, ByteCount, Instant, Seq32, Span};
use bentpipe_wire::Kind;
use bentpipe_wire::xstp::{Body, Flow, Segment, decode, encode};
use bytes::{Bytes, BytesMut};

fn main() {
    divan::main();
}

fn data_segment() -> Segment {
    let flow = Flow { payload: Bytes::from(vec![7; 1000]), ..Flow::default() };
    Segment {
        source_port: 5001,
        destination_port: 5002,
        sq: 7,
        window: 64,
        seq: Seq32::new(1),
        body: Body::Flow(flow),
    }
}

#[divan::bench]
fn encode_a_kilobyte(bencher: divan::Bencher<'_, '_>) {
    let segment = data_segment();
    let mut bytes = BytesMut::with_capacity(2000);
    bencher.bench_local(|| {
        bytes.clear();
        encode(black_box(&segment), None, &mut bytes);
    });
}

#[divan::bench]
fn decode_a_kilobyte(bencher: divan::Bencher<'_, '_>) {
    let mut bytes = BytesMut::new();
    encode(&data_segment(), None, &mut bytes);
    let bytes = bytes.freeze();
    bencher.bench_local(|| decode(black_box(bytes.clone()), None));
}

fn pass(bencher: divan::Bencher<'_, '_>, mut model: impl Model) {
    let packet = Passing { bytes: ByteCount::new(1016), kind: Kind::DATA };
    let mut now = Instant::ZERO;
    bencher.bench_local(|| {
        now += Span::from_micros(813);
        model.pass(black_box(now), black_box(&packet))
    });
}

#[divan::bench]
fn rate_queue(bencher: divan::Bencher<'_, '_>) {
    pass(bencher, RateQueue::new(BitRate::from_bps(10_000_000), QueueLimit::Packets(100)));
}

#[divan::bench]
fn delay(bencher: divan::Bencher<'_, '_>) {
    pass(bencher, Delay::new(Span::from_millis(250)));
}

#[divan::bench]
fn bit_errors(bencher: divan::Bencher<'_, '_>) {
    pass(bencher, BitErrors::new(1e-6, Streams::new(1).stream("bench")));
}
