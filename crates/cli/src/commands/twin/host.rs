//! The hosts of a twin: a server that sends as many bytes as it is asked for, and a client that checks them.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::Instant;

use crate::args::TwinRole;
use crate::commands::stop::in_runtime;
use crate::failure::Failure;

/// Bytes of the two numbers that a request begins with: its own length and that of the answer.
const NUMBERS: usize = 16;
const PIECE: usize = 64 * 1024;

/// How long a download took, in seconds from the call.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Times {
    pub(super) first_byte: f64,
    pub(super) last_byte: f64,
}

/// Is one of the hosts.
pub(crate) fn host(role: &TwinRole) -> Result<(), Failure> {
    in_runtime(async {
        match role {
            TwinRole::Serve { listen, control } => serve(*listen, control).await,
            TwinRole::Fetch { from, request, bytes, out } => {
                fetch(*from, *request, *bytes, out).await
            }
            TwinRole::Status { of, out } => {
                let status = bentpipe_monitor::status(of).await.map_err(io::Error::other)?;
                let status = serde_json::to_string(&status).map_err(io::Error::other)?;
                std::fs::write(out, status)
            }
        }
        .map_err(|error| Failure::System(error.to_string()))
    })
}

const fn byte(at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

async fn serve(listen: SocketAddr, control: &str) -> io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    // Connections inherit it.
    rustix::net::sockopt::set_tcp_congestion(&socket, control)?;
    socket.bind(listen)?;
    let listener = socket.listen(16)?;
    loop {
        let (connection, _) = listener.accept().await?;
        tokio::spawn(answer(connection));
    }
}

async fn answer(mut connection: TcpStream) -> io::Result<()> {
    let (request, bytes) = (connection.read_u64().await?, connection.read_u64().await?);
    let mut rest = (&mut connection).take(request.saturating_sub(NUMBERS as u64));
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
    let mut sent = 0;
    while sent < bytes {
        let end = bytes.min(sent + PIECE as u64);
        let piece: Vec<u8> = (sent..end).map(byte).collect();
        connection.write_all(&piece).await?;
        sent = end;
    }
    connection.shutdown().await?;
    tokio::io::copy(&mut connection, &mut tokio::io::sink()).await.map(drop)
}

async fn fetch(from: SocketAddr, request: usize, bytes: u64, out: &Path) -> io::Result<()> {
    let began = Instant::now();
    let mut connection = TcpStream::connect(from).await?;
    let mut asks = vec![0; request.max(NUMBERS)];
    asks[..8].copy_from_slice(&(request.max(NUMBERS) as u64).to_be_bytes());
    asks[8..NUMBERS].copy_from_slice(&bytes.to_be_bytes());
    connection.write_all(&asks).await?;
    let (mut first, mut seen, mut piece) = (None, 0, vec![0; PIECE]);
    loop {
        let len = connection.read(&mut piece).await?;
        if len == 0 {
            break;
        }
        first.get_or_insert(began.elapsed());
        let wrong = (seen..).zip(&piece[..len]).find(|(at, got)| byte(*at) != **got);
        if let Some((at, _)) = wrong {
            return Err(io::Error::other(format!("byte {at} is not what was sent")));
        }
        seen += len as u64;
        if seen == bytes {
            break;
        }
    }
    let Some(first) = first.filter(|_| seen == bytes) else {
        return Err(io::Error::other(format!("it ended after {seen} of {bytes} bytes")));
    };
    let times = Times { first_byte: first.as_secs_f64(), last_byte: began.elapsed().as_secs_f64() };
    std::fs::write(out, serde_json::to_string(&times)?)
}
