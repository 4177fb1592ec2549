//! Networks of satellites as other programs show them: CZML for Cesium, GeoJSON for maps.

mod antimeridian;
pub mod czml;
mod ends;
pub mod geojson;

pub use antimeridian::split;
pub use ends::watched;
