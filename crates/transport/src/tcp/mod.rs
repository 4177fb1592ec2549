//! TCP (RFC 9293).

mod reset;

pub use reset::no_session_reset;
