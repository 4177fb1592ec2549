//! How results look: tables, summaries, plots.

#[cfg(any(feature = "sim", feature = "top"))]
pub(crate) mod columns;
pub(crate) mod complaint;
#[cfg(any(feature = "net", feature = "top"))]
pub(crate) mod harmless;
#[cfg(any(feature = "sim", feature = "gateway"))]
pub(crate) mod keys;
#[cfg(feature = "net")]
pub(crate) mod lines;
#[cfg(feature = "sim")]
pub(crate) mod sim;
