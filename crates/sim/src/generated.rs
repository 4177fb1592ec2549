//! Ends whose traffic is generated piece by piece: connections are opened, fed, closed and used
//! again as the generator says.

use bentpipe_record::{PieceSummary, TransportCounters};
use bentpipe_transport::Failure;
use bentpipe_units::{ByteCount, Instant};

use crate::SourceSpec;
use crate::app::App;
use crate::endpoints::{End, Endpoints};
use crate::events::Slot;
use crate::network::Network;
use crate::traffic::Generator;

/// The first of the ports from which connections are opened again, and how many there are.
const CLIENT_PORTS: (u16, u16) = (49_152, 16_384);

/// A generator and the ends that it feeds.
pub(crate) struct Generated {
    pub(crate) generator: Generator,
    /// Its first pair of ends.
    pub(crate) first: usize,
    pub(crate) source: SourceSpec,
    /// What connections did whose ends were used again.
    pub(crate) past: Outcome,
}

/// What became of a flow, over all its connections.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) sent: TransportCounters,
    pub(crate) received: TransportCounters,
    /// Bytes received and verified.
    pub(crate) verified: u64,
    pub(crate) first_at: Option<Instant>,
    pub(crate) last_at: Option<Instant>,
    pub(crate) wrong_at: Option<u64>,
    pub(crate) failure: Option<Failure>,
}

impl Outcome {
    /// Adds what became of one connection.
    pub(crate) fn add(&mut self, source: &End, sink: &End) {
        let counters =
            |end: &End| end.endpoint.as_ref().map(|e| e.endpoint().counters()).unwrap_or_default();
        self.sent += counters(source);
        self.received += counters(sink);
        let progress = sink.progress();
        self.verified += progress.verified;
        self.first_at = Instant::earliest(self.first_at, progress.first_at);
        self.last_at = self.last_at.max(progress.last_at);
        self.wrong_at = self.wrong_at.or(progress.wrong_at);
        self.failure = self.failure.or(source.progress().failure).or(progress.failure);
    }
}

impl Endpoints {
    fn generator_slot(&self, index: u32) -> Slot {
        self.first_generator + index
    }

    /// Sets the timer of a generator.
    pub(crate) fn set_generator_timer(&self, network: &mut Network<'_>, index: u32) {
        if let Some(next) = self.generated[index as usize].generator.next() {
            network.queue.set_timer(self.generator_slot(index), next);
        }
    }

    /// The timer of a generator fired.
    pub(crate) fn generate(&mut self, now: Instant, network: &mut Network<'_>, slot: Slot) {
        network.queue.clear(slot);
        let index = slot - self.generator_slot(0);
        self.generated[index as usize].generator.fire(now);
        self.supply(now, network, index);
        self.follow_up(now, network);
    }

    /// Lets generators look at the ends that something happened to.
    pub(crate) fn follow_up(&mut self, now: Instant, network: &mut Network<'_>) {
        while let Some(end) = self.touched.pop() {
            let Some(index) = self.ends[end as usize].generator else { continue };
            let source = end as usize & !1;
            let delivered = self.ends[source + 1].progress().verified;
            let over = self.is_over(source);
            let Generated { generator, first, .. } = &mut self.generated[index as usize];
            let number = source / 2 - *first;
            generator.delivered(now, number, delivered);
            if over {
                generator.closed(now, number);
            } else if generator.is_done_with(number) && self.ends[source].app.end() {
                self.feed(now, network, source);
            }
            self.supply(now, network, index);
        }
    }

    /// True when a connection was opened and its source can send no more.
    fn is_over(&self, source: usize) -> bool {
        let end = &self.ends[source];
        end.endpoint.is_some() && (end.is_closed() || end.progress().failure.is_some())
    }

    /// Hands pieces that came up to connections, and sets the generator's timer.
    fn supply(&mut self, now: Instant, network: &mut Network<'_>, index: u32) {
        let Generated { generator, first, source: spec, .. } = &self.generated[index as usize];
        let (first, spec, persistent) = (*first, *spec, generator.is_persistent());
        while let Some((number, bytes)) = self.generated[index as usize].generator.assign() {
            let source = 2 * (first + number);
            if !persistent {
                self.use_again(source, index);
            }
            if self.ends[source].endpoint.is_none() {
                self.ends[source].app = App::source_of_pieces(spec);
                self.add(source, bytes, persistent);
                self.open(now, network, source as u32);
            } else {
                self.add(source, bytes, persistent);
                self.feed(now, network, source);
            }
        }
        self.set_generator_timer(network, index);
    }

    /// A source has so much more to send, and then perhaps nothing.
    fn add(&mut self, source: usize, bytes: ByteCount, more: bool) {
        let app = &mut self.ends[source].app;
        app.add(bytes);
        if !more {
            app.end();
        }
    }

    fn feed(&mut self, now: Instant, network: &mut Network<'_>, source: usize) {
        self.ends[source].feed(now);
        self.drain(now, network, source as u32);
    }

    /// Makes a pair ready for another connection, from another port.
    fn use_again(&mut self, source: usize, index: u32) {
        let pairs = (self.ends.len() / 2) as u16;
        let [from, to] = [source, source + 1];
        if self.ends[from].endpoint.is_none() {
            return; // Nothing to forget: the first connection.
        }
        let past = &mut self.generated[index as usize].past;
        past.add(&self.ends[from], &self.ends[to]);
        let (first, count) = CLIENT_PORTS;
        let port = first + (self.ends[from].ports.local - first).wrapping_add(pairs) % count;
        for (end, app) in [(from, App::sink()), (to, App::followed_sink())] {
            self.ends.leave(end);
            (self.ends[end].endpoint, self.ends[end].app) = (None, app);
        }
        self.ends[from].ports.local = port;
        self.ends[to].ports.peer = port;
        self.ends.enter(from);
        self.proxies.use_again(&mut self.ends, source / 2, port);
        self.products.use_again(&mut self.ends, source / 2, port);
    }

    /// What became of a flow.
    pub(crate) fn outcome(&self, flow: usize) -> Outcome {
        let (first, count) = self.pairs[flow];
        let mut outcome = self.generated_of(flow).map(|g| g.past).unwrap_or_default();
        for pair in first..first + count {
            outcome.add(&self.ends[2 * pair], &self.ends[2 * pair + 1]);
        }
        outcome
    }

    /// What became of a flow's pieces, and whether all of them have arrived; `None` when it has none.
    pub(crate) fn pieces(&self, flow: usize) -> Option<(PieceSummary, bool)> {
        let generator = &self.generated_of(flow)?.generator;
        Some((generator.summary(), generator.is_complete()))
    }

    fn generated_of(&self, flow: usize) -> Option<&Generated> {
        let first = self.ends.get(2 * self.pairs[flow].0)?;
        self.generated.get(first.generator? as usize)
    }
}
