use bentpipe_units::Seq32;
use bentpipe_wire::radio::ax25::Repeater;
use bentpipe_wire::xstp::{Gap, Report, ReportKind};

use super::*;
use crate::sessions::Framing as _;

fn identity(text: &str) -> Identity {
    text.parse().expect("an identity")
}

fn digis(names: &[&str]) -> Digis {
    let names: Vec<_> = names.iter().map(|name| name.parse().expect("a call sign")).collect();
    names.try_into().expect("not too many")
}

/// The frames of a station with these repeaters.
fn station(name: &str, names: &[&str]) -> Framing {
    Framing::new(identity(name), digis(names))
}

fn segment(flow: Flow) -> Segment {
    let seq = Seq32::new(7);
    Segment {
        source_port: 9,
        destination_port: 1,
        seq,
        body: Body::Flow(flow),
        ..Segment::default()
    }
}

fn report(gaps: u16) -> Report {
    let gaps = (0..gaps).map(|n| Gap { lower: 2 * n, upper: 2 * n + 1 }).collect();
    let (kind, next) = (ReportKind::Stat, Seq32::new(3));
    Report { kind, ts_echo: 5, received_at: None, next, more: false, gaps }
}

fn data(len: usize) -> Flow {
    Flow { payload: vec![1; len].into(), poll: Some(4), ..Flow::default() }
}

fn wrapped(from: &mut Framing, to: &str, segment: &Segment) -> Vec<Bytes> {
    let mut frames = VecDeque::new();
    from.wrap(identity(to), segment, &mut frames);
    frames.into()
}

/// A frame of one segment, changed.
fn changed(change: impl Fn(&mut ax25::Frame)) -> Bytes {
    let sent = wrapped(&mut station("W1ABC-1", &[]), "W1ABC-2", &segment(data(20)));
    let mut frame = ax25::decode(&sent[0]).expect("a frame");
    change(&mut frame);
    let mut bytes = BytesMut::new();
    ax25::encode(&frame, &mut bytes).expect("encoded");
    bytes.freeze()
}

#[test]
fn a_segment_arrives_with_the_name_of_its_sender() {
    let sent = segment(data(158));
    let frames = wrapped(&mut station("W1ABC-1", &[]), "W1ABC-2", &sent);
    assert_eq!(1 + frames[0].len(), LONGEST_FRAME, "with the byte of KISS");
    let received = station("W1ABC-2", &[]).unwrap(frames[0].clone());
    assert_eq!(received, Ok((identity("W1ABC-1"), sent)));
}

#[test]
fn data_with_a_report_go_in_two_frames_if_one_would_be_too_long() {
    let flow = Flow { report: Some(report(9)), end_ack: Some(Seq32::new(2)), ..data(158) };
    let frames = wrapped(&mut station("W1ABC-1", &[]), "W1ABC-2", &segment(flow.clone()));
    let to = station("W1ABC-2", &[]);
    let parts: Vec<_> = frames
        .iter()
        .map(|frame| {
            assert!(frame.len() < LONGEST_FRAME);
            to.unwrap(frame.clone()).expect("a segment").1
        })
        .collect();
    let said = Flow { payload: Bytes::new(), poll: None, ..flow.clone() };
    assert_eq!(parts, [segment(said), segment(data(158))]);
    let short = Flow { payload: flow.payload.slice(..60), ..flow };
    assert_eq!(wrapped(&mut station("W1ABC-1", &[]), "W1ABC-2", &segment(short)).len(), 1);
}

#[test]
fn a_frame_counts_once_every_repeater_has_had_it() {
    let sent = segment(data(20));
    let frames = wrapped(&mut station("W1ABC-1", &["DIGI-1", "DIGI-2"]), "W1ABC-2", &sent);
    let mut frame = ax25::decode(&frames[0]).expect("a frame");
    let to = station("W1ABC-2", &["DIGI-2", "DIGI-1"]);
    for place in 0..2 {
        let mut bytes = BytesMut::new();
        ax25::encode(&frame, &mut bytes).expect("encoded");
        assert_eq!(to.unwrap(bytes.freeze()), Err(Unfit::Unwanted));
        frame.repeaters[place].has_repeated = true;
    }
    let mut bytes = BytesMut::new();
    ax25::encode(&frame, &mut bytes).expect("encoded");
    assert_eq!(to.unwrap(bytes.freeze()), Ok((identity("W1ABC-1"), sent)));
}

#[test]
fn what_is_for_others_or_of_other_protocols_is_unwanted() {
    let to = station("W1ABC-2", &[]);
    assert!(to.unwrap(changed(|_| ())).is_ok());
    let address = |text: &str| text.parse().expect("a call sign");
    let digi = Repeater { address: address("DIGI"), has_repeated: false };
    let elsewhere = changed(|frame| frame.destination = address("W1ABC-3"));
    let beacon = changed(|frame| frame.pid = ax25::Pid::NoLayer3);
    let on_its_way = changed(|frame| frame.repeaters.push(digi));
    for frame in [elsewhere, beacon, on_its_way] {
        assert_eq!(to.unwrap(frame), Err(Unfit::Unwanted));
    }
    let mut connected = changed(|_| ()).to_vec();
    connected[14] = 0x3f;
    assert_eq!(to.unwrap(connected.into()), Err(Unfit::Unwanted));
    let other = Framing::new(Identity::new(address("W1ABC-2"), [44, 0, 0, 1].into()), digis(&[]));
    assert_eq!(other.unwrap(changed(|_| ())), Err(Unfit::Unwanted), "another address");
}

#[test]
fn what_is_damaged_or_cut_off_is_malformed() {
    let (whole, to) = (changed(|_| ()), station("W1ABC-2", &[]));
    for len in 0..whole.len() {
        assert_eq!(to.unwrap(whole.slice(..len)), Err(Unfit::Malformed), "{len} bytes");
    }
    // The header of IPv4, that of the route, and everything of XSTP.
    for place in (16..36).chain(37..76).chain(76..whole.len()) {
        let mut damaged = whole.to_vec();
        damaged[place] ^= 0x10;
        assert!(to.unwrap(damaged.into()).is_err(), "byte {place}");
    }
}
