//! Over QUIC, by quinn with windows that limit nothing.

use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig};
use quinn::{TransportConfig, VarInt};
use tokio::task::JoinSet;

use crate::common::{NAME, client, server, towards};
use crate::content::{Checker, chunks};
use crate::{Args, Outcome};

const WINDOW: u32 = 64_000_000;
const KERNEL_BUFFER: usize = 4_000_000;

fn transport(args: &Args) -> Outcome<Arc<TransportConfig>> {
    let control: Arc<dyn ControllerFactory + Send + Sync> = match args.control.as_deref() {
        None | Some("cubic") => Arc::new(CubicConfig::default()),
        Some("bbr") => Arc::new(BbrConfig::default()),
        Some(other) => return Err(format!("quinn has cubic and bbr, not {other}").into()),
    };
    let mut config = TransportConfig::default();
    config.congestion_controller_factory(control);
    config.stream_receive_window(VarInt::from_u32(WINDOW));
    config.receive_window(VarInt::from_u32(WINDOW));
    config.send_window(u64::from(WINDOW));
    config.max_idle_timeout(Some(VarInt::from_u32(120_000).into()));
    Ok(Arc::new(config))
}

/// Answers the number of each stream with as many bytes.
pub(crate) async fn serve(args: &Args) -> Outcome<()> {
    let endpoint = server(args.address, args.certificate()?, transport(args)?, KERNEL_BUFFER)?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await?;
            let (mut send, mut receive) = connection.accept_bi().await?;
            let mut asked = [0; 8];
            receive.read_exact(&mut asked).await?;
            for chunk in chunks(u64::from_be_bytes(asked)) {
                send.write_chunk(chunk).await?;
            }
            send.finish()?;
            connection.closed().await;
            Outcome::Ok(())
        });
    }
    Ok(())
}

/// Downloads, each flow over a connection of its own.
pub(crate) async fn download(args: &Args) -> Outcome<Vec<(u64, Duration)>> {
    let config = client(args.certificate()?, transport(args)?)?;
    let mut flows = JoinSet::new();
    for _ in 0..args.flows {
        let (address, bytes, counted) = (args.address, args.bytes, args.counted());
        let (config, endpoint) = (config.clone(), towards(address, KERNEL_BUFFER)?);
        flows.spawn(async move {
            let checker = Checker::default();
            let all = async {
                let connection = endpoint.connect_with(config, address, NAME)?.await?;
                let (mut send, mut receive) = connection.open_bi().await?;
                send.write_all(&bytes.to_be_bytes()).await?;
                send.finish()?;
                while let Some(chunk) = receive.read_chunk(usize::MAX, true).await? {
                    checker.take(&chunk.bytes)?;
                }
                Ok(())
            };
            counted.within(&checker, all).await
        });
    }
    flows.join_all().await.into_iter().collect()
}
