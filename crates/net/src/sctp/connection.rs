//! What an application can do with an association besides reading and writing bytes.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::Poll;

use bentpipe_transport::sctp::{Message, SendError};
use bytes::Bytes;

use super::associations::Associations;
use bentpipe_association::stream::StreamError;

/// An association as an asynchronous stream of bytes, or of messages where the settings say so
/// ([`View::Messages`](super::View::Messages)). Nothing is encrypted.
pub type Connection = bentpipe_association::host::Connection<Associations>;

/// What happened to a path, named by the peer's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange {
    /// It was tried and works.
    Confirmed(SocketAddr),
    /// It did not answer too often: data take another one.
    Down(SocketAddr),
    /// It answers again.
    Up(SocketAddr),
    /// The peer has this address no more.
    Deleted(IpAddr),
    /// The peer has taken a change of this host's addresses.
    Readdressed,
    /// The peer refused a change of this host's addresses, for the reason with this code (RFC 5061, section 4.3).
    ReaddressRefused(u16),
}

/// What an SCTP association can do that is more than a stream of bytes.
pub trait Messages {
    /// Sends a message on a stream; waits while there is no room. `unordered` ones are delivered as soon
    /// as they have arrived, `ppid` says what the bytes are.
    ///
    /// # Errors
    /// When there is no such stream, the message is longer than the send buffer, or the association failed
    /// or is closed.
    fn send(
        &self,
        stream: u16,
        ppid: u32,
        unordered: bool,
        data: Bytes,
    ) -> impl Future<Output = io::Result<()>> + Send;

    /// The next message of any stream; `None` when the peer has sent all.
    ///
    /// # Errors
    /// When the association failed.
    fn receive(&self) -> impl Future<Output = io::Result<Option<Message>>> + Send;

    /// Streams that messages can be sent on.
    fn streams(&self) -> u16;

    /// The next thing that happens to a path; `None` once the association is over. One at a time may wait for it.
    fn path_change(&self) -> impl Future<Output = Option<PathChange>> + Send;
}

impl Messages for Connection {
    async fn send(&self, stream: u16, ppid: u32, unordered: bool, data: Bytes) -> io::Result<()> {
        poll_fn(|cx| {
            let sent = self.with(|stream_of| {
                if let Some(failure) = stream_of.status.failed {
                    return Poll::Ready(Err(StreamError::from(failure).into()));
                }
                match stream_of.endpoint.send(stream, ppid, unordered, data.clone()) {
                    Ok(()) => Poll::Ready(Ok(())),
                    Err(SendError::NoRoom { .. }) => {
                        stream_of.wait_to_write(cx);
                        Poll::Pending
                    }
                    Err(SendError::Closed) => Poll::Ready(Err(StreamError::Closed.into())),
                    Err(error) => {
                        Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, error)))
                    }
                }
            });
            if sent.is_ready() {
                self.mark_dirty();
            }
            sent
        })
        .await
    }

    async fn receive(&self) -> io::Result<Option<Message>> {
        let message = poll_fn(|cx| {
            self.with(|stream| {
                if let Some(message) = stream.endpoint.receive() {
                    return Poll::Ready(Ok(Some(message)));
                }
                if stream.status.peer_closed {
                    return Poll::Ready(Ok(None));
                }
                if let Some(failure) = stream.status.failed {
                    return Poll::Ready(Err(io::Error::from(StreamError::from(failure))));
                }
                stream.wait_to_read(cx);
                Poll::Pending
            })
        })
        .await?;
        if message.is_some() {
            self.note_read();
        }
        Ok(message)
    }

    fn streams(&self) -> u16 {
        self.with(|stream| stream.endpoint.outbound_streams())
    }

    async fn path_change(&self) -> Option<PathChange> {
        poll_fn(|cx| self.endpoint().poll_change(self.id(), cx)).await
    }
}
