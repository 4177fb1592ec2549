//! Over QUIC, by quinn with windows that limit nothing.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig};
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use quinn_udp::UdpSocketState;
use tokio::task::JoinSet;

use crate::content::{Checker, chunks};
use crate::{Args, Outcome, within};

/// The name in the certificate.
const NAME: &str = "download";
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

#[expect(clippy::disallowed_methods, reason = "an example with a socket of its own")]
fn endpoint(address: SocketAddr, server: Option<ServerConfig>) -> Outcome<Endpoint> {
    let socket = UdpSocket::bind(address)?;
    let state = UdpSocketState::new((&socket).into())?;
    // Less than asked for is fine.
    let _ = state.set_send_buffer_size((&socket).into(), KERNEL_BUFFER);
    let _ = state.set_recv_buffer_size((&socket).into(), KERNEL_BUFFER);
    let runtime = Arc::new(quinn::TokioRuntime);
    Ok(Endpoint::new(EndpointConfig::default(), server, socket, runtime)?)
}

/// Answers the number of each stream with as many bytes.
pub(crate) async fn serve(args: &Args) -> Outcome<()> {
    let signed = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()));
    std::fs::write(args.certificate()?, signed.cert.der())?;
    let mut config = ServerConfig::with_single_cert(vec![signed.cert.der().clone()], key)?;
    config.transport_config(transport(args)?);
    let endpoint = endpoint(args.address, Some(config))?;
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
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(args.certificate()?)?))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport(args)?);
    let any = (if args.address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).parse()?;
    let mut flows = JoinSet::new();
    for _ in 0..args.flows {
        let (address, bytes, time_limit) = (args.address, args.bytes, args.time_limit);
        let (config, endpoint) = (config.clone(), endpoint(any, None)?);
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
            within(time_limit, &checker, all).await
        });
    }
    flows.join_all().await.into_iter().collect()
}
