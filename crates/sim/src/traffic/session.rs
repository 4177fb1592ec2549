//! One sequence of pieces: when each comes up and how long it is.

use bentpipe_link::Stream;
use bentpipe_units::{ByteCount, Instant, Span};

use super::{Draw, TrafficSpec};

/// Longest web object.
const LONGEST_OBJECT: f64 = 100e6;

/// One sequence of pieces, with random draws of its own.
#[derive(Debug)]
pub(crate) struct Session {
    plan: Plan,
    stream: Stream,
    /// When it acts next.
    next: Option<Instant>,
    /// Pieces that came up and have not arrived.
    outstanding: u64,
}

/// Pieces that come when their time comes, or when those before have arrived.
#[derive(Debug)]
enum Plan {
    Timed {
        packet: u64,
        interval: Span,
        jitter: f64,
        /// Bursts: their length and that of silences, and the packets left of this one.
        bursts: Option<(Draw, Draw, u64)>,
        left: Option<u64>,
    },
    Files {
        size: u64,
        pause: Draw,
        left: Option<u64>,
    },
    Web {
        objects: Draw,
        inter_page: Draw,
        start_to_start: bool,
        inter_object: Draw,
        object: Draw,
        pages_left: u32,
        /// Objects of this page that did not come up yet.
        objects_left: u64,
        page_began: Instant,
    },
}

/// Counts one of what is left; false when nothing was.
fn take_one(left: &mut Option<u64>) -> bool {
    match left {
        Some(0) => false,
        Some(n) => {
            *n -= 1;
            true
        }
        None => true,
    }
}

impl Session {
    /// A session of this traffic that begins at `start`.
    pub(crate) fn new(spec: &TrafficSpec, start: Instant, stream: Stream) -> Self {
        let plan = match spec {
            TrafficSpec::Constant { packet, interval, jitter, count } => Plan::Timed {
                packet: packet.get(),
                interval: *interval,
                jitter: *jitter,
                bursts: None,
                left: *count,
            },
            TrafficSpec::OnOff { packet, interval, on, off, count } => Plan::Timed {
                packet: packet.get(),
                interval: *interval,
                jitter: 0.0,
                bursts: Some((*on, *off, 0)),
                left: *count,
            },
            TrafficSpec::Files { size, pause, count } => {
                Plan::Files { size: size.get(), pause: *pause, left: *count }
            }
            TrafficSpec::Web(web) => Plan::Web {
                objects: web.objects,
                inter_page: web.inter_page,
                start_to_start: web.start_to_start,
                inter_object: web.inter_object,
                object: web.object,
                pages_left: web.pages,
                objects_left: 0,
                page_began: start,
            },
        };
        let mut session = Self { plan, stream, next: Some(start), outstanding: 0 };
        if session.is_empty() {
            session.next = None;
        }
        session
    }

    /// True when no piece will come up any more.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.plan {
            Plan::Timed { left, .. } | Plan::Files { left, .. } => *left == Some(0),
            Plan::Web { pages_left, objects_left, .. } => *pages_left == 0 && *objects_left == 0,
        }
    }

    /// True when all has come up and arrived.
    pub(super) fn is_over(&self) -> bool {
        self.is_empty() && self.outstanding == 0
    }

    /// When [`Session::fire`] must be called.
    pub(crate) const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Its time has come: a piece of so many bytes comes up.
    pub(crate) fn fire(&mut self, now: Instant) -> Option<ByteCount> {
        let stream = &mut self.stream;
        let seconds = |draw: Draw, stream: &mut Stream| Span::from_secs_f64(draw.draw(stream));
        let (bytes, wait) = match &mut self.plan {
            Plan::Timed { packet, interval, jitter, bursts, left } => {
                if !take_one(left) {
                    return None;
                }
                let mut wait = *interval;
                if *jitter > 0.0 {
                    wait = interval.mul_f64(1.0 + *jitter * (stream.unit() - 0.5));
                }
                if let Some((on, off, burst)) = bursts {
                    if *burst == 0 {
                        let packets = on.draw(stream) / interval.as_secs_f64().max(1e-9);
                        *burst = (packets + 0.5) as u64;
                    }
                    *burst = burst.saturating_sub(1);
                    if *burst == 0 {
                        wait = wait + seconds(*off, stream);
                    }
                }
                (*packet, Some(wait))
            }
            Plan::Files { size, left, .. } => {
                if !take_one(left) {
                    return None;
                }
                (*size, None)
            }
            Plan::Web {
                objects,
                inter_page,
                start_to_start,
                inter_object,
                object,
                pages_left,
                objects_left,
                page_began,
            } => {
                if *objects_left == 0 {
                    *pages_left = pages_left.checked_sub(1)?;
                    *objects_left = objects.draw(stream).ceil().max(1.0) as u64;
                    *page_began = now;
                }
                *objects_left -= 1;
                let bytes = object.draw(stream).ceil().clamp(1.0, LONGEST_OBJECT) as u64;
                let wait = if *objects_left > 0 {
                    Some(seconds(*inter_object, stream))
                } else if *start_to_start {
                    let next = *page_began + seconds(*inter_page, stream);
                    Some(next.since(now))
                } else {
                    None
                };
                (bytes, wait)
            }
        };
        self.outstanding += 1;
        self.next = wait.filter(|_| !self.is_empty()).map(|wait| now + wait);
        Some(ByteCount::new(bytes))
    }

    /// One of its pieces has arrived, or never will.
    pub(super) fn arrived(&mut self, now: Instant) {
        self.outstanding = self.outstanding.saturating_sub(1);
        let pause = match &self.plan {
            Plan::Files { pause, .. } => *pause,
            Plan::Web { inter_page, start_to_start: false, objects_left: 0, .. } => *inter_page,
            Plan::Timed { .. } | Plan::Web { .. } => return,
        };
        if self.outstanding == 0 && !self.is_empty() {
            self.next = Some(now + Span::from_secs_f64(pause.draw(&mut self.stream)));
        }
    }
}

#[cfg(test)]
mod tests;
