//! The protocol stack of packet radio in the XSTP paper (section 7, figure 18): FTP, XSTP, IPv4 with a source route, AX.25
//! by KISS.
//!
//! | layer | bytes | module |
//! |---|---|---|
//! | KISS command | 1 | [`kiss`] |
//! | AX.25 | 16 | [`ax25`] |
//! | IPv4 and source route | 60 | [`source_route`] |
//! | XSTP | 16 | [`crate::xstp`] |
//! | FTP | 5 | [`ftp`] |
//! | file | up to 157 | |
//!
//! That makes a frame of [`LONGEST_FRAME`] bytes. The paper's 17 bytes of AX.25 are its 16 and the byte of KISS.

mod address;
pub mod ax25;
pub mod ftp;
pub mod kiss;
pub mod source_route;

pub use address::{Address, BadAddress};

/// Bytes of the longest frame, the byte with the KISS command included: the paper's frame size.
pub const LONGEST_FRAME: usize = 255;

/// Bytes before each segment: KISS command, AX.25 without repeaters, IPv4 with its source route.
pub const OVERHEAD: usize = 1 + ax25::HEADER + source_route::HEADER;

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};

    use super::*;
    use crate::xstp;

    /// A message of FTP with so many bytes of a file in a frame as it goes to the TNC, unescaped.
    fn frame(file_bytes: usize) -> Bytes {
        let body = vec![b'x'; file_bytes].into();
        let mut message = BytesMut::new();
        ftp::encode(&ftp::Message { kind: ftp::Kind::Data, sequence: 0, body }, &mut message)
            .expect("short enough");
        let flow = xstp::Flow { payload: message.freeze(), ..xstp::Flow::default() };
        let segment = xstp::Segment { body: xstp::Body::Flow(flow), ..xstp::Segment::default() };
        let mut payload = BytesMut::new();
        xstp::encode(&segment, None, &mut payload);
        let packet = source_route::Packet {
            source: [44, 0, 0, 1].into(),
            destination: [44, 0, 0, 2].into(),
            identification: 1,
            time_to_live: 8,
            hops: Default::default(),
            segments_left: 0,
            protocol: xstp::PROTOCOL,
            payload: payload.freeze(),
        };
        let mut payload = BytesMut::new();
        source_route::encode(&packet, &mut payload).expect("short enough");
        let frame = ax25::Frame {
            destination: "GROUND".parse().expect("an address"),
            source: "SAT".parse().expect("an address"),
            repeaters: Default::default(),
            pid: ax25::Pid::Ip,
            payload: payload.freeze(),
        };
        let mut bytes = BytesMut::new();
        ax25::encode(&frame, &mut bytes).expect("no repeaters");
        bytes.freeze()
    }

    #[test]
    fn the_longest_frame_carries_157_bytes_of_a_file() {
        assert_eq!(1 + frame(157).len(), LONGEST_FRAME);
        assert_eq!(LONGEST_FRAME - OVERHEAD - 16 - ftp::HEADER, 157);
    }

    #[test]
    fn a_file_comes_out_of_the_bytes_on_the_serial_line() {
        let sent = frame(157);
        let mut line = BytesMut::new();
        kiss::encode(kiss::Port::default(), &kiss::Command::Data(sent), &mut line);
        let mut decoder = kiss::Decoder::new(LONGEST_FRAME);
        let read: Vec<_> = line.iter().filter_map(|byte| decoder.push(*byte)).collect();
        let [(_, kiss::Command::Data(bytes))] = &read[..] else { panic!("{read:?}") };
        let frame = ax25::decode(bytes).expect("a frame");
        let packet = source_route::decode(frame.payload).expect("a packet");
        let segment = xstp::decode(packet.payload, None).expect("a segment");
        let xstp::Body::Flow(flow) = segment.body else { panic!("{segment:?}") };
        let mut stream = BytesMut::from(&flow.payload[..]);
        let message = ftp::take(&mut stream).expect("a message").expect("a whole one");
        assert_eq!(message.body, vec![b'x'; 157]);
    }
}
