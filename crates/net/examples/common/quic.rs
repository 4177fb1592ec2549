//! Both ends of QUIC by quinn, with windows that limit nothing.

use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig};
use quinn_udp::UdpSocketState;

/// The name in the certificate.
pub(crate) const NAME: &str = "bentpipe";

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A server, which writes its certificate to a file; its socket has buffers of so many bytes.
pub(crate) fn server(
    address: SocketAddr,
    certificate: &Path,
    transport: Arc<TransportConfig>,
    buffer: usize,
) -> Outcome<Endpoint> {
    let signed = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()));
    std::fs::write(certificate, signed.cert.der())?;
    let mut config = ServerConfig::with_single_cert(vec![signed.cert.der().clone()], key)?;
    config.transport_config(transport);
    endpoint(address, Some(config), buffer)
}

/// What a client of the server with this certificate is told.
pub(crate) fn client(certificate: &Path, transport: Arc<TransportConfig>) -> Outcome<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(certificate)?))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport);
    Ok(config)
}

/// A socket towards this address.
pub(crate) fn towards(address: SocketAddr, buffer: usize) -> Outcome<Endpoint> {
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    endpoint(any.parse()?, None, buffer)
}

#[expect(clippy::disallowed_methods, reason = "an example with a socket of its own")]
fn endpoint(address: SocketAddr, server: Option<ServerConfig>, buffer: usize) -> Outcome<Endpoint> {
    let socket = UdpSocket::bind(address)?;
    let state = UdpSocketState::new((&socket).into())?;
    // Less than asked for is fine.
    let _ = state.set_send_buffer_size((&socket).into(), buffer);
    let _ = state.set_recv_buffer_size((&socket).into(), buffer);
    let runtime = Arc::new(quinn::TokioRuntime);
    Ok(Endpoint::new(EndpointConfig::default(), server, socket, runtime)?)
}
