//! The page: the sky, runs, comparisons and gateways in a browser, and the server behind it.
//!
//! A [`Server`] listens on one address, has the page inside itself and asks nobody else for anything. Runs are those of
//! [`bentpipe_sim`] on threads of their own, positions those of [`bentpipe_orbit`]; the page only draws.
//!
//! ```no_run
//! use bentpipe_serve::{Options, Server};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::bind(Options::new("127.0.0.1:8380".parse()?)).await?;
//! println!("{}", server.url());
//! server.run(std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```

mod answer;
mod api;
mod body;
pub mod fuzz;
mod gateways;
mod guard;
mod limits;
mod memory;
mod options;
mod page;
mod places;
#[cfg(feature = "parquet")]
mod results;
mod run;
mod server;
mod sky;
mod state;
mod study;
mod talk;
mod token;
mod wanted;

pub use limits::Limits;
pub use options::Options;
pub use page::is_built;
pub use server::{ServeError, Server};
pub use token::{BadToken, Token};
