//! A link between nodes that are joined by message queues.

use bentpipe_link::Path;
use bentpipe_net::qlp::{Frame, NodeId, Router};

use super::counters::{self, Live};
use super::signals::Signals;
use crate::args::Emulate;
use crate::commands::net::mqueue;
use crate::failure::Failure;

/// Passes frames between nodes over a path, until it is stopped.
pub(super) fn route(
    node: NodeId,
    args: &Emulate,
    path: Path<Frame>,
    names: &str,
) -> Result<(), Failure> {
    let signals = Signals::watch()?;
    let mut router = Router::open(node, mqueue::routes(&args.queues), path, args.swap)?;
    mqueue::announce(node, router.depth());
    anstream::eprintln!("node {node} passes frames over {names}");
    let live = Live::new(false);
    router
        .run(|path| {
            live.show(path);
            !signals.any()
        })
        .map_err(|error| Failure::System(format!("node {node}: {error}")))?;
    live.end();
    if args.json {
        return counters::document(router.path(), Some(router.counters().into()));
    }
    counters::lines(router.path(), std::io::stdout().lock())?;
    mqueue::remark(router.counters());
    Ok(())
}
