//! A split connection: a proxy ends a connection on either side and carries the bytes across.
//!
//! A [`Relay`] joins two [endpoints](bentpipe_transport::Endpoint) of any protocol. It reads from one leg what it writes to
//! the other, without a copy, and holds the window of the first leg to what the second has let go: what
//! was read and not acknowledged yet, sent or not, still takes room in the first leg's receive buffer.
//! That buffer is therefore the only bound there is, and a slow second leg slows the source of the first
//! (back-pressure). The end of a direction is passed on when everything before it was, a reset at once.
//!
//! Acknowledged bytes are lost with the proxy: a relay breaks end-to-end acknowledgement (RFC 3135,
//! section 4.1) unless it has a [`Config::spoof_window`], but never the order of things: bytes that can
//! not be delivered are followed by a reset and never by an end.

mod pace;
mod pool;
mod stream;

use std::mem;

use bentpipe_transport::{Event, ProxyLeg};
use bentpipe_units::{ByteCount, Instant};

pub use pool::Pool;
use stream::Stream;

/// A leg of a split connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Towards whoever opened the connection.
    Near,
    /// Towards whom it was opened to.
    Far,
}

impl Side {
    /// The other leg.
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

/// Settings of a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Room that is made by one acknowledgement of a leg is told to the other leg in steps of a segment,
    /// spread over the time until the next acknowledgement is due (Zhou and Baras, section IV).
    pub paced: bool,
    /// The source's bytes are acknowledged when the other leg has acknowledged them, but for so many more,
    /// if its protocol can do that (PETRA); `None` acknowledges what was read. With zero nothing is lost
    /// with the proxy.
    pub spoof_window: Option<ByteCount>,
    /// The receive buffer of the source's leg, of which [`Relay::allow`] gives a part; without it the leg has all of it.
    pub buffer: Option<ByteCount>,
}

/// What joins the two legs of a split connection. It owns neither: whoever does hands them over.
///
/// | state | until | then |
/// |---|---|---|
/// | one leg | | whoever owns both opens the other one |
/// | both legs | a leg has ended its stream | the other one is closed behind the last byte |
/// | both legs | a leg fails, or cannot take what it must | broken: both are reset |
/// | broken | | nothing is carried any more |
#[derive(Debug)]
pub struct Relay {
    /// By the leg that the bytes come from.
    streams: [Stream; 2],
    /// What is known of each leg.
    legs: [Leg; 2],
    /// A leg failed or cannot take what it must: both are to be reset.
    broken: bool,
}

/// What is known of a leg.
#[derive(Debug, Default)]
struct Leg {
    connected: bool,
    /// The last write was cut short, and the leg did not say yet that it can go on.
    full: bool,
    /// It failed, or was aborted.
    gone: bool,
}

impl Relay {
    /// Nothing was carried yet.
    pub fn new(config: Config) -> Self {
        Self {
            streams: [Stream::new(config), Stream::new(config)],
            legs: [Leg::default(), Leg::default()],
            broken: false,
        }
    }

    /// Takes an event of a leg. To be called from the drain of that leg, so that the window is stated
    /// after the bytes that were read here are counted.
    pub fn on_event<E: ProxyLeg + ?Sized>(
        &mut self,
        now: Instant,
        side: Side,
        endpoint: &mut E,
        event: Event,
    ) {
        let leg = &mut self.legs[side as usize];
        match event {
            Event::Connected => leg.connected = true,
            Event::Writable => leg.full = false,
            Event::Readable => {
                let stream = &mut self.streams[side as usize];
                while let Some(bytes) = endpoint.read(now) {
                    if !self.broken {
                        stream.push(bytes);
                    }
                }
                tell(now, endpoint, stream);
            }
            Event::PeerClosed => self.streams[side as usize].end(),
            Event::Failed(_) => {
                leg.gone = true;
                self.break_off();
            }
            Event::Closed => {}
        }
    }

    /// Looks at what a leg has kept of what was written to it. To be called when it was drained: that is
    /// how acknowledgements on one leg make room on the other.
    pub fn observe<E: ProxyLeg + ?Sized>(&mut self, now: Instant, side: Side, endpoint: &E) {
        let kept = if self.legs[side as usize].gone { 0 } else { endpoint.unacknowledged().get() };
        self.streams[side.other() as usize].kept_downstream(now, kept);
    }

