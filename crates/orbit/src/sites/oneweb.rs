//! OneWeb's gateways, which it calls satellite network portals.

use super::Site;
use super::Source::{Fcc, Operator};

/// Portals that OneWeb or its partners have announced, or the FCC has licensed. Its points of presence are not known
/// well enough to be listed: portals are joined to each other.
pub(crate) static ONEWEB: &[Site] = &[
    Site::gateway("Talkeetna", 62.3, -150.0, Fcc),
    Site::gateway("Clewiston", 26.7, -81.0, Fcc),
    Site::gateway("Southbury", 41.5, -73.2, Fcc),
    Site::gateway("Santa Paula", 34.4, -119.1, Fcc),
    Site::gateway("Yellowknife", 62.5, -114.4, Operator),
    Site::gateway("Svalbard", 78.2, 15.4, Operator),
    Site::gateway("Sintra", 38.9, -9.3, Operator),
    Site::gateway("Scanzano", 37.9, 13.4, Operator),
    Site::gateway("Marica", -22.9, -42.8, Operator),
    Site::gateway("Hartebeesthoek", -25.9, 27.7, Operator),
    Site::gateway("Nemea", 37.8, 22.7, Operator),
    Site::gateway("Mehsana", 23.6, 72.4, Operator),
    Site::gateway("Darwin", -12.5, 130.8, Operator),
    Site::gateway("Toowoomba", -27.6, 151.9, Operator),
];
