//! Over Bentpipe.

use std::time::Duration;

use bentpipe_association::{SecretKey, Security, Tuning};
use bentpipe_net::Host;
use tokio::time::Instant;

use crate::{Args, Outcome, chunks, ready, since};

const SERVER: [u8; 32] = [1; 32];
const CLIENT: [u8; 32] = [2; 32];

fn tuning(args: &Args) -> Tuning {
    Tuning { rate: args.rate, ..Tuning::default() }
}

/// Counts what arrives until it ends and tells the client how much it was.
pub(crate) async fn serve(args: &Args) -> Outcome<(u64, Duration)> {
    let host = Host::bind(args.address, SecretKey::from_bytes(SERVER), Security::Full)?;
    host.allow(SecretKey::from_bytes(CLIENT).public());
    host.listen(tuning(args).config()?);
    ready();
    let connection = host.accept().await;
    let start = Instant::now();
    let mut bytes = 0;
    while let Some(chunk) = connection.read_bytes().await? {
        bytes += chunk.len() as u64;
    }
    let took = since(start);
    connection.write_bytes(bytes.to_be_bytes().to_vec().into()).await?;
    connection.finish().await?;
    Ok((bytes, took))
}

/// Sends, and returns how much arrived and how long it took until the server said so.
pub(crate) async fn send(args: &Args) -> Outcome<(u64, Duration)> {
    let any = (if args.address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).parse()?;
    let host = Host::bind(any, SecretKey::from_bytes(CLIENT), Security::Full)?;
    let peer = SecretKey::from_bytes(SERVER).public();
    let mut connection = host.connect(args.address, peer, 7, tuning(args).config()?).await?;
    let start = Instant::now();
    for chunk in chunks(args.bytes) {
        connection.write_bytes(chunk).await?;
    }
    tokio::io::AsyncWriteExt::shutdown(&mut connection).await?;
    let mut answer = Vec::new();
    while let Some(chunk) = connection.read_bytes().await? {
        answer.extend_from_slice(&chunk);
    }
    let took = since(start);
    connection.finish().await?;
    Ok((u64::from_be_bytes(answer.as_slice().try_into()?), took))
}
