//! The land of the Earth.

use serde::Deserialize;

const LAND: &str = include_str!("../../../../data/land-110m.geojson");

/// A line that ends where it begins, in degrees east and north.
type Ring = Vec<(f64, f64)>;

#[derive(Deserialize)]
struct Feature {
    geometry: Geometry,
}

#[derive(Deserialize)]
struct Geometry {
    coordinates: Vec<Vec<Ring>>,
}

/// The polygons of the land: the first ring of each is its coast, those behind it are lakes.
pub(super) fn land() -> serde_json::Result<Vec<Vec<Ring>>> {
    let feature: Feature = serde_json::from_str(LAND)?;
    Ok(feature.geometry.coordinates)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a ray from a point to the east crosses the ring an odd number of times.
    fn inside(ring: &Ring, (x, y): (f64, f64)) -> bool {
        let crosses = |pair: &&[(f64, f64)]| {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            (y0 > y) != (y1 > y) && x < x0 + (x1 - x0) * (y - y0) / (y1 - y0)
        };
        ring.windows(2).filter(crosses).count() % 2 == 1
    }

    #[test]
    fn cities_inland_are_on_the_land_and_oceans_and_the_caspian_are_not() {
        let land = land().expect("GeoJSON");
        let is_land = |at: (f64, f64)| {
            land.iter().any(|rings| {
                inside(&rings[0], at) && !rings[1..].iter().any(|lake| inside(lake, at))
            })
        };
        for (x, y) in [(13.4, 52.5), (-105.0, 39.7), (-47.9, -15.8), (179.0, 67.0), (0.0, -85.0)] {
            assert!(is_land((x, y)), "{x} {y}");
        }
        for (x, y) in [(-40.0, 30.0), (-150.0, 0.0), (51.0, 41.0), (0.0, 88.0), (80.0, -20.0)] {
            assert!(!is_land((x, y)), "{x} {y}");
        }
    }

    #[test]
    fn no_coast_leads_across_the_whole_map_but_along_its_lower_edge() {
        for ring in land().expect("GeoJSON").iter().flatten() {
            assert!(ring.len() >= 4 && ring.first() == ring.last());
            for pair in ring.windows(2) {
                let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
                assert!(x0.abs() <= 180.0 && y0.abs() <= 90.0);
                assert!((x1 - x0).abs() <= 180.0 || (y0, y1) == (-90.0, -90.0), "{pair:?}");
            }
        }
    }
}
