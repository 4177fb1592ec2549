//! One direction of a link that comes and goes.

use bentpipe_link::{Fate, LossCause, Passing, Series};
use bentpipe_orbit::{Motion, Network, Node};
use bentpipe_units::{Instant, Span};

use crate::channel::Channel;
use crate::transit::InTransit;

/// One direction of a link: a transmitter that is there while the link is up, and the way through space,
/// whose length changes.
#[derive(Debug)]
pub(crate) struct MovingLink {
    pub(crate) channel: Channel,
    /// What it counts as.
    pub(crate) class: usize,
    ends: [Node; 2],
    motion: Motion,
    up: bool,
    /// The transmitter of its satellite, if that is for others too.
    pub(crate) shared: Option<usize>,
    /// How often it came up.
    pub(crate) visits: u32,
}

impl MovingLink {
    /// A link between two nodes that is down.
    pub(crate) fn new(channel: Channel, class: usize, ends: [Node; 2]) -> Self {
        Self { channel, class, ends, motion: Motion::new(), up: false, shared: None, visits: 0 }
    }

    /// The link comes up with an idle transmitter. What is still on its way through space arrives.
    pub(crate) fn come_up(&mut self, line: Series) {
        self.channel.renew(line);
        self.up = true;
        self.visits += 1;
    }

    /// Whether it is there.
    pub(crate) const fn is_up(&self) -> bool {
        self.up
    }

    /// The link goes down at `at`: what has not left whole is lost. Calls `lose` for each such packet, the
    /// last one first.
    pub(crate) fn go_down(
        &mut self,
        at: Instant,
        network: &Network,
        mut lose: impl FnMut(&mut Channel, InTransit),
    ) {
        self.up = false;
        // What leaves later arrives later, so that arrivals tell departures.
        let last = at + self.motion.clone().delay(at, exact(network, self.ends));
        while let Some(lost) = self.channel.take_last_after(last) {
            lose(&mut self.channel, lost);
        }
    }

    /// A packet enters, by a `shared` transmitter if there is one. Returns when it arrives, if it does, and whether it is
    /// damaged then.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        now: Instant,
        passing: &Passing,
        network: &Network,
        shared: Option<&mut Series>,
    ) -> Option<(Instant, bool)> {
        if !self.up {
            self.channel.count_loss(now, LossCause::Blackout, passing.kind);
            return None;
        }
        let (leaves, damaged) = match self.channel.enter(now, passing, shared) {
            Fate::Leaves(leaves) => (leaves, false),
            Fate::LeavesCorrupt(leaves) => (leaves, true),
            Fate::Lost(_) => return None,
        };
        Some((leaves + self.motion.delay(leaves, exact(network, self.ends)), damaged))
    }

    /// Takes the packet that arrives.
    #[inline]
    pub(crate) fn arrive(&mut self) -> Option<InTransit> {
        let arrived = self.channel.arrive()?;
        self.channel.summary.delivered += 1;
        self.channel.summary.corrupted += u64::from(arrived.damaged);
        Some(arrived)
    }
}

/// The delay of the way between two nodes.
fn exact(network: &Network, [a, b]: [Node; 2]) -> impl Fn(Instant) -> Option<Span> {
    move |at| network.light_time(a, b, at).ok().flatten()
}

#[cfg(test)]
mod tests {
    use bentpipe_link::{ModelSpec, QueueLimit, Streams};
    use bentpipe_orbit::{Constellation, Station, known};
    use bentpipe_record::LinkSummary;
    use bentpipe_units::{BitRate, ByteCount};
    use bentpipe_wire::Kind;

    use super::*;
    use crate::packet::Label;

    const PACKET: Passing = Passing { bytes: ByteCount::new(1000), kind: Kind::DATA };

    fn network() -> Network {
        let spec = known("iridium").expect("known").expect("a constellation");
        let constellation = Constellation::new(&spec).expect("a constellation");
        let station = Station::terminal("Oslo", "Oslo".parse().expect("a city"));
        Network::new(constellation, vec![station], &[], Span::from_secs(10)).expect("a network")
    }

    /// 1000 bytes take a millisecond.
    fn line() -> Series {
        let rate = BitRate::from_bps(8_000_000);
        let models = [ModelSpec::Rate { rate, queue: QueueLimit::Packets(20) }];
        ModelSpec::build_series(&models, &Streams::new(1), "line", "forth")
    }

    fn link(network: &Network) -> MovingLink {
        let satellite = network.satellites_of(0).next().expect("coverage");
        let flips = Streams::new(1).stream("flips");
        let channel = Channel::new(1, Series::default(), flips, LinkSummary::default());
        MovingLink::new(channel, 0, [Node::Station(0), Node::Satellite(satellite)])
    }

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Span::from_millis(n)
    }

    #[test]
    fn what_has_left_when_the_link_goes_down_arrives_and_the_rest_is_lost() {
        let network = network();
        let mut link = link(&network);
        link.come_up(line());
        for serial in 0..10 {
            let (at, damaged) = link.pass(ms(0), &PACKET, &network, None).expect("a place");
            let label = Label { packet: serial as u32, len: 1000, to: 1, kind: Kind::DATA };
            link.channel.push(at, serial, label, damaged);
        }
        // Packet n leaves at n + 1 ms.
        let mut lost = Vec::new();
        link.go_down(ms(4), &network, |_, packet| lost.push(packet.serial));
        assert_eq!(lost, [9, 8, 7, 6, 5, 4]);
        assert_eq!(link.pass(ms(5), &PACKET, &network, None), None);
        assert_eq!(link.channel.summary.lost_blackout, 1);
        let arrived: Vec<_> = std::iter::from_fn(|| link.arrive()).map(|p| p.serial).collect();
        assert_eq!(arrived, [0, 1, 2, 3]);
        assert_eq!(link.channel.summary.delivered, 4);
    }

    #[test]
    fn a_link_that_comes_back_has_an_idle_transmitter() {
        let network = network();
        let mut link = link(&network);
        link.come_up(line());
        let first = link.pass(ms(0), &PACKET, &network, None);
        for _ in 1..10 {
            link.pass(ms(0), &PACKET, &network, None).expect("a place");
        }
        link.go_down(ms(0), &network, |_, _| {});
        link.come_up(line());
        assert_eq!(link.pass(ms(0), &PACKET, &network, None), first);
        assert_eq!(link.visits, 2);
    }
}
