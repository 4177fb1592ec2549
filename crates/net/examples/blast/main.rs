//! Sends a number of bytes from a client to a server as fast as it goes, over Bentpipe or QUIC, and says
//! what it took. `bench/fastpath.sh` runs both ends in two network namespaces.

#[path = "../common/quic.rs"]
mod common;
mod quic;
mod xstp;

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bentpipe_units::BitRate;
use bytes::Bytes;
use clap::{Parser, ValueEnum};
use cpu_time::ProcessTime;

/// What may go wrong in an example is told and ends it.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Bytes that the application writes at once.
const CHUNK: usize = 64 * 1024;
/// What the kernel is asked to buffer in each direction, for both transports.
const KERNEL_BUFFER: usize = 8 * 1024 * 1024;

#[derive(Parser)]
struct Args {
    #[arg(long)]
    transport: Transport,
    #[arg(long)]
    role: Role,
    /// Where the server listens.
    #[arg(long)]
    address: SocketAddr,
    /// How many bytes the client sends.
    #[arg(long, default_value_t = 2_000_000_000)]
    bytes: u64,
    /// The rate that Bentpipe sends at, such as "5 Gbit/s"; without one it finds the rate itself.
    #[arg(long)]
    rate: Option<BitRate>,
    /// The server of QUIC writes its certificate here and the client trusts it.
    #[arg(long)]
    certificate: PathBuf,
    /// Threads of the runtime.
    #[arg(long, default_value_t = 2)]
    workers: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Transport {
    Bentpipe,
    Quinn,
}

#[derive(Clone, Copy, ValueEnum)]
enum Role {
    Client,
    Server,
}

fn main() -> Outcome<()> {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(args.workers)
        .enable_all()
        .build()?;
    let (bytes, took) = runtime.block_on(async {
        match (args.transport, args.role) {
            (Transport::Bentpipe, Role::Server) => xstp::serve(&args).await,
            (Transport::Bentpipe, Role::Client) => xstp::send(&args).await,
            (Transport::Quinn, Role::Server) => quic::serve(&args).await,
            (Transport::Quinn, Role::Client) => quic::send(&args).await,
        }
    })?;
    if bytes != args.bytes {
        return Err(format!("{bytes} bytes instead of {}", args.bytes).into());
    }
    // The whole process, from its start.
    let cpu = ProcessTime::now().as_duration();
    println!("{bytes} {:.3} {:.3}", took.as_secs_f64(), cpu.as_secs_f64());
    Ok(())
}

/// The server is ready: whoever started it may start the client.
fn ready() {
    println!("ready");
}

/// The chunks that make `bytes` bytes, all of the same memory.
fn chunks(bytes: u64) -> impl Iterator<Item = Bytes> {
    let chunk = Bytes::from(vec![0x5a; CHUNK]);
    let mut left = bytes;
    std::iter::from_fn(move || {
        let len = left.min(CHUNK as u64);
        left -= len;
        (len > 0).then(|| chunk.slice(..len as usize))
    })
}

/// How long ago that was.
fn since(start: tokio::time::Instant) -> Duration {
    start.elapsed()
}
