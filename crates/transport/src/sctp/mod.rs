//! SCTP, the Stream Control Transmission Protocol (RFC 9260).

mod stray;

pub use stray::out_of_the_blue;
