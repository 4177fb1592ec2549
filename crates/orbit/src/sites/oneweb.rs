//! OneWeb's gateways, which it calls satellite network portals.

use super::Site;
use super::Source::{Fcc, Operator};

/// Portals follow satellites down to lower elevations than terminals do: 15 degrees (FCC SAT-MPL-20200526-00062).
const PORTAL_MASK: f64 = 15.0;

/// Portals that OneWeb or its partners have announced, or the FCC has licensed. Its points of presence are not known
/// well enough to be listed: portals are joined to each other.
pub(crate) static ONEWEB: &[Site] = &[
    Site::gateway("Talkeetna", 62.3, -150.0, Fcc).above(PORTAL_MASK),
    Site::gateway("Clewiston", 26.7, -81.0, Fcc).above(PORTAL_MASK),
    Site::gateway("Southbury", 41.5, -73.2, Fcc).above(PORTAL_MASK),
    Site::gateway("Santa Paula", 34.4, -119.1, Fcc).above(PORTAL_MASK),
    Site::gateway("Yellowknife", 62.5, -114.4, Operator).above(PORTAL_MASK),
    Site::gateway("Svalbard", 78.2, 15.4, Operator).above(PORTAL_MASK),
    Site::gateway("Sintra", 38.9, -9.3, Operator).above(PORTAL_MASK),
    Site::gateway("Scanzano", 37.9, 13.4, Operator).above(PORTAL_MASK),
    Site::gateway("Marica", -22.9, -42.8, Operator).above(PORTAL_MASK),
    Site::gateway("Hartebeesthoek", -25.9, 27.7, Operator).above(PORTAL_MASK),
    Site::gateway("Nemea", 37.8, 22.7, Operator).above(PORTAL_MASK),
    Site::gateway("Mehsana", 23.6, 72.4, Operator).above(PORTAL_MASK),
    Site::gateway("Darwin", -12.5, 130.8, Operator).above(PORTAL_MASK),
    Site::gateway("Toowoomba", -27.6, 151.9, Operator).above(PORTAL_MASK),
];
