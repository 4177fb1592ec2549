//! The answer where there is no connection.

use bentpipe_units::Seq32;
use bentpipe_wire::tcp::{Flags, Segment};

/// The answer to a segment that belongs to no connection: a reset that its sender believes, or
/// nothing to a reset (RFC 9293, section 3.5.2, group 1).
pub fn no_session_reset(segment: &Segment) -> Option<Segment> {
    if segment.flags.contains(Flags::RST) {
        return None;
    }
    let answer = Segment {
        source_port: segment.destination_port,
        destination_port: segment.source_port,
        ..Segment::default()
    };
    Some(if segment.flags.contains(Flags::ACK) {
        Segment { seq: segment.ack, flags: Flags::RST, ..answer }
    } else {
        Segment {
            seq: Seq32::default(),
            ack: segment.seq.plus(segment.seq_len()),
            flags: Flags::RST.with(Flags::ACK),
            ..answer
        }
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn stray(flags: Flags) -> Segment {
        Segment {
            source_port: 5001,
            destination_port: 80,
            seq: Seq32::new(u32::MAX),
            ack: Seq32::new(700),
            flags,
            window: 9,
            payload: Bytes::from_static(b"hello"),
            ..Segment::default()
        }
    }

    #[test]
    fn a_reset_has_the_number_that_the_segment_acknowledges() {
        let reset = no_session_reset(&stray(Flags::ACK.with(Flags::PSH))).expect("a reset");
        assert_eq!((reset.source_port, reset.destination_port), (80, 5001));
        assert_eq!((reset.seq, reset.flags), (Seq32::new(700), Flags::RST));
        assert_eq!(reset.wire_len(), 20);
    }

    #[test]
    fn a_reset_acknowledges_a_segment_that_acknowledges_nothing() {
        let reset = no_session_reset(&stray(Flags::SYN)).expect("a reset");
        assert_eq!((reset.seq, reset.ack), (Seq32::new(0), Seq32::new(5)));
        assert_eq!(reset.flags, Flags::RST.with(Flags::ACK));
    }

    #[test]
    fn a_reset_is_not_answered() {
        assert_eq!(no_session_reset(&stray(Flags::RST)), None);
        assert_eq!(no_session_reset(&stray(Flags::RST.with(Flags::ACK))), None);
    }
}
