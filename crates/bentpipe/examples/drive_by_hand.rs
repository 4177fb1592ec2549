//! Two endpoints of XSTP, a wire of 250 ms, and a loop: no simulator, no socket, no clock.

use std::collections::VecDeque;
use std::sync::Arc;

use bentpipe::transport::xstp::{Config, Session};
use bentpipe::transport::{Endpoint, Event, Host, PathId, Ports, drain};
use bentpipe::units::{Instant, Span};
use bentpipe::wire::Segment;
use bytes::Bytes;

const DELAY: Span = Span::from_millis(250);
const PATH: PathId = PathId(0);

/// What surrounds an end: a wire that nothing is lost on, and an application that writes what it has and reads what comes.
#[derive(Default)]
struct Surroundings {
    place: Segment,
    wire: VecDeque<(Instant, Segment)>,
    to_write: Bytes,
    read: Vec<u8>,
}

impl Host<Session> for Surroundings {
    fn place(&mut self) -> &mut Segment {
        &mut self.place
    }

    fn transmit(&mut self, now: Instant, _path: PathId) {
        self.wire.push_back((now + DELAY, std::mem::take(&mut self.place)));
    }

    fn event(&mut self, now: Instant, endpoint: &mut Session, event: Event) {
        match event {
            Event::Connected | Event::Writable if !self.to_write.is_empty() => {
                endpoint.write(now, &mut self.to_write).expect("it is open");
                if self.to_write.is_empty() {
                    endpoint.close(now);
                }
            }
            Event::Readable => {
                while let Some(bytes) = endpoint.read(now) {
                    self.read.extend_from_slice(&bytes);
                }
            }
            Event::PeerClosed => endpoint.close(now),
            _ => {}
        }
    }
}

/// The one loop: what changed an end, then everything out of it.
fn step(
    now: Instant,
    end: &mut Session,
    around: &mut Surroundings,
    change: impl FnOnce(&mut Session),
) {
    change(end);
    drain(end, now, around);
}

fn main() {
    let config = Arc::new(Config::default());
    let file = Bytes::from(vec![7; 1_000_000]);
    let mut here = Surroundings { to_write: file.clone(), ..Surroundings::default() };
    let mut there = Surroundings::default();
    let ports = Ports { local: 5001, peer: 5002 };
    let mut client = Session::connect(config.clone(), Instant::ZERO, PATH, ports, 1);
    let mut server: Option<Session> = None;

    let mut now = Instant::ZERO;
    step(now, &mut client, &mut here, |_| {});
    loop {
        // Whatever is next: an arrival at either end, or a timer of either.
        let arrivals = [&there.wire, &here.wire].map(|wire| wire.front().map(|(at, _)| *at));
        let timers = [client.poll_timeout(), server.as_ref().and_then(Endpoint::poll_timeout)];
        let Some(next) = arrivals.into_iter().chain(timers).flatten().min() else { break };
        now = now.max(next);
        if arrivals[0] == Some(next) {
            let (_, mut segment) = there.wire.pop_front().expect("it is at the front");
            step(now, &mut client, &mut here, |end| end.handle_segment(now, PATH, &mut segment));
        } else if arrivals[1] == Some(next) {
            let (_, mut segment) = here.wire.pop_front().expect("it is at the front");
            match &mut server {
                None => {
                    let first = segment.xstp_mut();
                    let mut accepted = Session::accept(config.clone(), now, PATH, first, 2)
                        .expect("the first segment asks to open");
                    step(now, &mut accepted, &mut there, |_| {});
                    server = Some(accepted);
                }
                Some(end) => {
                    step(now, end, &mut there, |end| end.handle_segment(now, PATH, &mut segment));
                }
            }
        } else if timers[0] == Some(next) {
            step(now, &mut client, &mut here, |end| end.handle_timeout(now));
        } else if let Some(end) = &mut server {
            step(now, end, &mut there, |end| end.handle_timeout(now));
        }
    }
    assert!(there.read == file, "what arrived is not what was sent");
    println!("{} bytes in {:.2} s of simulated time", there.read.len(), now.as_secs_f64());
}