    /// Something is to be done to this leg.
    pub fn wants(&self, side: Side) -> bool {
        let leg = &self.legs[side as usize];
        if leg.gone {
            return false;
        }
        let incoming = &self.streams[side.other() as usize];
        let writes = leg.connected && !leg.full && incoming.has_bytes();
        self.broken
            || writes
            || leg.connected && incoming.is_to_be_closed()
            || self.streams[side as usize].has_changed()
    }

    /// Does what is to be done to this leg: writes, closes or aborts it, states its window. The leg is to
    /// be drained then.
    pub fn apply<E: ProxyLeg + ?Sized>(&mut self, now: Instant, side: Side, endpoint: &mut E) {
        if !self.broken {
            self.carry(now, side, endpoint);
        }
        if self.broken && !mem::replace(&mut self.legs[side as usize].gone, true) {
            endpoint.abort(now);
        }
        tell(now, endpoint, &mut self.streams[side as usize]);
    }

    /// Writes to the leg what came from the other one.
    fn carry<E: ProxyLeg + ?Sized>(&mut self, now: Instant, side: Side, endpoint: &mut E) {
        let leg = &mut self.legs[side as usize];
        let incoming = &mut self.streams[side.other() as usize];
        if !leg.connected {
            return;
        }
        while !leg.full
            && let Some(chunk) = incoming.front()
        {
            let Ok(taken) = endpoint.write(now, chunk) else { return self.break_off() };
            leg.full = !chunk.is_empty();
            incoming.written(taken as u64);
        }
        incoming.kept_downstream(now, endpoint.unacknowledged().get());
        if incoming.take_close() {
            endpoint.close(now);
        }
    }

    /// A leg that was to be opened could not be, or its owner has given it up.
    pub fn lose(&mut self, side: Side) {
        self.legs[side as usize].gone = true;
        self.break_off();
    }

    /// Nothing more is carried; what was held is forgotten.
    fn break_off(&mut self) {
        self.broken = true;
        self.streams.iter_mut().for_each(Stream::clear);
    }

    /// One of the legs was reset, and the other is or will be.
    pub const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Bytes in the hands of the proxy that came from this leg: not written yet, not sent yet, or not
    /// acknowledged yet.
    pub fn occupied(&self, from: Side) -> ByteCount {
        ByteCount::new(self.streams[from as usize].occupied())
    }

    /// No more than this may be held that comes from this leg; what it was told before still comes. [`after_change`] is to be
    /// called for the leg then.
    pub fn allow(&mut self, from: Side, most: ByteCount) {
        self.streams[from as usize].allow(most.get());
    }

    /// When [`Relay::handle_timeout`] must be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let [near, far] = &self.streams;
        Instant::earliest(near.deadline(), far.deadline())
    }

    /// The deadline of [`Relay::poll_timeout`] has come. [`after_change`] is to be called for both legs then.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.streams.iter_mut().for_each(|stream| stream.handle_timeout(now));
    }
}

/// Tells the leg of a source what to do about the bytes that were read from it.
fn tell<E: ProxyLeg + ?Sized>(now: Instant, endpoint: &mut E, stream: &mut Stream) {
    if let Some(held) = stream.take_change() {
        endpoint.defer_acks(now, ByteCount::new(held.deferred));
        endpoint.reserve_receive_buffer(now, ByteCount::new(held.withheld));
    }
}

/// The two legs in the hands of whoever owns them.
pub trait Legs {
    /// A leg; `None` while it is not opened.
    fn endpoint(&mut self, side: Side) -> Option<&mut dyn ProxyLeg>;

    /// Drains a leg, with the relay as its application.
    fn drain(&mut self, now: Instant, side: Side, relay: &mut Relay);
}

/// Lets a change of one leg have all its consequences on both.
pub fn after_change(
    relay: &mut Relay,
    now: Instant,
    changed: Side,
    legs: &mut (impl Legs + ?Sized),
) {
    let mut side = changed;
    loop {
        legs.drain(now, side, relay);
        if let Some(endpoint) = legs.endpoint(side) {
            relay.observe(now, side, endpoint);
        }
        side = if relay.wants(side.other()) { side.other() } else { side };
        if !relay.wants(side) {
            return;
        }
        match legs.endpoint(side) {
            Some(endpoint) => relay.apply(now, side, endpoint),
            None => relay.lose(side),
        }
    }
}
