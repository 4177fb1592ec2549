//! What the simulator found: tables, summaries, plots and their files.

pub(crate) mod course;
pub(crate) mod figure;
pub(crate) mod file;
pub(crate) mod map;
pub(crate) mod progress;
pub(crate) mod ranking;
pub(crate) mod summary;
pub(crate) mod table;
