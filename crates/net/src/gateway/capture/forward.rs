//! Ports that lead to one destination.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::{Inner, datagrams, listen};
use crate::gateway::streams::Stream;
use crate::listening::serve;
use bentpipe_gateway::Protocol;

/// Opens the ports.
pub(super) fn start(inner: &Arc<Inner>, tasks: &mut JoinSet<io::Result<()>>) -> io::Result<()> {
    for forward in &inner.config().forward {
        let peer =
            inner.config().peer(forward.peer.as_deref()).map_err(io::Error::other)?.to_owned();
        if forward.protocol == Protocol::Udp {
            datagrams::forward(inner, tasks, forward.listen, peer, forward.to.0.clone())?;
            continue;
        }
        let listener = listen(forward.listen, false)?;
        let (inner, to) = (inner.clone(), forward.to.0.clone());
        let unknown = inner.unknown().clone();
        tasks.spawn(serve(listener, unknown, move |tcp, from, unknown| {
            let (inner, peer, to) = (inner.clone(), peer.clone(), to.clone());
            async move { inner.serve(&peer, Stream(tcp), from, to, Some(unknown)).await }
        }));
    }
    Ok(())
}
