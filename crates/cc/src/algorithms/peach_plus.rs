//! TCP Peach+: Peach whose low-priority segments carry unacknowledged data and so repair as well.

use crate::Copies;
use crate::family::Windowed;
use crate::probing::{COPIES_PER_SEGMENT, Probing};
use crate::row::Row;
use crate::window::ABC_LIMIT;

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "peach-plus",
    summary: "jump start and quick recovery with low-priority copies of unacknowledged data",
    citation: "Akyildiz, Zhang, Fang, IEEE Communications Letters 6(7), 2002",
    parameters: &[ABC_LIMIT, COPIES_PER_SEGMENT],
    build: &|build| {
        let algorithm = Probing::new(build, &ROW, Copies::Outstanding, false);
        Windowed::boxed(build, &ROW, algorithm)
    },
};
