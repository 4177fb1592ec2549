//! Over Bentpipe.

use std::sync::Arc;
use std::time::Duration;

use bentpipe_association::host::Connection;
use bentpipe_association::{SecretKey, Security, Tuning};
use bentpipe_net::Host;
use bytes::Bytes;
use tokio::task::JoinSet;

use crate::content::{Checker, chunks};
use crate::{Args, Outcome};

const SERVER: [u8; 32] = [1; 32];
const CLIENT: [u8; 32] = [2; 32];
/// Time for the first exchange to end, so that the association is up and idle.
const WARM_UP: Duration = Duration::from_secs(3);

fn tuning(args: &Args) -> Tuning {
    Tuning { rate: args.rate, ..Tuning::default() }
}

/// Answers every connection with as many bytes as it asks for.
pub(crate) async fn serve(args: &Args) -> Outcome<()> {
    let host = Host::bind(args.address, SecretKey::from_bytes(SERVER), Security::Full)?;
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

/// Downloads, after a first exchange that brings the association up unless it is to begin cold.
pub(crate) async fn download(args: &Args) -> Outcome<Vec<(u64, Duration)>> {
    let any = (if args.address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).parse()?;
    let host = Host::bind(any, SecretKey::from_bytes(CLIENT), Security::Full)?;
    let peer = SecretKey::from_bytes(SERVER).public();
    let config = tuning(args).config()?;
    let address = args.address;
    let open = move |host: &Host| host.open(address, peer, 7, config.clone());
    let open = Arc::new(open);
    if !args.cold {
        read(open(&host), 1, &Checker::default()).await?;
        tokio::time::sleep(WARM_UP).await;
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
