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
mod tests {
    use bentpipe_link::Streams;

    use super::super::{Connections, WebSpec};
    use super::*;

    const BEGIN: Instant = Instant::from_nanos(1_000_000_000);

    fn session(spec: &TrafficSpec) -> Session {
        Session::new(spec, BEGIN, Streams::new(1).stream("session"))
    }

    /// When pieces come up, in seconds, and their bytes; each arrives `delay` later.
    fn pieces(spec: &TrafficSpec, delay: Span, most: usize) -> Vec<(f64, u64)> {
        let mut session = session(spec);
        let mut pieces = Vec::new();
        let mut arrivals = std::collections::VecDeque::new();
        while pieces.len() < most {
            match (session.next(), arrivals.front().copied()) {
                (Some(next), arrival) if arrival.is_none_or(|at| next < at) => {
                    if let Some(bytes) = session.fire(next) {
                        pieces.push((next.as_secs_f64(), bytes.get()));
                        arrivals.push_back(next + delay);
                    }
                }
                (_, Some(at)) => {
                    arrivals.pop_front();
                    session.arrived(at);
                }
                _ => {
                    assert!(session.is_over());
                    break;
                }
            }
        }
        pieces
    }

    fn constant(jitter: f64, count: Option<u64>) -> TrafficSpec {
        let (packet, interval) = (ByteCount::new(200), Span::from_millis(20));
        TrafficSpec::Constant { packet, interval, jitter, count }
    }

    #[test]
    fn packets_come_at_equal_intervals_and_then_no_more() {
        let times = pieces(&constant(0.0, Some(4)), Span::ZERO, 100);
        assert_eq!(times, [(1.0, 200), (1.02, 200), (1.04, 200), (1.06, 200)]);
        assert!(pieces(&constant(0.0, Some(0)), Span::ZERO, 100).is_empty());
    }

    #[test]
    fn noise_stays_within_its_width_and_leaves_the_rate_as_it_is() {
        let times = pieces(&constant(0.5, None), Span::ZERO, 20_000);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(gaps.iter().all(|gap| (0.01499..0.02501).contains(gap)));
        assert!(gaps.iter().any(|gap| *gap < 0.0151) && gaps.iter().any(|gap| *gap > 0.0249));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean / 0.02 - 1.0).abs() < 0.005, "{mean}");
    }

    #[test]
    fn bursts_offer_their_rate_for_their_share_of_the_time() {
        let (packet, interval) = (ByteCount::new(200), Span::from_millis(20));
        for (on, off) in [
            (Draw::Exponential(0.5), Draw::Exponential(1.0)),
            (Draw::Pareto(0.5, 2.5), Draw::Pareto(1.0, 2.5)),
        ] {
            let spec = TrafficSpec::OnOff { packet, interval, on, off, count: None };
            let times = pieces(&spec, Span::ZERO, 100_000);
            let rate = 100_000.0 / (times[99_999].0 - 1.0);
            // A third of 50 packets a second; every burst has a packet at least.
            assert!((rate / (50.0 / 3.0) - 1.0).abs() < 0.05, "{rate}");
            let silences = times.windows(2).filter(|pair| pair[1].0 - pair[0].0 > 0.0201).count();
            assert!((3_500..4_300).contains(&silences), "{silences}");
        }
    }

    #[test]
    fn the_next_file_waits_for_the_one_before() {
        let spec = TrafficSpec::Files {
            size: ByteCount::new(5000),
            pause: Draw::Constant(2.0),
            count: Some(3),
        };
        let times = pieces(&spec, Span::from_millis(500), 100);
        assert_eq!(times, [(1.0, 5000), (3.5, 5000), (6.0, 5000)]);
    }

    fn web(start_to_start: bool, inter_page: Draw) -> TrafficSpec {
        TrafficSpec::Web(WebSpec {
            sessions: 1,
            session_gap: Span::ZERO,
            pages: 3,
            objects: Draw::Constant(2.0),
            inter_page,
            start_to_start,
            inter_object: Draw::Constant(0.25),
            object: Draw::Constant(999.5),
            connections: Connections::Persistent,
        })
    }

    #[test]
    fn a_page_begins_when_the_one_before_is_there_and_read() {
        let times = pieces(&web(false, Draw::Constant(10.0)), Span::from_secs(1), 100);
        let pages = [(1.0, 1000), (1.25, 1000), (12.25, 1000), (12.5, 1000), (23.5, 1000)];
        assert_eq!((&times[..5], times.len()), (&pages[..], 6));
    }

    #[test]
    fn a_page_may_begin_a_time_after_the_begin_of_the_one_before() {
        let times = pieces(&web(true, Draw::Constant(10.0)), Span::from_secs(60), 100);
        let pages = [(1.0, 1000), (1.25, 1000), (11.0, 1000), (11.25, 1000), (21.0, 1000)];
        assert_eq!((&times[..5], times.len()), (&pages[..], 6));
    }
}
