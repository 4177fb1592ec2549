//! Bytes to an SCTP packet and back.

use bentpipe_units::Seq32;
use bentpipe_wire::sctp::{
    AddressChange, Asconf, AsconfAck, AsconfAnswer, AsconfOutcome, AsconfRequest, Auth, Cause,
    Chunk, Data, DataFlags, GapBlock, Init, Packet, Parameter, Sack, UnknownChunk, decode, encode,
};
use bytes::{Bytes, BytesMut};

/// Length of the common header in bytes.
const HEADER: usize = 12;

/// Decodes the input as it is and again with the checksum that belongs to it.
///
/// # Panics
///
/// If something that decodes encodes to a packet that is not equal.
pub fn sctp_packet(data: &[u8]) {
    round_trip(Bytes::copy_from_slice(data));
    round_trip(with_sctp_checksum(data).into());
}

/// Padding comes in several forms and is written in one, so that it is the packets that must be equal.
fn round_trip(bytes: Bytes) {
    let Ok(packet) = decode(bytes) else { return };
    let again = encoded(&packet);
    assert_eq!(packet.wire_len(), again.len(), "length of {packet:?}");
    assert_eq!(decode(again.into()), Ok(packet));
}

/// The input with the CRC32c of an SCTP packet put in its place; unchanged if it is too short to have
/// one.
pub fn with_sctp_checksum(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    if bytes.len() >= HEADER {
        bytes[8..12].fill(0);
        let sum = crc32c::crc32c(&bytes);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    }
    bytes
}

/// The bytes of SCTP packets with every chunk.
pub fn sctp_seeds() -> Vec<Vec<u8>> {
    let tsn = Seq32::new(1000);
    let cookie = Bytes::from_static(b"a state cookie of some length");
    let init = Init {
        tag: 7,
        window: 65_536,
        outbound_streams: 10,
        inbound_streams: 2048,
        initial_tsn: tsn,
        parameters: vec![
            Parameter::Ipv4([10, 0, 0, 1].into()),
            Parameter::Ipv6(1.into()),
            Parameter::SupportedAddresses(vec![5, 6]),
            Parameter::EcnCapable,
            Parameter::Random(Bytes::from_static(&[7; 32])),
            Parameter::Chunks(Bytes::from_static(&[0xc1, 0x80])),
            Parameter::HmacAlgorithms(vec![3, 1]),
            Parameter::SupportedExtensions(Bytes::from_static(&[0xc1, 0x80, 0x0f])),
            Parameter::Other { kind: 0xc000, value: Bytes::from_static(b"new") },
        ],
    };
    let answer = Init {
        parameters: vec![
            Parameter::Cookie(cookie.clone()),
            Parameter::Unrecognized(Bytes::from_static(&[0xc0, 0, 0, 7, b'n', b'e', b'w'])),
            Parameter::EcnCapable,
        ],
        ..init.clone()
    };
    let data = |flags| {
        let payload = Bytes::from_static(b"hello, world");
        Chunk::Data(Data { tsn, stream: 1, ssn: 2, ppid: 3, flags, payload })
    };
    let gap = |start, end| GapBlock { start, end };
    let sack = || {
        Chunk::Sack(Sack {
            cumulative: tsn,
            window: 65_536,
            gaps: [gap(2, 3), gap(5, 9)].into_iter().collect(),
            duplicates: [999].into_iter().collect(),
        })
    };
    let causes = vec![
        Cause::InvalidStream(9),
        Cause::MissingParameters(vec![7]),
        Cause::StaleCookie(100),
        Cause::UserAbort(Bytes::from_static(b"enough")),
    ];
    let info = Bytes::from_static(b"path and time");
    let later = Chunk::Unknown(UnknownChunk { kind: 0xc2, flags: 0, value: cookie.clone() });
    let auth = || {
        let code = Bytes::from_static(&[9; 32]);
        Chunk::Auth(Box::new(Auth { key: 0, algorithm: 3, code, covered: Bytes::new() }))
    };
    let changes = [
        AddressChange::Add([10, 0, 0, 2].into()),
        AddressChange::SetPrimary(1_u128.to_be_bytes().into()),
        AddressChange::Delete([10, 0, 0, 1].into()),
    ];
    let requests = (1..).zip(changes);
    let requests = requests.map(|(correlation, change)| AsconfRequest { correlation, change });
    let known = [10, 0, 0, 1].into();
    let asconf = Asconf { serial: tsn, known, requests: requests.collect() };
    let refused = AsconfOutcome::Refused(vec![Cause::Other { code: 0xa0, value: cookie.clone() }]);
    let outcomes = (1..).zip([AsconfOutcome::Success, refused]);
    let answers = outcomes.map(|(correlation, outcome)| AsconfAnswer { correlation, outcome });
    let asconf_ack = AsconfAck { serial: tsn, answers: answers.collect() };
    let packets = [
        vec![Chunk::Init(Box::new(init))],
        vec![Chunk::InitAck(Box::new(answer))],
        vec![Chunk::CookieEcho(cookie), data(DataFlags::WHOLE)],
        vec![Chunk::CookieAck, sack(), data(DataFlags::BEGIN), data(DataFlags::END)],
        vec![data(DataFlags::WHOLE.with(DataFlags::UNORDERED))],
        vec![sack()],
        vec![Chunk::Ecne(tsn), sack(), Chunk::Cwr(tsn)],
        vec![Chunk::Heartbeat(info.clone())],
        vec![Chunk::HeartbeatAck(info)],
        vec![Chunk::Abort { reflected: true, causes: causes.clone() }],
        vec![Chunk::Error(causes), later],
        vec![auth(), Chunk::Asconf(Box::new(asconf))],
        vec![auth(), Chunk::AsconfAck(Box::new(asconf_ack))],
        vec![Chunk::Shutdown(tsn)],
        vec![Chunk::ShutdownAck],
        vec![Chunk::ShutdownComplete { reflected: false }],
    ];
    let packet = |chunks: Vec<Chunk>| Packet {
        source_port: 5001,
        destination_port: 5002,
        tag: 9,
        chunks: chunks.into(),
        ..Packet::default()
    };
    packets.into_iter().map(|chunks| encoded(&packet(chunks))).collect()
}

fn encoded(packet: &Packet) -> Vec<u8> {
    let mut out = BytesMut::new();
    encode(packet, &mut out);
    out.to_vec()
}
