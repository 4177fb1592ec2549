//! An application's end of the socket of a node.

use std::io;
use std::path::Path;

use tokio::net::UnixStream;

use super::local::{Channel, Confirm, Delivered, Listed, Question, Said, Submission};

/// A connection with a node of this machine.
#[derive(Debug)]
pub struct Client {
    channel: Channel,
}

impl Client {
    /// Connects to the socket of a node.
    ///
    /// # Errors
    /// When there is no node at that place.
    pub async fn connect(socket: &Path) -> io::Result<Self> {
        Ok(Self { channel: Channel::new(UnixStream::connect(socket).await?) })
    }

    /// Hands over a bundle. When its name is returned, the bundle is on the medium of the node.
    ///
    /// # Errors
    /// When the node has gone: it may have the bundle or not. What the node refuses is no error, but said.
    pub async fn send(&mut self, submission: Submission, payload: &[u8]) -> io::Result<Said> {
        self.channel.write(&Question::Send(submission), payload).await?;
        self.channel.read().await?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Asks for what is at an endpoint. [`Client::next`] gives it out.
    ///
    /// # Errors
    /// When the node has gone.
    pub async fn receive(&mut self, endpoint: &str) -> io::Result<()> {
        self.channel.write(&Question::Recv { endpoint: endpoint.to_owned() }, &[]).await
    }

    /// Waits for the next bundle at the endpoint, with its payload.
    ///
    /// # Errors
    /// When the node has gone, or has no such endpoint.
    pub async fn next(&mut self) -> io::Result<(Delivered, Vec<u8>)> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Next {
            Delivered(Delivered),
            Said(Said),
        }
        match self.channel.read().await?.ok_or(io::ErrorKind::UnexpectedEof)? {
            Next::Delivered(delivered) => {
                let payload = self.channel.read_bytes(delivered.bytes).await?;
                Ok((delivered, payload))
            }
            Next::Said(Said::Refused(why) | Said::NotNow(why) | Said::Taken(why)) => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, why))
            }
        }
    }

    /// Says that the application has a bundle. When it returns, the node knows and does not deliver it again.
    ///
    /// # Errors
    /// When the node has gone: it may deliver the bundle once more.
    pub async fn confirm(&mut self, delivered: &Delivered) -> io::Result<()> {
        let confirm = Confirm { delivered: delivered.hash.clone() };
        self.channel.write(&confirm, &[]).await?;
        let said: Option<Confirm> = self.channel.read().await?;
        if said != Some(confirm) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Has the node delete the bundle of this name or hash. `Said::Taken` says that it has.
    ///
    /// # Errors
    /// When the node has gone.
    pub async fn delete(&mut self, id: &str) -> io::Result<Said> {
        self.channel.write(&Question::Delete { id: id.to_owned() }, &[]).await?;
        self.channel.read().await?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// What the node holds.
    ///
    /// # Errors
    /// When the node has gone.
    pub async fn list(&mut self) -> io::Result<Listed> {
        self.channel.write(&Question::List, &[]).await?;
        self.channel.read_long().await
    }
}
