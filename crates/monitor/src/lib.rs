//! What gateways say of themselves, asked over HTTP where `[ops]` of their configuration serves it.
//!
//! ```no_run
//! # async fn example() -> Result<(), String> {
//! let status = bentpipe_monitor::status("127.0.0.1:9100").await?;
//! for peer in &status.peers {
//!     println!("{}: {}", peer.name, if peer.up { "up" } else { "down" });
//! }
//! # Ok(())
//! # }
//! ```

mod fetch;

pub use fetch::{metrics, status};
