//! How results look: tables, summaries, plots.

pub(crate) mod map;
pub(crate) mod plot;
pub(crate) mod summary;
pub(crate) mod table;
