//! The far end of a recording.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use bentpipe_units::{BitRate, ByteCount, Instant};

use super::cookie::Baker;
use super::message::{
    Answer, LOAD_SIZE, MOST_BINS, Message, PROBE_SIZE, Probe, SEEN_WORDS, SILENCE, Status,
};
use super::pace::Pacer;
use super::session::{Session, until};

/// Sessions at the same time.
const MOST_SESSIONS: usize = 16;

/// What a responder gives away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The rate of the loads that it sends, all of them together.
    pub rate: BitRate,
    /// Bytes that it sends in one session.
    pub bytes: ByteCount,
}

/// Answers probes, counts loads and sends them.
///
/// Anybody may send to it. Before an address has shown by a cookie that it receives what is sent there, it is sent no
/// more than came from it. There are 16 sessions at most, and each of them ends when its recorder is silent for a second.
#[derive(Debug)]
pub struct Responder {
    limits: Limits,
    baker: Baker,
    sessions: BTreeMap<(SocketAddr, u64), Session>,
}

impl Responder {
    /// A responder with a secret that nobody can guess.
    pub const fn new(limits: Limits, secret: [u8; 32]) -> Self {
        Self { limits, baker: Baker::new(secret), sessions: BTreeMap::new() }
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// A datagram came. `true` when `out` has the answer to it.
    pub fn handle(
        &mut self,
        now: Instant,
        from: SocketAddr,
        datagram: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        self.forget(now);
        let size = wire(from, datagram.len());
        match Message::read(datagram) {
            Some(Message::Probe(probe)) => {
                let answer = self.answer(now, from, &probe, size);
                Message::Answer(answer).write(out);
                true
            }
            Some(Message::Load { session, .. }) => {
                if let Some(session) = self.sessions.get_mut(&(from, session)) {
                    session.heard(now, size);
                }
                false
            }
            Some(Message::Bye { session }) => {
                self.sessions.remove(&(from, session));
                false
            }
            Some(Message::Echo { .. } | Message::Answer(_)) | None => false,
        }
    }

    fn answer(&mut self, now: Instant, from: SocketAddr, probe: &Probe, size: ByteCount) -> Answer {
        let cookie = self.baker.bake(from, probe.session, now);
        let mut answer = Answer {
            session: probe.session,
            seq: probe.seq,
            status: Status::Unproven,
            cookie,
            clock: now.as_nanos(),
            latest: 0,
            seen: [0; SEEN_WORDS],
            first: 0,
            bins: Vec::new(),
        };
        let key = (from, probe.session);
        if !self.baker.knows(&probe.cookie, from, probe.session, now) {
            return answer;
        }
        if !self.sessions.contains_key(&key) {
            match self.open(now, from, probe) {
                Ok(session) => self.sessions.insert(key, session),
                Err(status) => return Answer { status, ..answer },
            };
        }
        let Some(session) = self.sessions.get_mut(&key) else { return answer };
        session.heard(now, size);
        session.probed(probe.seq);
        session.end_load(until(now, probe.remaining));
        (answer.latest, answer.seen) = session.seen();
        if session.spend(size, self.limits.bytes) {
            let room = probe.size.saturating_sub(PROBE_SIZE) / 4;
            answer.status = Status::Open;
            (answer.first, answer.bins) = session.counts(now, probe.want, room.min(MOST_BINS));
        } else {
            answer.status = Status::TooMuch(self.limits.bytes.get());
        }
        answer
    }

    /// A session for a probe, or why there is none.
    fn open(&self, now: Instant, from: SocketAddr, probe: &Probe) -> Result<Session, Status> {
        if self.sessions.len() >= MOST_SESSIONS {
            return Err(Status::Full);
        }
        let load = (probe.load > 0).then(|| BitRate::from_bps(probe.load));
        let Some(rate) = load else { return Ok(Session::new(now, None)) };
        let loads = self.sessions.values().filter_map(Session::load);
        let used = loads.fold(0u64, |sum, load| sum.saturating_add(load.rate().as_bps()));
        let left = self.limits.rate.as_bps().saturating_sub(used);
        if rate.as_bps() > left {
            return Err(Status::TooFast(left));
        }
        let end = until(now, probe.remaining);
        let needed = rate.bytes_in(end.since(now)) + wire(from, LOAD_SIZE);
        if needed > self.limits.bytes {
            return Err(Status::TooMuch(self.limits.bytes.get()));
        }
        Ok(Session::new(now, Some((Pacer::new(rate, now), end))))
    }

    /// What is sent unasked now, and to whom.
    pub fn poll(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        self.forget(now);
        let most = self.limits.bytes;
        self.sessions.iter_mut().find_map(|((to, number), session)| {
            let size = wire(*to, LOAD_SIZE);
            let seq = session.take_load(now, size)?;
            if !session.spend(size, most) {
                return None;
            }
            Message::Load { session: *number, seq }.write(out);
            Some(*to)
        })
    }

    /// When there is something to send next.
    pub fn timeout(&self) -> Option<Instant> {
        self.sessions.values().filter_map(|session| Some(session.load()?.next())).min()
    }

    fn forget(&mut self, now: Instant) {
        self.sessions.retain(|_, session| now.since(session.last_heard()) < SILENCE);
    }
}

/// Bytes of a datagram of UDP with its headers.
fn wire(address: SocketAddr, size: usize) -> ByteCount {
    let headers = match address.ip().to_canonical() {
        IpAddr::V4(_) => 28,
        IpAddr::V6(_) => 48,
    };
    ByteCount::new(headers + size as u64)
}
