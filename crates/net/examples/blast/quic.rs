//! Over QUIC, by quinn with its defaults and windows that limit nothing.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use quinn_udp::UdpSocketState;
use tokio::time::Instant;

use crate::{Args, KERNEL_BUFFER, Outcome, chunks, ready, since};

/// The name in the certificate.
const NAME: &str = "blast";
/// As large as the buffers of the other transport.
const WINDOW: u32 = 32_000_000;

fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config.stream_receive_window(VarInt::from_u32(WINDOW));
    config.receive_window(VarInt::from_u32(WINDOW));
    config.send_window(u64::from(WINDOW));
    Arc::new(config)
}

/// A socket with the same buffers as the other transport's.
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

/// Counts what arrives until it ends and tells the client how much it was.
pub(crate) async fn serve(args: &Args) -> Outcome<(u64, Duration)> {
    let signed = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()));
    std::fs::write(&args.certificate, signed.cert.der())?;
    let mut config = ServerConfig::with_single_cert(vec![signed.cert.der().clone()], key)?;
    config.transport_config(transport());
    let endpoint = endpoint(args.address, Some(config))?;
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
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(&args.certificate)?))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport());
    let any = (if args.address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).parse()?;
    let endpoint = endpoint(any, None)?;
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
