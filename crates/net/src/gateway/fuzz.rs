//! What the fuzz target of held openings does with its input.

use bentpipe_gateway::Verdict;
use etherparse::PacketBuilder;

use super::capture::Syn;

const VERDICTS: [Verdict; 7] = [
    Verdict::Connected,
    Verdict::Refused,
    Verdict::Unreachable,
    Verdict::TimedOut,
    Verdict::Forbidden,
    Verdict::UnknownName,
    Verdict::Busy,
];
/// What an answer to a packet is longer at most: its own headers.
const HEADERS: usize = 40 + 8;

/// Answers the input as a packet that opens a connection.
///
/// # Panics
///
/// If an answer is longer than the packet and the headers around it.
pub fn opening_packet(input: &[u8]) {
    let Some(syn) = Syn::parse(input) else { return };
    for answer in VERDICTS.into_iter().filter_map(|verdict| syn.answer(verdict)) {
        assert!(answer.len() <= input.len() + HEADERS, "{} for {}", answer.len(), input.len());
    }
}

/// Packets that open connections.
pub fn packet_seeds() -> Vec<Vec<u8>> {
    let mut packets = vec![Vec::new(); 2];
    let v4 = PacketBuilder::ipv4([10, 0, 0, 1], [192, 0, 2, 1], 64).tcp(4_000, 80, 7, 1_000).syn();
    v4.write(&mut packets[0], b"early").expect("memory has room");
    let v6 = PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(4_000, 80, 7, 1_000).syn();
    v6.write(&mut packets[1], &[]).expect("memory has room");
    packets
}
