//! A node between others, which passes their frames over an emulated path.

use std::io;
use std::num::NonZeroU64;
use std::time::Duration;

use bentpipe_link::{Direction, Path};
use bentpipe_system::Clock;
use bentpipe_units::{Instant, Span};
use bentpipe_wire::qlp::{Frame, NodeId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::interface::{Counters, Interface};
use super::queue::OpenError;
use super::routes::Routes;

/// Longest sleep, so that whoever stops the router does not wait.
const LONGEST_SLEEP: Span = Span::from_millis(100);

/// Passes frames between nodes over an emulated path, as the router of the XSTP paper does with
/// XDELDROP. Frames from a lower to a higher node go forth, the others back. A frame counts on the links
/// with the length of its payload, as in the simulator.
#[derive(Debug)]
pub struct Router {
    link: Interface,
    path: Path<Frame>,
    clock: Clock,
    /// Frames from a higher to a lower node go forth.
    swapped: bool,
}

impl Router {
    /// The router that is this node.
    ///
    /// # Errors
    /// When a process that is running is that node, or the system permits no queue.
    pub fn open(
        node: NodeId,
        routes: Routes,
        path: Path<Frame>,
        swapped: bool,
    ) -> Result<Self, OpenError> {
        let link = Interface::open(node, routes)?;
        Ok(Self { link, path, clock: Clock::start(), swapped })
    }

    /// Messages that its queue holds before it is full.
    pub fn depth(&self) -> usize {
        self.link.inbox().depth()
    }

    /// What became of its frames so far, apart from what the path did with them.
    pub const fn counters(&self) -> &Counters {
        &self.link.counters
    }

    /// The path, for its counters.
    pub const fn path(&self) -> &Path<Frame> {
        &self.path
    }

    /// Passes frames until `go_on` says no. It is asked at least ten times a second.
    ///
    /// # Errors
    /// When the system does not let the router wait.
    pub fn run(&mut self, mut go_on: impl FnMut(&Path<Frame>) -> bool) -> io::Result<()> {
        // The kernel may otherwise wake a thread 50 us late to save power.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        while go_on(&self.path) {
            let now = self.clock.now();
            self.path.pass_time(now);
            self.turn(now);
            let now = self.clock.now();
            let longest = now + LONGEST_SLEEP;
            let until = self.path.next().map_or(longest, |next| next.min(longest));
            self.wait(until.since(now))?;
        }
        Ok(())
    }

    /// Sends what leaves the path by now and takes what waits, at most a queue of it.
    fn turn(&mut self, now: Instant) {
        while let Some((_, frame)) = self.path.leave(now) {
            self.link.send(&frame);
        }
        for _ in 0..self.depth() {
            let Some(frame) = self.link.receive() else { break };
            self.pass(now, frame);
        }
    }

    fn pass(&mut self, now: Instant, frame: Frame) {
        let header = frame.header;
        if header.destination == self.link.node() {
            self.link.counters.unwanted += 1;
            return;
        }
        let upwards = header.source < header.destination;
        let direction =
            if upwards == self.swapped { Direction::Return } else { Direction::Forward };
        self.path.enter(now, direction, frame);
    }

    /// Waits for frames, to the nanosecond if nothing comes.
    fn wait(&self, span: Span) -> io::Result<()> {
        let mut fds = [PollFd::from_borrowed_fd(self.link.inbox().as_fd()?, PollFlags::IN)];
        let timeout = Timespec::try_from(Duration::from_nanos(span.as_nanos())).ok();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_link::{Hop, ModelSpec, StateConfig, XDelDropConfig};
    use bentpipe_wire::qlp::{Header, Protocol};
    use bytes::Bytes;

    use super::super::Route;
    use super::super::interface::tests::interface;
    use super::*;

    /// A source, a router and a sink, with a channel that never leaves its first state for long enough
    /// to matter: a loss of `drop` and a delay of 10 ms.
    struct Three {
        source: Interface,
        router: Router,
        sink: Interface,
    }

    impl Three {
        fn new(drop: f64, swapped: bool) -> Self {
            let (mut source, link, mut sink) = (interface(&[]), interface(&[]), interface(&[]));
            let through = |destination| [Route { destination, next: link.node() }];
            source.set_routes(&through(sink.node()));
            sink.set_routes(&through(source.node()));
            let ms = Span::from_millis;
            let state = |delay| StateConfig {
                mean_sojourn: Span::from_secs(1_000_000),
                drop_probability: drop,
                drop_at_min_delay: None,
                delay_min: ms(delay),
                delay_max: ms(delay),
            };
            let config = XDelDropConfig { good: state(10), bad: state(10), fifo: false };
            let channel = ModelSpec::XDelDrop { config, independent: false };
            let return_link = vec![channel.clone(), ModelSpec::Delay(ms(5))];
            let hop = Hop { name: "space".to_owned(), forward_link: vec![channel], return_link };
            let path = Path::new(&[hop], 1);
            let router = Router { link, path, clock: Clock::start(), swapped };
            Self { source, router, sink }
        }

        fn frame(&self, upwards: bool) -> Frame {
            let (a, b) = (self.source.node(), self.sink.node());
            let (source, destination) = if (a < b) == upwards { (a, b) } else { (b, a) };
            let header = Header { destination, source, protocol: Protocol::Xstp };
            Frame { header, payload: Bytes::from_static(b"a segment") }
        }

        fn send(&mut self, frame: &Frame) {
            let from = if frame.header.source == self.source.node() {
                &mut self.source
            } else {
                &mut self.sink
            };
            from.send(frame);
        }

        fn arrived(&mut self) -> Option<Frame> {
            self.source.receive().or_else(|| self.sink.receive())
        }
    }

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Span::from_millis(n)
    }

    #[test]
    fn frames_arrive_unchanged_after_the_delay_of_their_direction() {
        for (upwards, swapped, delay) in
            [(true, false, 10), (false, false, 15), (true, true, 15), (false, true, 10)]
        {
            let mut three = Three::new(0.0, swapped);
            let frame = three.frame(upwards);
            three.send(&frame);
            three.router.turn(ms(100));
            three.router.turn(ms(100 + delay - 1));
            assert_eq!(three.arrived(), None);
            three.router.turn(ms(100 + delay));
            assert_eq!(three.arrived(), Some(frame));
        }
    }

    #[test]
    fn the_channel_drops_its_share_and_every_frame_is_accounted_for() {
        let mut three = Three::new(0.3, false);
        let frame = three.frame(true);
        let mut arrived = 0;
        for n in 0..1000 {
            three.send(&frame);
            three.router.turn(ms(20 * n));
            arrived += u64::from(three.arrived().is_some());
        }
        three.router.turn(ms(30_000));
        arrived += u64::from(three.arrived().is_some());
        let counters = *three.router.path().counters(Direction::Forward);
        assert_eq!((counters.packets, counters.delivered + counters.lost), (1000, 1000));
        assert_eq!((counters.delivered, three.router.counters().sent), (arrived, arrived));
        assert!((250..350).contains(&counters.lost), "{counters:?}");
    }

    #[test]
    fn what_is_for_the_router_itself_is_dropped_and_counted() {
        let mut three = Three::new(0.0, false);
        let mut frame = three.frame(true);
        frame.header.destination = three.router.link.node();
        three.send(&frame);
        three.router.turn(ms(1));
        three.router.turn(ms(100));
        assert_eq!(three.router.counters().unwanted, 1);
        assert_eq!(three.router.path().counters(Direction::Forward).packets, 0);
    }
}
