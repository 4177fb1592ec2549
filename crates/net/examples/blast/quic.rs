//! Over QUIC, by quinn with its defaults and windows that limit nothing.

use std::sync::Arc;
use std::time::Duration;

use quinn::{TransportConfig, VarInt};
use tokio::time::Instant;

use crate::common::{NAME, client, server, towards};
use crate::{Args, KERNEL_BUFFER, Outcome, chunks, ready, since};

/// As large as the buffers of the other transport.
const WINDOW: u32 = 32_000_000;

fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config.stream_receive_window(VarInt::from_u32(WINDOW));
    config.receive_window(VarInt::from_u32(WINDOW));
    config.send_window(u64::from(WINDOW));
    Arc::new(config)
}

/// Counts what arrives until it ends and tells the client how much it was.
pub(crate) async fn serve(args: &Args) -> Outcome<(u64, Duration)> {
    let endpoint = server(args.address, &args.certificate, transport(), KERNEL_BUFFER)?;
    ready();
    let incoming = endpoint.accept().await.ok_or("the endpoint is closed")?;
    let connection = incoming.await?;
    let (mut send, mut receive) = connection.accept_bi().await?;
    let start = Instant::now();
    let mut bytes = 0;
    while let Some(chunk) = receive.read_chunk(usize::MAX, true).await? {
        bytes += chunk.bytes.len() as u64;
    }
    let took = since(start);
    send.write_all(&bytes.to_be_bytes()).await?;
    send.finish()?;
    connection.closed().await;
    Ok((bytes, took))
}

/// Sends, and returns how much arrived and how long it took until the server said so.
pub(crate) async fn send(args: &Args) -> Outcome<(u64, Duration)> {
    let config = client(&args.certificate, transport())?;
    let endpoint = towards(args.address, KERNEL_BUFFER)?;
    let connection = endpoint.connect_with(config, args.address, NAME)?.await?;
    let start = Instant::now();
    let (mut send, mut receive) = connection.open_bi().await?;
    for chunk in chunks(args.bytes) {
        send.write_chunk(chunk).await?;
    }
    send.finish()?;
    let answer = receive.read_to_end(8).await?;
    let took = since(start);
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    Ok((u64::from_be_bytes(answer.as_slice().try_into()?), took))
}
