//! What happens to a packet between two nodes, one model per file.
//!
//! A model is asked once for each packet, at the moment the packet enters it, and answers when the
//! packet leaves or why it is lost. Models compose in a [`Series`]. The simulator and the emulator
//! use the same models; neither time nor randomness comes from outside the arguments and the named
//! [`Streams`].
//!
//! A [`Path`] is some links in a row that holds packets until they leave, with the queues and agents on it.
//!
//! A new model is one file here and one row in [`MODELS`]. A program brings its own as a [`CustomModel`] or a
//! [`CustomQueue`]; a [`Registry`] finds it by name, as scenarios do.
//!
//! What must hold packets, reorder, mark or change them is a [`queue`], and who sends from queues is
//! a [`mac`]. They too hold no packet, reach no clock and are told the time.
//!
//! ```
//! use bentpipe_link::{Delay, Fate, Model, Passing, QueueLimit, RateQueue, Series};
//! use bentpipe_units::{BitRate, ByteCount, Instant, Span};
//! use bentpipe_wire::Kind;
//!
//! // A transmitter of 1 Mbit/s with room for one packet, and a satellite behind it.
//! let mut link = Series::default();
//! link.push_rate(RateQueue::new(BitRate::from_bps(1_000_000), QueueLimit::Packets(1)));
//! link.push_delay(Delay::new(Span::from_millis(250)));
//!
//! let packet = Passing { bytes: ByteCount::new(1_250), kind: Kind::DATA };
//! let leaves = |ms| Fate::Leaves(Instant::ZERO + Span::from_millis(ms));
//! assert_eq!(link.pass(Instant::ZERO, &packet), leaves(260));
//! assert_eq!(link.pass(Instant::ZERO, &packet), leaves(270));
//! assert!(matches!(link.pass(Instant::ZERO, &packet), Fate::Lost(_)));
//! ```

mod arq;
mod bit_errors;
mod blackout;
mod chain;
mod custom;
mod delay;
mod direction;
mod fec;
mod gilbert_elliott;
mod handover;
pub mod mac;
mod model;
mod opportunities;
mod path;
pub mod queue;
pub mod rain;
pub mod random;
mod random_loss;
mod rate_queue;
mod registry;
mod script;
mod series;
mod spec;
mod standing;
mod stay;
mod stepped_rate;
mod timeline;
mod traced;
mod xdeldrop;

pub use arq::{Arq, ArqConfig};
pub use bit_errors::{BitErrors, packet_error_rate};
pub use blackout::Blackout;
pub use chain::Chain;
pub use custom::{
    CustomError, CustomModel, CustomParameter, CustomQueue, ModelChoice, QueueChoice, Registry,
    Settings,
};
pub use delay::Delay;
pub use direction::Direction;
pub use fec::{Fec, FecConfig};
pub use gilbert_elliott::{GilbertElliott, GilbertElliottConfig};
pub use handover::HandoverSpec;
pub use model::{Fate, LossCause, Model, Passing};
pub use opportunities::{Opportunities, OpportunityQueue};
pub use path::{Carried, Counters, Description, Emission, Hop, Path, PathAgent, Side, StationLine};
pub use queue::QueueLimit;
pub use random::{Stream, Streams};
pub use random_loss::RandomLoss;
pub use rate_queue::RateQueue;
pub use registry::{MODELS, ModelRow, Parameter};
pub use script::{Action, Rule, Script};
pub use series::Series;
pub use spec::ModelSpec;
pub use stay::{ChannelState, Stay, StayConfig};
pub use stepped_rate::{Fade, SteppedRate};
pub use timeline::{Position, Timeline, TimelineError};
pub use traced::{SteppedDelay, SteppedLoss, SteppedState};
pub use xdeldrop::{StateConfig, XDelDrop, XDelDropConfig};
