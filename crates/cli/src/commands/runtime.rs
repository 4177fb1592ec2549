//! The runtime of the commands that use the network.

use crate::failure::Failure;

/// The runtime of the commands that use the network.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    runtime_after(|| ())
}

/// A runtime each of whose threads does this first.
pub(crate) fn runtime_after(
    first: impl Fn() + Send + Sync + 'static,
) -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .on_thread_start(first)
        .build()
        .map_err(|error| Failure::System(format!("cannot start: {error}")))
}
