//! Queues described as data.

use bentpipe_units::BitRate;

use super::{
    AckFilter, AckPriority, AckReconstruction, AckReconstructionConfig, BandwidthRouter, Codel,
    CodelConfig, Discipline, DropLowPriority, DropTail, DualPi2, DualPi2Config, FqCodel,
    FqCodelConfig, Fuzzy, FuzzyConfig, Pie, PieConfig, Red, RedConfig, XcpRouter,
};
use crate::{QueueChoice, QueueLimit, Stream};

/// A queue that holds packets.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSpec {
    /// Most that may wait, the packet being sent left out.
    pub limit: QueueLimit,
    /// What goes next and what is lost.
    pub discipline: DisciplineSpec,
}

/// A discipline and its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum DisciplineSpec {
    /// [`DropTail`].
    DropTail,
    /// [`Red`].
    Red(RedConfig),
    /// [`Codel`].
    Codel(CodelConfig),
    /// [`FqCodel`].
    FqCodel(FqCodelConfig),
    /// [`Pie`].
    Pie(PieConfig),
    /// [`DualPi2`].
    DualPi2(DualPi2Config),
    /// [`Fuzzy`].
    Fuzzy(FuzzyConfig),
    /// [`DropLowPriority`].
    DropLowPriority,
    /// [`AckPriority`].
    AckPriority {
        /// Acknowledgments before another packet has its turn.
        in_a_row: u32,
    },
    /// [`AckFilter`].
    AckFilter {
        /// Filters XSTP's reports as well.
        reports: bool,
        /// An acknowledgment moves up to the place of the oldest one that it removes.
        in_place: bool,
    },
    /// [`AckReconstruction`].
    AckReconstruction(AckReconstructionConfig),
    /// [`XcpRouter`].
    Xcp {
        /// What limited flows leave goes to the others.
        p_xcp: bool,
    },
    /// [`BandwidthRouter`].
    BaTcp,
    /// A discipline that the program brings.
    Custom(QueueChoice),
}

impl DisciplineSpec {
    /// Whether it may mark packets of senders that understand marks. Of one that the program brings that is not known.
    pub const fn may_mark(&self) -> bool {
        match self {
            Self::Red(red) => red.ecn,
            Self::Codel(codel) => codel.ecn,
            Self::FqCodel(fair) => fair.codel.ecn,
            Self::Pie(pie) => pie.ecn,
            Self::Fuzzy(fuzzy) => fuzzy.ecn,
            Self::DualPi2(_) | Self::Custom(_) => true,
            Self::DropTail
            | Self::DropLowPriority
            | Self::AckPriority { .. }
            | Self::AckFilter { .. }
            | Self::AckReconstruction(_)
            | Self::Xcp { .. }
            | Self::BaTcp => false,
        }
    }
}

impl QueueSpec {
    /// Builds the queue before a line of this rate. It draws from `stream`.
    pub fn build(&self, rate: BitRate, stream: Stream) -> Box<dyn Discipline> {
        let limit = self.limit;
        match &self.discipline {
            DisciplineSpec::DropTail => Box::new(DropTail::new(limit)),
            DisciplineSpec::Red(config) => Box::new(Red::new(*config, limit, rate, stream)),
            DisciplineSpec::Codel(config) => Box::new(Codel::new(*config, limit)),
            DisciplineSpec::FqCodel(config) => Box::new(FqCodel::new(*config, limit, stream)),
            DisciplineSpec::Pie(config) => Box::new(Pie::new(*config, limit, stream)),
            DisciplineSpec::DualPi2(config) => Box::new(DualPi2::new(*config, limit, stream)),
            DisciplineSpec::Fuzzy(config) => Box::new(Fuzzy::new(*config, limit, stream)),
            DisciplineSpec::DropLowPriority => Box::new(DropLowPriority::new(limit)),
            DisciplineSpec::AckPriority { in_a_row } => {
                Box::new(AckPriority::new(limit, *in_a_row))
            }
            DisciplineSpec::AckFilter { reports, in_place } => {
                Box::new(AckFilter::new(limit, *reports, *in_place))
            }
            DisciplineSpec::AckReconstruction(config) => {
                Box::new(AckReconstruction::new(*config, limit))
            }
            DisciplineSpec::Xcp { p_xcp } => Box::new(XcpRouter::new(rate, limit, *p_xcp)),
            DisciplineSpec::BaTcp => Box::new(BandwidthRouter::new(rate, limit)),
            DisciplineSpec::Custom(choice) => choice.build(limit, rate, stream),
        }
    }
}
