//! What gateways say of themselves, asked over HTTP where `[ops]` of their configuration serves it.

mod fetch;

pub use fetch::{metrics, status};
