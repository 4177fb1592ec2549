//! A given rate: for a link whose capacity is known and that nobody shares.
//!
//! Segments are paced from the first one on, losses of single segments change nothing, and the window only bounds
//! what the sender remembers. What the link really carries, and how long its path is, an estimator finds out from what
//! arrives; connections over the same link have one together ([`DedicatedLink`]).

mod base;
mod connection;
mod estimator;
mod link;
mod samples;
mod sent;

use bentpipe_units::BitRate;

use self::connection::Rate;
pub use self::link::DedicatedLink;
use crate::row::{Parameter, Row};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "rate",
    summary: "a given rate, paced from the first segment on; follows what the link carries of it",
    citation: "rate-based sending over a dedicated satellite link, as in RFC 2488, section 5, and \
               hysteria's \"brutal\"; what the link carries is found out in this project's way",
    parameters: &[Parameter {
        name: "rate",
        unit: "bit/s",
        default: 10e6,
        range: (1e3, 1e12),
        summary: "rate of whole segments, headers of the transport included",
    }],
    build: &|build| {
        let rate = BitRate::from_bps(build.parameter(&ROW, "rate") as u64);
        Box::new(Rate::alone(rate, build.mss, build.cwnd_max))
    },
};

#[cfg(test)]
mod tests;
