//! The answer where there is no association.

use bentpipe_wire::sctp::{Cause, Chunk, Packet};

/// The answer to a packet that belongs to no association and no listener: an ABORT or a SHUTDOWN
/// COMPLETE that its sender believes, or nothing (RFC 9260, section 8.4).
pub fn out_of_the_blue(packet: &Packet) -> Option<Packet> {
    let ends = |chunk: &Chunk| match chunk {
        Chunk::Abort { .. } | Chunk::ShutdownComplete { .. } | Chunk::CookieAck => true,
        Chunk::Error(causes) => causes.iter().any(|cause| matches!(cause, Cause::StaleCookie(_))),
        _ => false,
    };
    if packet.chunks.is_empty() || packet.chunks.iter().any(ends) {
        return None;
    }
    let reflected = |chunk| answer(packet, packet.tag, chunk);
    Some(match packet.chunks.first() {
        // The sender of an INIT has told the tag that it believes.
        Some(Chunk::Init(init)) => {
            answer(packet, init.tag, Chunk::Abort { reflected: false, causes: Vec::new() })
        }
        Some(Chunk::ShutdownAck) => reflected(Chunk::ShutdownComplete { reflected: true }),
        _ => reflected(Chunk::Abort { reflected: true, causes: Vec::new() }),
    })
}

/// A packet back to the sender of `packet`.
pub(super) fn answer(packet: &Packet, tag: u32, chunk: Chunk) -> Packet {
    Packet {
        source_port: packet.destination_port,
        destination_port: packet.source_port,
        tag,
        chunks: [chunk].into_iter().collect(),
        ..Packet::default()
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::sctp::{Init, Sack};

    use super::*;

    fn stray(chunk: Chunk) -> Packet {
        let chunks = [chunk].into_iter().collect();
        Packet { source_port: 5001, destination_port: 80, tag: 7, chunks, ..Packet::default() }
    }

    #[test]
    fn a_packet_of_no_association_is_answered_by_an_abort_with_its_own_tag() {
        let abort = out_of_the_blue(&stray(Chunk::Sack(Sack::default()))).expect("an answer");
        assert_eq!((abort.source_port, abort.destination_port, abort.tag), (80, 5001, 7));
        assert_eq!(abort.chunks[0], Chunk::Abort { reflected: true, causes: Vec::new() });
    }

    #[test]
    fn an_init_nobody_waits_for_is_answered_with_the_tag_that_it_names() {
        let init = Init { tag: 99, ..Init::default() };
        let abort = out_of_the_blue(&stray(Chunk::Init(Box::new(init)))).expect("an answer");
        assert_eq!(abort.tag, 99);
        assert_eq!(abort.chunks[0], Chunk::Abort { reflected: false, causes: Vec::new() });
    }

    #[test]
    fn a_peer_that_waits_for_the_end_of_its_shutdown_gets_it() {
        let complete = out_of_the_blue(&stray(Chunk::ShutdownAck)).expect("an answer");
        assert_eq!(complete.chunks[0], Chunk::ShutdownComplete { reflected: true });
    }

    #[test]
    fn what_ends_something_itself_has_no_answer() {
        for chunk in [
            Chunk::Abort { reflected: false, causes: Vec::new() },
            Chunk::ShutdownComplete { reflected: true },
            Chunk::CookieAck,
            Chunk::Error(vec![Cause::StaleCookie(1)]),
        ] {
            assert_eq!(out_of_the_blue(&stray(chunk)), None);
        }
    }
}
