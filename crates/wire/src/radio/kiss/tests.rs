use proptest::prelude::*;

use super::*;

const LONGEST: usize = 255;

fn bytes_of(port: u8, command: &Command) -> BytesMut {
    let mut out = BytesMut::new();
    encode(Port::new(port).expect("a port"), command, &mut out);
    out
}

fn read(decoder: &mut Decoder, bytes: &[u8]) -> Vec<(u8, Command)> {
    let commands = bytes.iter().filter_map(|byte| decoder.push(*byte));
    commands.map(|(port, command)| (port.number(), command)).collect()
}

fn data(bytes: &'static [u8]) -> Command {
    Command::Data(Bytes::from_static(bytes))
}

fn time(ms: u64) -> TncTime {
    TncTime::try_from(Span::from_millis(ms)).expect("a time of a TNC")
}

#[test]
fn frames_are_escaped_as_chepponis_and_karn_have_it() {
    assert_eq!(&bytes_of(0, &data(b"TEST"))[..], b"\xc0\x00TEST\xc0");
    assert_eq!(&bytes_of(5, &data(b"Hello"))[..], b"\xc0\x50Hello\xc0");
    assert_eq!(&bytes_of(0, &data(&[0xc0, 0xdb]))[..], b"\xc0\x00\xdb\xdc\xdb\xdd\xc0");
    assert_eq!(&bytes_of(0, &Command::Return)[..], b"\xc0\xff\xc0");
}

#[test]
fn the_first_byte_is_escaped_as_well() {
    // Port 12 and data are 0xC0, which is FEND.
    assert_eq!(&bytes_of(12, &data(b"x"))[..], b"\xc0\xdb\xdcx\xc0");
    let read = read(&mut Decoder::new(LONGEST), b"\xc0\xdb\xdcx\xc0");
    assert_eq!(read, [(12, data(b"x"))]);
}

#[test]
fn settings_are_told_in_steps_of_ten_milliseconds() {
    assert_eq!(&bytes_of(0, &Command::TxDelay(time(500)))[..], b"\xc0\x01\x32\xc0");
    assert_eq!(&bytes_of(0, &Command::Persistence(63))[..], b"\xc0\x02\x3f\xc0");
    assert_eq!(&bytes_of(0, &Command::SlotTime(time(100)))[..], b"\xc0\x03\x0a\xc0");
    assert_eq!(time(2550).span(), Span::from_millis(2550));
    for wrong in [2560, 15, 2555] {
        let wrong = Span::from_millis(wrong);
        assert_eq!(TncTime::try_from(wrong), Err(BadTime { time: wrong }));
    }
}

#[test]
fn what_makes_no_sense_is_skipped_until_the_next_fend() {
    let mut decoder = Decoder::new(4);
    for (bytes, why) in [
        (&b"\xc0\x00\xdbx\xc0"[..], "FESC before anything but TFEND and TFESC"),
        (b"\xc0\x00\xdb\xc0", "FESC at the end"),
        (b"\xc0\x01\xc0", "a setting without its value"),
        (b"\xc0\x07x\xc0", "an unknown command"),
        (b"\xc0\x00long\xc0", "longer than four bytes"),
    ] {
        let before = decoder.skipped();
        assert_eq!(read(&mut decoder, bytes), [], "{why}");
        assert_eq!(decoder.skipped(), before + 1, "{why}");
        assert_eq!(read(&mut decoder, b"\x00abc\xc0"), [(0, data(b"abc"))], "after {why}");
    }
}

#[test]
fn what_comes_before_the_first_fend_is_the_end_of_a_frame_that_nobody_saw() {
    let mut decoder = Decoder::new(LONGEST);
    assert_eq!(
        read(&mut decoder, b"rest\xc0\xc0\xc0\x00a\xc0\x00b\xc0"),
        [(0, data(b"a")), (0, data(b"b"))]
    );
    assert_eq!(decoder.skipped(), 0);
}

fn any_command() -> impl Strategy<Value = Command> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..LONGEST - 1).prop_map(Bytes::from);
    let time = || any::<u8>().prop_map(TncTime::from_steps);
    prop_oneof![
        bytes().prop_map(Command::Data),
        time().prop_map(Command::TxDelay),
        any::<u8>().prop_map(Command::Persistence),
        time().prop_map(Command::SlotTime),
        time().prop_map(Command::TxTail),
        any::<bool>().prop_map(Command::FullDuplex),
        bytes().prop_map(Command::SetHardware),
        Just(Command::Return),
    ]
}

proptest! {
    #[test]
    fn every_row_of_commands_survives_its_encoding(
        commands in prop::collection::vec((0u8..15, any_command()), 0..6),
    ) {
        let mut bytes = BytesMut::new();
        for (port, command) in &commands {
            encode(Port::new(*port).expect("a port"), command, &mut bytes);
        }
        let mut decoder = Decoder::new(LONGEST);
        let read = read(&mut decoder, &bytes);
        prop_assert_eq!(read.len(), commands.len());
        for ((port, command), (sent_to, sent)) in read.into_iter().zip(commands) {
            prop_assert!(port == sent_to || sent == Command::Return);
            prop_assert_eq!(command, sent);
        }
        prop_assert_eq!(decoder.skipped(), 0);
    }

    #[test]
    fn whatever_comes_no_more_than_a_frame_is_kept(
        bytes in prop::collection::vec(
            prop_oneof![4 => any::<u8>(), 1 => Just(FEND), 1 => Just(FESC)], 0..600),
        longest in 1usize..40,
    ) {
        let mut decoder = Decoder::new(longest);
        for byte in bytes {
            if let Some((_, Command::Data(frame) | Command::SetHardware(frame))) = decoder.push(byte) {
                prop_assert!(frame.len() < longest);
            }
            prop_assert!(decoder.frame.len() <= longest);
            prop_assert!(decoder.frame.capacity() <= 4 * longest.max(1024));
        }
    }
}
