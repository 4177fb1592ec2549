//! TCP Peach+: Peach whose low-priority segments carry unacknowledged data and so repair as well.

use crate::Copies;
use crate::family::Windowed;
use crate::probing::Probing;
use crate::row::Row;
use crate::window::ABC_LIMIT;

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "peach-plus",
    summary: "jump start and quick recovery with low-priority copies of unacknowledged data",
    citation: "Akyildiz, Zhang, Fang, IEEE Communications Letters 6(7), 2002",
    parameters: &[ABC_LIMIT],
    build: &|build| Windowed::boxed(build, &ROW, Probing::new(Copies::Outstanding, false)),
};
