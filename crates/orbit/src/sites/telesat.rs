//! Telesat's gateways.

use super::Site;
use super::Source::{Fcc, Operator};

/// Teleports of Telesat that it has named for Lightspeed or holds licences for.
pub(crate) static TELESAT: &[Site] = &[
    Site::gateway("Allan Park", 44.2, -80.9, Operator),
    Site::gateway("Saskatoon", 52.1, -106.7, Operator),
    Site::gateway("Mount Jackson", 38.7, -78.6, Fcc),
    Site::gateway("Belo Horizonte", -19.9, -43.9, Operator),
    Site::gateway("Aussaguel", 43.4, 1.5, Operator),
    Site::gateway("Yarralumla", -35.3, 149.1, Operator),
];
