//! Bytes from a terminal node controller: KISS, and what its frames carry.

use bentpipe_wire::radio::{LONGEST_FRAME, ax25, ftp, kiss, source_route};
use bytes::{Bytes, BytesMut};

/// Reads the input as what comes over the serial line, and what comes out of that as AX.25, IPv4 with a source route, and
/// messages of file transfer.
///
/// # Panics
///
/// If something that decodes is encoded to what is decoded otherwise, or a frame is longer than it may be.
pub fn kiss_stream(data: &[u8]) {
    let mut decoder = kiss::Decoder::new(LONGEST_FRAME);
    for byte in data {
        let Some((port, command)) = decoder.push(*byte) else { continue };
        let mut again = BytesMut::new();
        kiss::encode(port, &command, &mut again);
        let mut second = kiss::Decoder::new(LONGEST_FRAME);
        let read = again.iter().find_map(|byte| second.push(*byte));
        assert_eq!(read, Some((port, command.clone())));
        if let kiss::Command::Data(frame) = command {
            assert!(frame.len() < LONGEST_FRAME);
            radio_frame(&frame);
        }
    }
}

/// Decodes the input as a frame of AX.25, as an IPv4 packet with a source route and as messages of file transfer.
///
/// # Panics
///
/// If something that decodes is encoded to what is decoded otherwise.
pub fn radio_frame(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    if let Ok(frame) = ax25::decode(&bytes) {
        let mut again = BytesMut::new();
        assert_eq!(ax25::encode(&frame, &mut again), Ok(()));
        assert_eq!(ax25::decode(&again.freeze()), Ok(frame.clone()));
        packet(&frame.payload);
    }
    packet(&bytes);
    messages(data);
}

fn packet(bytes: &Bytes) {
    let Ok(packet) = source_route::decode(bytes.clone()) else { return };
    let mut again = BytesMut::new();
    assert_eq!(source_route::encode(&packet, &mut again), Ok(()));
    assert_eq!(again, bytes, "encoding of {packet:?}");
    messages(&packet.payload);
}

fn messages(bytes: &[u8]) {
    let mut stream = BytesMut::from(bytes);
    while let Ok(Some(message)) = ftp::take(&mut stream) {
        let mut again = BytesMut::new();
        assert_eq!(ftp::encode(&message, &mut again), Ok(()));
        assert_eq!(ftp::take(&mut again), Ok(Some(message)));
    }
}

/// A frame with a packet with a message, that frame on the serial line, and settings of the controller.
pub fn radio_seeds() -> Vec<Vec<u8>> {
    let mut message = BytesMut::new();
    let body = Bytes::from_static(b"name");
    let sent = ftp::encode(&ftp::Message { kind: ftp::Kind::Get, sequence: 0, body }, &mut message);
    assert_eq!(sent, Ok(()));
    let mut payload = BytesMut::new();
    let packet = source_route::Packet {
        source: [44, 0, 0, 1].into(),
        destination: [44, 0, 0, 2].into(),
        identification: 1,
        time_to_live: 8,
        hops: [[44, 0, 0, 3].into()].into_iter().collect(),
        segments_left: 1,
        protocol: 253,
        payload: message.freeze(),
    };
    assert_eq!(source_route::encode(&packet, &mut payload), Ok(()));
    let address = |text: &str| text.parse().expect("an address");
    let frame = ax25::Frame {
        destination: address("GROUND"),
        source: address("SAT-1"),
        repeaters: Default::default(),
        pid: ax25::Pid::Ip,
        payload: payload.freeze(),
    };
    let mut bytes = BytesMut::new();
    assert_eq!(ax25::encode(&frame, &mut bytes), Ok(()));
    let bytes = bytes.freeze();
    let mut line = BytesMut::new();
    let settings = [kiss::Command::Persistence(63), kiss::Command::FullDuplex(false)];
    for command in settings.into_iter().chain([kiss::Command::Data(bytes.clone())]) {
        kiss::encode(kiss::Port::default(), &command, &mut line);
    }
    vec![bytes.to_vec(), line.to_vec()]
}
