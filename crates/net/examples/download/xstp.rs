//! Over Bentpipe.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bentpipe_association::host::Connection;
use bentpipe_association::{LEARN, SecretKey, Security, Tuning};
use bentpipe_net::Host;
use bytes::Bytes;
use tokio::task::JoinSet;

use crate::content::{Checker, chunks};
use crate::{Args, Outcome};

const SERVER: [u8; 32] = [1; 32];
const CLIENT: [u8; 32] = [2; 32];

/// A host that finds out what the path carries where no rate is known, as gateways and `send` do.
fn host(args: &Args, local: SocketAddr, key: [u8; 32]) -> Outcome<Host> {
    let host = Host::bind(local, SecretKey::from_bytes(key), Security::Full)?;
    if args.rate.is_none() {
        host.set_learning(LEARN);
    }
    Ok(host)
}

fn tuning(args: &Args) -> Tuning {
    Tuning { rate: args.rate, ..Tuning::default() }
}

/// Answers every connection with as many bytes as it asks for.
pub(crate) async fn serve(args: &Args) -> Outcome<()> {
    let host = host(args, args.address, SERVER)?;
    host.allow(SecretKey::from_bytes(CLIENT).public());
    host.listen(tuning(args).config()?);
    loop {
        let connection = host.accept().await;
        tokio::spawn(async move {
            let mut request = Vec::new();
            // The end of the request is a round trip behind it.
            while request.len() < 8
                && let Some(chunk) = connection.read_bytes().await?
            {
                request.extend_from_slice(&chunk);
            }
            let bytes = request.try_into().map(u64::from_be_bytes).unwrap_or(0);
            for chunk in chunks(bytes) {
                connection.write_bytes(chunk).await?;
            }
            connection.finish().await
        });
    }
}

/// Downloads, after a first exchange that brings the association up, and some time without any, unless it is to begin cold.
pub(crate) async fn download(args: &Args) -> Outcome<Vec<(u64, Duration)>> {
    let any = (if args.address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).parse()?;
    let host = host(args, any, CLIENT)?;
    let peer = SecretKey::from_bytes(SERVER).public();
    let config = tuning(args).config()?;
    let address = args.address;
    let open = move |host: &Host| host.open(address, peer, 7, config.clone());
    let open = Arc::new(open);
    if !args.cold {
        read(open(&host), 1, &Checker::default()).await?;
        tokio::time::sleep(Duration::from_secs(args.idle)).await;
    }

    let mut flows = JoinSet::new();
    for _ in 0..args.flows {
        let (host, open, bytes, counted) = (host.clone(), open.clone(), args.bytes, args.counted());
        flows.spawn(async move {
            let checker = Checker::default();
            let all = read(open(&host), bytes, &checker);
            counted.within(&checker, all).await
        });
    }
    flows.join_all().await.into_iter().collect()
}

/// Asks for so many bytes, reads and checks them.
async fn read(mut connection: Connection, bytes: u64, checker: &Checker) -> Outcome<()> {
    connection.write_bytes(Bytes::copy_from_slice(&bytes.to_be_bytes())).await?;
    tokio::io::AsyncWriteExt::shutdown(&mut connection).await?;
    while checker.seen() < bytes {
        checker.take(&connection.read_bytes().await?.ok_or("it ended too early")?)?;
    }
    Ok(())
}
