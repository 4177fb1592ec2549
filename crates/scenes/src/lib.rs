//! Networks of satellites as other programs show them: CZML for Cesium, GeoJSON for maps.
//!
//! ```
//! use bentpipe_orbit::{Constellation, Network, Station, known};
//! use bentpipe_scenes::geojson;
//! use bentpipe_units::{Instant, Span};
//!
//! let spec = known("iridium").expect("a name that is known")?;
//! let stations = vec![Station::terminal("Boston", "Boston".parse()?)];
//! let network = Network::new(Constellation::new(&spec)?, stations, &[], Span::from_secs(10))?;
//! let mut map = Vec::new();
//! geojson::write(&mut map, network, &[], Instant::ZERO)?;
//! let map: serde_json::Value = serde_json::from_slice(&map)?;
//! assert_eq!(map["type"], "FeatureCollection");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod antimeridian;
pub mod czml;
mod ends;
pub mod geojson;

pub use antimeridian::split;
pub use ends::watched;
