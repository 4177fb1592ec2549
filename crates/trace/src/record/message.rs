//! What a recorder and a responder say to each other.
//!
//! Every datagram begins with a mark, its kind and the number of the session. An answer is never longer than its probe.

use bentpipe_units::Span;
use bytes::{Buf, BufMut};

use super::cookie::Cookie;

const MARK: u32 = u32::from_be_bytes(*b"bpt1");
const ECHO: u8 = 0;
const PROBE: u8 = 1;
const ANSWER: u8 = 2;
const LOAD: u8 = 3;
const BYE: u8 = 4;

/// Bytes of what is sent to be echoed.
pub(super) const ECHO_SIZE: usize = 32;
/// Bytes of a probe and of its answer.
pub(super) const PROBE_SIZE: usize = 128;
/// Counts of bins in an answer to a probe that has room for them.
pub(super) const MOST_BINS: usize = 16;
/// Bytes of a probe whose answer has room for counts.
pub(super) const WIDE_SIZE: usize = PROBE_SIZE + 4 * MOST_BINS;
/// Bytes of a datagram of a load.
pub(super) const LOAD_SIZE: usize = 1200;
/// Bytes of a goodbye.
pub(super) const BYE_SIZE: usize = 16;
/// Words of 64 probes in what an answer tells of those before it.
pub(super) const SEEN_WORDS: usize = 4;

/// Bytes of a load are counted together for so long.
pub(super) const BIN: Span = Span::from_millis(100);
/// A recorder that says nothing for so long has left.
pub(super) const SILENCE: Span = Span::from_secs(1);

/// One datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A probe for whoever sends it back as it is.
    Echo { session: u64, seq: u64 },
    /// A probe for a responder.
    Probe(Probe),
    /// Its answer.
    Answer(Answer),
    /// A part of a load, either way.
    Load { session: u64, seq: u64 },
    /// The recorder leaves.
    Bye { session: u64 },
}

/// A probe for a responder, which opens the session if there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) session: u64,
    pub(super) seq: u64,
    pub(super) cookie: Cookie,
    /// The load that is asked for in bits per second, 0 for none.
    pub(super) load: u64,
    /// Nanoseconds for which it is to last from now on.
    pub(super) remaining: u64,
    /// The first bin whose count is not known.
    pub(super) want: u64,
    /// Its bytes, and those that its answer may have.
    pub(super) size: usize,
}

/// What a responder thinks of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// Its session is open.
    Open,
    /// The next one is to have the cookie of the answer.
    Unproven,
    /// There are as many sessions as there may be.
    Full,
    /// The load is faster than what is left of this rate in bits per second.
    TooFast(u64),
    /// The session has or would have more bytes than this.
    TooMuch(u64),
}

/// The answer to a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) session: u64,
    pub(super) seq: u64,
    pub(super) status: Status,
    pub(super) cookie: Cookie,
    /// Nanoseconds on the responder's clock.
    pub(super) clock: u64,
    /// The latest probe that came.
    pub(super) latest: u64,
    /// Which of those before it came: the lowest bit of the first word is the latest one itself.
    pub(super) seen: [u64; SEEN_WORDS],
    /// The first bin of the counts.
    pub(super) first: u64,
    /// Bytes that came in each bin.
    pub(super) bins: Vec<u32>,
}

impl Message {
    /// Writes a datagram.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.clear();
        out.put_u32(MARK);
        let (kind, session) = match self {
            Self::Echo { session, .. } => (ECHO, *session),
            Self::Probe(probe) => (PROBE, probe.session),
            Self::Answer(answer) => (ANSWER, answer.session),
            Self::Load { session, .. } => (LOAD, *session),
            Self::Bye { session } => (BYE, *session),
        };
        out.put_u8(kind);
        out.put_bytes(0, 3);
        out.put_u64(session);
        let size = match self {
            Self::Echo { seq, .. } => {
                out.put_u64(*seq);
                ECHO_SIZE
            }
            Self::Probe(probe) => {
                out.put_u64(probe.seq);
                out.put_slice(probe.cookie.as_bytes());
                for number in [probe.load, probe.remaining, probe.want] {
                    out.put_u64(number);
                }
                probe.size
            }
            Self::Answer(answer) => {
                answer.write(out);
                out.len()
            }
            Self::Load { seq, .. } => {
                out.put_u64(*seq);
                LOAD_SIZE
            }
            Self::Bye { .. } => BYE_SIZE,
        };
        out.resize(size, 0);
    }

    /// Reads a datagram; `None` when it is none of these.
    pub(super) fn read(mut datagram: &[u8]) -> Option<Self> {
        let size = datagram.len();
        let rest = &mut datagram;
        if rest.try_get_u32().ok()? != MARK {
            return None;
        }
        let kind = rest.try_get_u8().ok()?;
        rest.try_copy_to_slice(&mut [0; 3]).ok()?;
        let session = rest.try_get_u64().ok()?;
        if kind == BYE {
            return (size == BYE_SIZE).then_some(Self::Bye { session });
        }
        let seq = rest.try_get_u64().ok()?;
        match kind {
            ECHO if size == ECHO_SIZE => Some(Self::Echo { session, seq }),
            LOAD if size == LOAD_SIZE => Some(Self::Load { session, seq }),
            PROBE if size == PROBE_SIZE || size == WIDE_SIZE => Some(Self::Probe(Probe {
                session,
                seq,
                cookie: cookie(rest)?,
                load: rest.try_get_u64().ok()?,
                remaining: rest.try_get_u64().ok()?,
                want: rest.try_get_u64().ok()?,
                size,
            })),
            ANSWER if size <= WIDE_SIZE => Answer::read(session, seq, rest).map(Self::Answer),
            _ => None,
        }
    }
}

