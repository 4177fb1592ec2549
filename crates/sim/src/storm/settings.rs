//! What differs between storms before anything goes wrong: what programs are allowed, and what unknown peers do.

use bentpipe_association::{Fec, Security};
use bentpipe_link::Stream;
use bentpipe_units::{BitRate, ByteCount, Span};

/// A connection between gateways that hears nothing ends after this, if nothing else is said.
pub(super) const IDLE: Span = Span::from_secs(30);

/// Least memory for each connection that a gateway may have.
const LEAST: u64 = 32_000;

/// What a storm is like throughout.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// What the connections of one peer may hold together.
    pub(super) memory: ByteCount,
    /// How many connections a peer may open.
    pub(super) connections: usize,
    /// Send and receive buffers of connections, if they are not the usual ones.
    pub(super) buffer: Option<ByteCount>,
    /// How long a hub waits for a terminal that says nothing.
    pub(super) hub_waits: Span,
    /// The chance that somebody on the path copies a datagram, which overtakes the original.
    pub(super) overtakes: f64,
    /// Unknown peers go on after the storm.
    pub(super) unknown_peers_stay: bool,
    /// Files that are synchronised may not be.
    pub(super) loses: bool,
    /// What protects datagrams.
    pub(super) security: Security,
    /// The rate of the link, where it is dedicated.
    pub(super) rate: Option<BitRate>,
    /// Parity.
    pub(super) fec: Fec,
    /// A second link, if there is one.
    pub(super) second: Option<Second>,
    /// New flows go on without a remote gateway that is unreachable.
    pub(super) direct: bool,
    /// What gateways send is compressed.
    pub(super) compresses: bool,
}

/// What a second link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Second {
    /// To be used when the first one does not work.
    Backup,
    /// To be used beside it.
    Beside,
    /// To be used beside it by each flow.
    Bonded,
    /// The same, where the first one is full.
    Spilling,
    /// To be used beside it by each flow until its cap is used up.
    Capped,
}

impl Second {
    /// What a second link may be for, or none.
    const ALL: [Option<Self>; 6] = [
        None,
        Some(Self::Bonded),
        Some(Self::Backup),
        Some(Self::Beside),
        Some(Self::Spilling),
        Some(Self::Capped),
    ];
}

impl Settings {
    /// Those of a seed. Small ones are as frequent as large ones: limits are where it goes wrong.
    pub(super) fn draw(random: &mut Stream) -> Self {
        let connections = [16, 100][random.below(2) as usize];
        let memory = [LEAST, 80_000, 640_000][random.below(3) as usize] * connections;
        Self {
            memory: ByteCount::new(memory),
            connections: connections as usize,
            buffer: random.chance(0.3).then_some(ByteCount::new(64_000)),
            hub_waits: if random.chance(0.4) { Span::from_secs(300) } else { IDLE },
            overtakes: if random.chance(0.5) { 0.01 } else { 0.0 },
            unknown_peers_stay: random.chance(0.5),
            loses: random.chance(0.5),
            security: if random.chance(0.2) { Security::None } else { Security::Full },
            rate: random.chance(0.3).then(|| Self::draw_rate(random)),
            fec: [Fec::Auto, Fec::Auto, Fec::Off, Fec::Ratio(0.2)][random.below(4) as usize],
            second: Second::ALL[random.below(6) as usize],
            direct: random.chance(0.2),
            compresses: random.chance(0.5) && bentpipe_gateway::COMPRESSES,
        }
    }

    /// What a dedicated link may carry.
    pub(super) fn draw_rate(random: &mut Stream) -> BitRate {
        BitRate::from_bps(500_000 << random.below(6))
    }

    /// Most connections with one peer at a time: a flow over two links has one on each, and those that end are there for a
    /// while beside those that follow them.
    pub(super) const fn most_connections(&self) -> usize {
        let each = if self.is_bonded() { 2 } else { 1 };
        each * (self.connections + self.connections / 4) + 8
    }

    const fn is_bonded(&self) -> bool {
        matches!(self.second, Some(Second::Bonded | Second::Spilling | Second::Capped))
    }
}
