//! Sockets of hosts, as the gateway sees them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bentpipe_gateway::{Received, Tcp, TcpReader, Udp};
use bentpipe_wire::Ecn;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpStream, UdpSocket};

use crate::esp_sockets::EspSocket;
use crate::{sockets, udp_sockets};

/// A TCP connection of a host.
#[derive(Debug)]
pub(super) struct Stream(pub(super) TcpStream);

impl Tcp for Stream {
    type Reader<'a> = Reader<'a>;
    type Writer<'a> = WriteHalf<'a>;

    fn split(&mut self) -> (Reader<'_>, WriteHalf<'_>) {
        let (reader, writer) = self.0.split();
        (Reader(reader), writer)
    }

    fn prepare(&self) -> io::Result<()> {
        sockets::prepare(&self.0)
    }

    fn guard(&self) -> io::Result<()> {
        sockets::guard(&self.0)
    }

    fn complete(&self) -> io::Result<()> {
        sockets::complete(&self.0)
    }

    fn queued(&self) -> usize {
        sockets::queued(&self.0) as usize
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// What is read from a TCP connection.
#[derive(Debug)]
pub(super) struct Reader<'a>(ReadHalf<'a>);

impl TcpReader for Reader<'_> {
    async fn readable(&self) -> io::Result<()> {
        self.0.readable().await
    }
}

impl AsyncRead for Reader<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

/// A socket of one flow.
#[derive(Debug)]
pub(super) enum Datagrams {
    /// Of UDP.
    Udp(UdpSocket),
    /// Of ESP.
    Esp(EspSocket),
}

impl Udp for Datagrams {
    async fn send(&self, datagram: &[u8], ecn: Ecn) -> io::Result<usize> {
        match self {
            Self::Udp(socket) => udp_sockets::send(socket, datagram, ecn).await,
            Self::Esp(socket) => socket.send(datagram, ecn).await,
        }
    }

    async fn recv(&self) -> io::Result<Received> {
        match self {
            Self::Udp(socket) => udp_sockets::receive(socket).await,
            Self::Esp(socket) => socket.receive().await,
        }
    }
}