fn cookie(rest: &mut &[u8]) -> Option<Cookie> {
    let mut cookie = [0; Cookie::SIZE];
    rest.try_copy_to_slice(&mut cookie).ok()?;
    Some(Cookie::from_bytes(cookie))
}

impl Answer {
    fn write(&self, out: &mut Vec<u8>) {
        out.put_u64(self.seq);
        out.put_slice(self.cookie.as_bytes());
        let (code, most) = match self.status {
            Status::Open => (0, 0),
            Status::Unproven => (1, 0),
            Status::Full => (2, 0),
            Status::TooFast(most) => (3, most),
            Status::TooMuch(most) => (4, most),
        };
        // A session has no more than 2^56 bytes, and a rate no more bits in a second.
        out.put_u64((code << 56) | (most & MOST));
        out.put_u64(self.clock);
        out.put_u64(self.latest);
        self.seen.iter().for_each(|word| out.put_u64(*word));
        out.put_u64(self.first);
        self.bins.iter().take(MOST_BINS).for_each(|bin| out.put_u32(*bin));
    }

    fn read(session: u64, seq: u64, rest: &mut &[u8]) -> Option<Self> {
        let cookie = cookie(rest)?;
        let status = rest.try_get_u64().ok()?;
        let most = status & MOST;
        let status = match status >> 56 {
            0 => Status::Open,
            1 => Status::Unproven,
            2 => Status::Full,
            3 => Status::TooFast(most),
            4 => Status::TooMuch(most),
            _ => return None,
        };
        let clock = rest.try_get_u64().ok()?;
        let latest = rest.try_get_u64().ok()?;
        let mut seen = [0; SEEN_WORDS];
        for word in &mut seen {
            *word = rest.try_get_u64().ok()?;
        }
        let first = rest.try_get_u64().ok()?;
        let bins = std::iter::from_fn(|| rest.try_get_u32().ok()).take(MOST_BINS).collect();
        Some(Self { session, seq, status, cookie, clock, latest, seen, first, bins })
    }
}

const MOST: u64 = (1 << 56) - 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn probe(size: usize) -> Message {
        let cookie = Cookie::from_bytes([7; Cookie::SIZE]);
        let (load, remaining, want) = (10, 11, 12);
        Message::Probe(Probe { session: 1, seq: 2, cookie, load, remaining, want, size })
    }

    fn answer(status: Status, bins: Vec<u32>) -> Message {
        let cookie = Cookie::from_bytes([9; Cookie::SIZE]);
        let (clock, latest, seen, first) = (3, 4, [5, 6, 7, 8], 9);
        let (session, seq) = (1, 2);
        Message::Answer(Answer { session, seq, status, cookie, clock, latest, seen, first, bins })
    }

    #[test]
    fn what_is_written_is_read_again_and_an_answer_is_no_longer_than_its_probe() {
        let many = vec![u32::MAX; MOST_BINS];
        for (message, most) in [
            (Message::Echo { session: 1, seq: 2 }, ECHO_SIZE),
            (probe(PROBE_SIZE), PROBE_SIZE),
            (probe(WIDE_SIZE), WIDE_SIZE),
            (answer(Status::Open, vec![]), PROBE_SIZE),
            (answer(Status::Full, many), WIDE_SIZE),
            (answer(Status::TooFast(1_000_000), vec![]), PROBE_SIZE),
            (answer(Status::TooMuch(1 << 40), vec![1]), WIDE_SIZE),
            (Message::Load { session: 1, seq: 2 }, LOAD_SIZE),
            (Message::Bye { session: 1 }, BYE_SIZE),
        ] {
            let mut out = Vec::new();
            message.write(&mut out);
            assert!(out.len() <= most, "{message:?} has {} bytes", out.len());
            assert_eq!(Message::read(&out), Some(message));
        }
    }

    proptest! {
        #[test]
        fn no_datagram_makes_it_panic(tail in proptest::collection::vec(any::<u8>(), 0..1300), kind in 0u8..6, cut in 0usize..1300) {
            let mut datagram = MARK.to_be_bytes().to_vec();
            datagram.push(kind);
            datagram.extend(&tail);
            datagram.truncate(cut);
            let _ = Message::read(&datagram);
            let _ = Message::read(&tail);
        }
    }
}
