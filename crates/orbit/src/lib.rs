//! Constellations, visibility, handover, delays and routes as functions of time.
//!
//! A [`Constellation`] is where satellites are: ideal circular orbits by name ([`known`]) or from a
//! [`ConstellationSpec`], or real satellites from element sets. A [`Network`] adds stations on the
//! ground and says which links are up, what they delay, and which way is the shortest. A [`Survey`]
//! samples one route over a time, [`Surveys`] several.
//!
//! Nothing here reads a clock or a file: time is told, texts are handed in. Sines, cosines and roots
//! come from `libm`, so that all machines agree on every bit.
//!
//! ```
//! use bentpipe_orbit::{Constellation, Network, Node, Station, known};
//! use bentpipe_units::{Instant, Span};
//!
//! let spec = known("iridium").expect("a name that is known")?;
//! let stations = vec![
//!     Station::terminal("Berkeley", "Berkeley".parse()?),
//!     Station::terminal("Boston", "Boston".parse()?),
//! ];
//! let constellation = Constellation::new(&spec)?;
//! let mut network = Network::new(constellation, stations, &[], Span::from_secs(10))?;
//! let route = network.route(Node::Station(0), Node::Station(1), Instant::ZERO)?.expect("a route");
//! assert!((20..60).contains(&(route.delay.as_nanos() / 1_000_000)), "{} one way", route.delay);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod antennas;
mod cable;
mod catalogue;
mod circular;
mod constellation;
mod earth;
mod elements;
mod epoch;
mod error;
mod graph;
mod ground;
mod isl;
mod motion;
mod names;
mod network;
mod omm;
mod place;
mod routes;
mod shell;
mod sites;
mod slots;
mod survey;
mod surveys;
mod tle;
mod track;
mod vector;
mod view;

pub use cable::Cable;
pub use catalogue::{KNOWN, Known, Operator, known, operator};
pub use circular::{Phasing, Planes};
pub use constellation::Constellation;
pub use earth::Earth;
pub use epoch::Epoch;
pub use error::OrbitError;
pub use ground::{Policy, Role, Station};
pub use motion::Motion;
pub use names::Names;
pub use network::{Change, Network, Node};
pub use place::{Place, cities};
pub use routes::{Route, Routes};
pub use shell::{ConstellationSpec, IslPattern, IslRules, Orbits, Seam, ShellSpec};
pub use sites::{Site, SiteKind, Source, connect};
pub use slots::Slots;
pub use survey::{Handover, Report, Sample, Spread, Survey};
pub use surveys::Surveys;
pub use track::{Track, TrackPoint};
pub use vector::Vector;
