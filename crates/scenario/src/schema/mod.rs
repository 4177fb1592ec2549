//! Scenario files as they are written: tables, keys, and the types of their values.
//!
//! What is read here is right in itself; whether it fits together is asked by `build`.

pub(crate) mod agent;
pub(crate) mod bentpipe;
pub(crate) mod constellation;
pub(crate) mod constellation_file;
pub(crate) mod draw;
pub(crate) mod file;
pub(crate) mod flow;
pub(crate) mod gateway;
pub(crate) mod link;
pub(crate) mod named;
pub(crate) mod protocol;
pub(crate) mod proxy;
pub(crate) mod quantity;
pub(crate) mod queue;
pub(crate) mod radio;
pub(crate) mod rain;
pub(crate) mod sctp;
pub(crate) mod settings;
pub(crate) mod tcp;
pub(crate) mod trace;
pub(crate) mod track;
pub(crate) mod traffic;
pub(crate) mod uplink;
pub(crate) mod xstp;
