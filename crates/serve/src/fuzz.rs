//! What fuzz targets do with their input.

use crate::{run, sky, study, talk};

/// Reads a text as each thing that a page may say, and builds what was asked as far as nothing is run.
pub fn request(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    drop(talk::read::<run::Asked>(text));
    drop(talk::read::<run::Control>(text));
    drop(talk::read::<study::Asked>(text));
    if let Ok(asked) = talk::read::<sky::Asked>(text) {
        drop(asked.network());
    }
    drop(talk::read::<sky::Wanted>(text));
}
