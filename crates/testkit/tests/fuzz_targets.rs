//! Runs the fuzz targets on a fixed set of inputs.

use std::sync::atomic::{AtomicU64, Ordering};

use bentpipe_testkit::fuzz::{
    ADDRESSES, bounded_runs, compact_segment, header_seeds, icmp_message, icmp_seeds, kiss_stream,
    qlp_frame, radio_frame, radio_seeds, sctp_packet, sctp_seeds, tcp_seeds, tcp_segment,
    udp_datagram, with_checksum, with_icmp_checksum, with_length, with_sctp_checksum,
    with_tcp_checksum, with_udp_checksum, xcp_header, xstp_seeds, xstp_segment,
};
use bentpipe_wire::radio::{LONGEST_FRAME, kiss};
use bentpipe_wire::xstp::{DecodeError, decode};
use bentpipe_wire::{Kind, icmp, qlp, sctp, tcp, udp, xcp};

#[test]
fn a_hundred_thousand_inputs_break_no_xstp_decoder() {
    bounded_runs(100_000, &xstp_seeds(), xstp_segment);
}

#[test]
fn a_hundred_thousand_inputs_break_no_decoder_of_compressed_headers() {
    bounded_runs(100_000, &xstp_seeds(), compact_segment);
}

#[test]
fn a_hundred_thousand_inputs_break_no_tcp_decoder() {
    bounded_runs(100_000, &tcp_seeds(), tcp_segment);
}

#[test]
fn a_hundred_thousand_inputs_break_no_sctp_decoder() {
    bounded_runs(100_000, &sctp_seeds(), sctp_packet);
}

#[test]
fn a_hundred_thousand_inputs_break_no_decoder_of_icmp() {
    static MESSAGES: AtomicU64 = AtomicU64::new(0);
    bounded_runs(100_000, &icmp_seeds(), |data| {
        icmp_message(data);
        let decoded = icmp::decode(with_icmp_checksum(data).into());
        MESSAGES.fetch_add(decoded.is_ok().into(), Ordering::Relaxed);
    });
    assert!(MESSAGES.load(Ordering::Relaxed) > 20_000, "{MESSAGES:?} messages");
}

#[test]
fn a_hundred_thousand_inputs_break_no_decoder_of_udp() {
    static DATAGRAMS: AtomicU64 = AtomicU64::new(0);
    bounded_runs(100_000, &header_seeds()[0], |data| {
        udp_datagram(data);
        let decoded = udp::decode(with_udp_checksum(data).into(), &ADDRESSES);
        DATAGRAMS.fetch_add(decoded.is_ok().into(), Ordering::Relaxed);
    });
    assert!(DATAGRAMS.load(Ordering::Relaxed) > 50_000, "{DATAGRAMS:?} datagrams");
}

#[test]
fn a_hundred_thousand_inputs_break_no_decoder_of_congestion_headers() {
    static HEADERS: AtomicU64 = AtomicU64::new(0);
    bounded_runs(100_000, &header_seeds()[1], |data| {
        xcp_header(data);
        HEADERS.fetch_add(xcp::Header::decode(data).is_ok().into(), Ordering::Relaxed);
    });
    assert!(HEADERS.load(Ordering::Relaxed) > 20_000, "{HEADERS:?} headers");
}

#[test]
fn a_hundred_thousand_inputs_break_no_decoder_of_queue_link_frames() {
    static FRAMES: AtomicU64 = AtomicU64::new(0);
    bounded_runs(100_000, &xstp_seeds(), |data| {
        qlp_frame(data);
        FRAMES.fetch_add(qlp::decode(with_length(data).into()).is_ok().into(), Ordering::Relaxed);
    });
    assert!(FRAMES.load(Ordering::Relaxed) > 50_000, "{FRAMES:?} frames");
}

#[test]
fn a_hundred_thousand_inputs_break_no_decoder_of_packet_radio() {
    static COMMANDS: AtomicU64 = AtomicU64::new(0);
    bounded_runs(100_000, &radio_seeds(), |data| {
        kiss_stream(data);
        radio_frame(data);
        let mut decoder = kiss::Decoder::new(LONGEST_FRAME);
        let read = data.iter().filter_map(|byte| decoder.push(*byte)).count();
        COMMANDS.fetch_add(read as u64, Ordering::Relaxed);
    });
    assert!(COMMANDS.load(Ordering::Relaxed) > 20_000, "{COMMANDS:?} commands");
}

