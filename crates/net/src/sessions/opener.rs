//! What applications do with the connections of a node.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;

use bentpipe_association::endpoint::Streams as _;
use bentpipe_association::host::{Connection, Handle};
use bentpipe_transport::xstp::Config;

use super::{Dropped, Framing, Sessions};

/// Opens and accepts connections. Clones are of the same node, which goes on until the last clone and the last connection are gone.
#[derive(Debug)]
pub struct Opener<F: Framing>(Arc<Handle<Sessions<F>>>);

impl<F: Framing> Clone for Opener<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<F: Framing> Opener<F> {
    /// Those of the node that this runs.
    pub(crate) const fn new(handle: Arc<Handle<Sessions<F>>>) -> Self {
        Self(handle)
    }

    /// Frames that were dropped for what is in them.
    pub(crate) fn dropped(&self) -> Dropped {
        *self.0.shared.endpoint().dropped()
    }

    /// Lets peers open connections, with these settings. [`Opener::accept`] gives them out.
    pub fn listen(&self, config: Arc<Config>) {
        self.0.shared.endpoint().listen(config);
    }

    /// The next connection that a peer opened, and who that is. Nothing proves it.
    pub async fn accept(&self) -> (F::Peer, Connection<Sessions<F>>) {
        let (peer, id) = poll_fn(|cx| self.0.shared.endpoint().poll_accept(cx)).await;
        (peer, Connection::new(self.0.clone(), id))
    }

    /// Opens a connection to service `port` of a peer.
    ///
    /// # Errors
    /// When the peer does not answer, or refuses, or what carries frames is gone.
    pub async fn connect(
        &self,
        peer: F::Peer,
        port: u16,
        config: Arc<Config>,
    ) -> io::Result<Connection<Sessions<F>>> {
        let shared = &self.0.shared;
        let id = shared.endpoint().connect(shared.now(), peer, port, config);
        shared.changed.notify_one();
        let connection = Connection::new(self.0.clone(), id);
        poll_fn(|cx| shared.endpoint().poll_connected(id, cx)).await?;
        Ok(connection)
    }
}
