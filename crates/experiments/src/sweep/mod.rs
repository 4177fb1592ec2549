//! Sweeps: many runs of a scenario, one row of a table for each.
//!
//! A [`Sweep`] varies keys of a scenario ([`Axis`]), the variant of its flows, and the seed ([`Seeds`]). Its runs are numbered;
//! machines share it by [`Shard`]s, or by ranges of numbers. Each row has the [`RunHash`] of its run, so that no run is repeated
//! when a sweep is taken up again or grows. With the feature `parquet` rows are Arrow record batches ([`table`]) and Parquet
//! files ([`mod@file`]), which are the same byte for byte whoever ran what.

mod axis;
#[cfg(feature = "parquet")]
pub mod cells;
mod columns;
#[cfg(feature = "parquet")]
pub mod file;
mod hash;
mod in_order;
#[cfg(feature = "parquet")]
mod merge;
#[cfg(feature = "parquet")]
mod output;
#[cfg(feature = "parquet")]
mod parquet_file;
mod plan;
mod run;
mod seeds;
mod shard;
#[cfg(feature = "parquet")]
mod stream;
#[cfg(feature = "parquet")]
pub mod table;

pub use axis::Axis;
pub use columns::{COLUMNS, Column, ColumnId, Value, Values};
pub use hash::RunHash;
#[cfg(feature = "parquet")]
pub use merge::{Merged, merge};
pub use plan::{Place, Sweep, Varied};
pub use run::Row;
pub use seeds::Seeds;
pub use shard::Shard;
