//! Bundle nodes on this machine: their disk, their sockets, their applications. What a node decides is in `bentpipe-bundle`.

mod client;
mod config;
mod folder;
mod local;
mod node;

pub use client::Client;
pub use config::{Layer, Listener, Neighbour, NodeConfig, load};
pub use folder::DiskFolder;
pub use local::{Delivered, LONGEST_LINE, Listed, ListedBundle, Report, Said, Submission};
pub use node::{DiskNode, NodeError, Running, file_name, holds, start};