#[test]
fn the_inputs_are_neither_all_legal_nor_all_illegal() {
    static SEGMENTS: AtomicU64 = AtomicU64::new(0);
    static DAMAGED: AtomicU64 = AtomicU64::new(0);
    static KINDS: AtomicU64 = AtomicU64::new(0);
    bounded_runs(10_000, &xstp_seeds(), |data| {
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
    // The nine types that an XSTP header can have.
    assert_eq!(KINDS.load(Ordering::Relaxed), 0x1ff);
}

#[test]
fn the_inputs_for_tcp_are_neither_all_legal_nor_all_illegal() {
    static SEGMENTS: AtomicU64 = AtomicU64::new(0);
    static REFUSED: AtomicU64 = AtomicU64::new(0);
    static KINDS: AtomicU64 = AtomicU64::new(0);
    static OPTIONS: AtomicU64 = AtomicU64::new(0);
    bounded_runs(10_000, &tcp_seeds(), |data| {
        let Ok(segment) = tcp::decode(with_tcp_checksum(data).into(), &ADDRESSES) else {
            REFUSED.fetch_add(1, Ordering::Relaxed);
            return;
        };
        SEGMENTS.fetch_add(1, Ordering::Relaxed);
        KINDS.fetch_or(segment.kind().bits().into(), Ordering::Relaxed);
        let option = match segment.options {
            tcp::Options::None => 1,
            tcp::Options::Syn(_) => 2,
            tcp::Options::Sack(_) => 4,
            tcp::Options::Snack(_) => 8,
        };
        OPTIONS.fetch_or(option, Ordering::Relaxed);
    });
    let (segments, refused) = (SEGMENTS.load(Ordering::Relaxed), REFUSED.load(Ordering::Relaxed));
    assert!(segments > 2_000 && refused > 2_000, "{segments} segments, {refused} refused");
    let parts = [Kind::DATA, Kind::BGN, Kind::BGNAK, Kind::END, Kind::RST, Kind::ACK];
    let all = parts.into_iter().fold(Kind::NONE, Kind::with);
    assert_eq!(KINDS.load(Ordering::Relaxed), u64::from(all.bits()));
    assert_eq!(OPTIONS.load(Ordering::Relaxed), 0b1111);
}

#[test]
fn the_inputs_for_sctp_are_neither_all_legal_nor_all_illegal() {
    static PACKETS: AtomicU64 = AtomicU64::new(0);
    static REFUSED: AtomicU64 = AtomicU64::new(0);
    static KINDS: AtomicU64 = AtomicU64::new(0);
    bounded_runs(10_000, &sctp_seeds(), |data| {
        let Ok(packet) = sctp::decode(with_sctp_checksum(data).into()) else {
            REFUSED.fetch_add(1, Ordering::Relaxed);
            return;
        };
        PACKETS.fetch_add(1, Ordering::Relaxed);
        KINDS.fetch_or(packet.kind().bits().into(), Ordering::Relaxed);
    });
    let (packets, refused) = (PACKETS.load(Ordering::Relaxed), REFUSED.load(Ordering::Relaxed));
    assert!(packets > 2_000 && refused > 2_000, "{packets} packets, {refused} refused");
    let parts = [Kind::DATA, Kind::BGN, Kind::BGNAK, Kind::END, Kind::ENDAK, Kind::RST, Kind::ACK];
    let all = parts.into_iter().fold(Kind::COOKIE.with(Kind::HEARTBEAT), Kind::with);
    assert_eq!(KINDS.load(Ordering::Relaxed), u64::from(all.bits()));
}

#[test]
fn the_inputs_are_the_same_every_time() {
    use std::sync::Mutex;

    static SEEN: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
    let record = |data: &[u8]| SEEN.lock().expect("no panic before").push(data.to_vec());
    bounded_runs(500, &xstp_seeds(), record);
    let first = std::mem::take(&mut *SEEN.lock().expect("no panic before"));
    bounded_runs(500, &xstp_seeds(), record);
    assert_eq!(*SEEN.lock().expect("no panic before"), first);
}
