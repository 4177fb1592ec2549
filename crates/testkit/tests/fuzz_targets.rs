//! Runs the fuzz targets on a fixed set of inputs.

use std::sync::atomic::{AtomicU64, Ordering};

use bentpipe_testkit::fuzz::{
    bounded_runs, compact_segment, qlp_frame, with_checksum, with_length, xstp_segment,
};
use bentpipe_wire::xstp::{DecodeError, decode};
use bentpipe_wire::{Kind, qlp};

#[test]
fn a_hundred_thousand_inputs_break_no_xstp_decoder() {
    bounded_runs(100_000, xstp_segment);
}

#[test]
fn a_hundred_thousand_inputs_break_no_decoder_of_compressed_headers() {
    bounded_runs(100_000, compact_segment);
}

#[test]
fn a_hundred_thousand_inputs_break_no_decoder_of_queue_link_frames() {
    static FRAMES: AtomicU64 = AtomicU64::new(0);
    bounded_runs(100_000, |data| {
        qlp_frame(data);
        FRAMES.fetch_add(qlp::decode(with_length(data).into()).is_ok().into(), Ordering::Relaxed);
    });
    assert!(FRAMES.load(Ordering::Relaxed) > 50_000, "{FRAMES:?} frames");
}

#[test]
fn the_inputs_are_neither_all_legal_nor_all_illegal() {
    static SEGMENTS: AtomicU64 = AtomicU64::new(0);
    static DAMAGED: AtomicU64 = AtomicU64::new(0);
    static KINDS: AtomicU64 = AtomicU64::new(0);
    bounded_runs(10_000, |data| {
        if let Err(DecodeError::Checksum { .. }) = decode(data.to_vec().into(), None) {
            DAMAGED.fetch_add(1, Ordering::Relaxed);
        }
        if let Ok(segment) = decode(with_checksum(data).into(), None) {
            SEGMENTS.fetch_add(1, Ordering::Relaxed);
            KINDS.fetch_or(segment.kind().bits().into(), Ordering::Relaxed);
        }
    });
    let (segments, damaged) = (SEGMENTS.load(Ordering::Relaxed), DAMAGED.load(Ordering::Relaxed));
    assert!((2_000..8_000).contains(&segments), "{segments} segments");
    assert!(damaged > 2_000, "{damaged} damaged");
    let all = Kind::NAMES.iter().fold(Kind::NONE, |all, (kind, _)| all.with(*kind));
    assert_eq!(KINDS.load(Ordering::Relaxed), u64::from(all.bits()));
}

#[test]
fn the_inputs_are_the_same_every_time() {
    use std::sync::Mutex;

    static SEEN: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
    let record = |data: &[u8]| SEEN.lock().expect("no panic before").push(data.to_vec());
    bounded_runs(500, record);
    let first = std::mem::take(&mut *SEEN.lock().expect("no panic before"));
    bounded_runs(500, record);
    assert_eq!(*SEEN.lock().expect("no panic before"), first);
}
