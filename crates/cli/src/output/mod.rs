//! How results look: tables, summaries, plots.

pub(crate) mod bars;
pub(crate) mod file;
pub(crate) mod harmless;
pub(crate) mod limits;
pub(crate) mod lines;
pub(crate) mod map;
pub(crate) mod plot;
pub(crate) mod progress;
pub(crate) mod ranking;
pub(crate) mod summary;
pub(crate) mod table;
