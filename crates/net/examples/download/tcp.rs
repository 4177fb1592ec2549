//! Over the kernel's TCP.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::content::{Checker, chunks};
use crate::{Args, Outcome};

const READ: usize = 256 * 1024;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 4096;

/// Answers each number of a connection with as many bytes.
pub(crate) async fn serve(args: &Args) -> Outcome<()> {
    let socket = if args.address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    if let Some(control) = &args.control {
        // Connections inherit it.
        rustix::net::sockopt::set_tcp_congestion(&socket, control)?;
    }
    socket.bind(args.address)?;
    let listener = socket.listen(BACKLOG)?;
    loop {
        let (mut connection, _) = listener.accept().await?;
        tokio::spawn(async move {
            while let Ok(bytes) = connection.read_u64().await {
                for chunk in chunks(bytes) {
                    connection.write_all(&chunk).await?;
                }
            }
            connection.shutdown().await
        });
    }
}

/// Downloads, each flow over a connection of its own.
pub(crate) async fn download(args: &Args) -> Outcome<Vec<(u64, Duration)>> {
    let mut flows = JoinSet::new();
    for _ in 0..args.flows {
        let (address, bytes, counted) = (args.address, args.bytes, args.counted());
        flows.spawn(async move {
            let checker = Checker::default();
            let all = async {
                let mut connection = TcpStream::connect(address).await?;
                ask(&mut connection, bytes, &checker).await
            };
            counted.within(&checker, all).await
        });
    }
    flows.join_all().await.into_iter().collect()
}

/// Asks for so many bytes, reads and checks them.
pub(crate) async fn ask(connection: &mut TcpStream, bytes: u64, checker: &Checker) -> Outcome<()> {
    connection.write_u64(bytes).await?;
    let mut buffer = vec![0; READ.min(bytes as usize)];
    while checker.seen() < bytes {
        let read = connection.read(&mut buffer).await?;
        if read == 0 {
            return Err("it ended too early".into());
        }
        checker.take(&buffer[..read])?;
    }
    Ok(())
}
