//! TCP Swift: the window opens within two round trips to what arrived of low-priority copies.

use crate::Copies;
use crate::family::Windowed;
use crate::probing::{COPIES_PER_SEGMENT, Probing};
use crate::row::Row;
use crate::window::ABC_LIMIT;

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "swift",
    summary: "speedy start and speedy recovery with low-priority copies of outstanding segments",
    citation: "Leung and Yeung, ISCC 2004; the window after the start is this project's reading",
    parameters: &[ABC_LIMIT, COPIES_PER_SEGMENT],
    build: &|build| {
        let algorithm = Probing::new(build, &ROW, Copies::Outstanding, true);
        Windowed::boxed(build, &ROW, algorithm)
    },
};
