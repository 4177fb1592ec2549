//! Downloads a number of bytes from a server and says how long that took, from the call to the last
//! byte: over Bentpipe, on an association that is up or without one, over the kernel's TCP, or over QUIC (quinn). `bench/satellite.sh` runs
//! both ends behind an emulated link. A crowd is many connections that come and go, each with small downloads.

#[path = "../common/quic.rs"]
mod common;
mod content;
mod crowd;
mod quic;
mod tcp;
mod xstp;

use std::error::Error;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use bentpipe_units::BitRate;
use clap::{Parser, ValueEnum};
use tokio::time::{Instant, timeout};

use content::Checker;

/// What may go wrong in an example is told and ends it.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[derive(Clone, Parser)]
struct Args {
    #[arg(long)]
    transport: Transport,
    #[arg(long)]
    role: Role,
    /// Where the server listens.
    #[arg(long)]
    address: SocketAddr,
    /// The rate that this end sends at with Bentpipe, such as "5 Gbit/s"; without one it finds the rate
    /// itself.
    #[arg(long)]
    rate: Option<BitRate>,
    /// The congestion control of TCP, the system's own choice without one, or of QUIC, cubic without one.
    #[arg(long)]
    control: Option<String>,
    /// A file with the certificate of a server of QUIC, which writes it.
    #[arg(long)]
    certificate: Option<PathBuf>,
    /// How many bytes the client wants in each download.
    #[arg(long, default_value_t = 1_000_000)]
    bytes: u64,
    /// How many downloads run at the same time.
    #[arg(long, default_value_t = 1)]
    flows: usize,
    /// Bentpipe begins without an association.
    #[arg(long)]
    cold: bool,
    /// For how long the association of Bentpipe is idle before the downloads, in seconds.
    #[arg(long, default_value_t = 3, conflicts_with = "cold")]
    idle: u64,
    /// What arrives in the first so many seconds does not count.
    #[arg(long, default_value_t = 0)]
    skip: u64,
    /// Longest time for the downloads after that, in seconds; what arrived until then counts.
    #[arg(long, default_value_t = 600)]
    time_limit: u64,
    /// How many connections of a crowd begin in a second.
    #[arg(long, default_value = "10")]
    fresh: NonZeroU32,
    /// For how long new ones begin, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How long each stays, in seconds.
    #[arg(long, default_value_t = 60)]
    life: u64,
    /// Time between two downloads of one of them, in seconds.
    #[arg(long, default_value_t = 10)]
    pause: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Transport {
    Bentpipe,
    Tcp,
    Quic,
}

impl Args {
    const fn counted(&self) -> Counted {
        Counted {
            skip: Duration::from_secs(self.skip),
            time_limit: Duration::from_secs(self.time_limit),
        }
    }

    fn certificate(&self) -> Outcome<&PathBuf> {
        self.certificate.as_ref().ok_or_else(|| "QUIC needs --certificate".into())
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Role {
    Client,
    Server,
    Crowd,
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let args = Args::parse();
    match (args.transport, args.role) {
        (Transport::Bentpipe, Role::Server) => xstp::serve(&args).await,
        (Transport::Tcp, Role::Server) => tcp::serve(&args).await,
        (Transport::Quic, Role::Server) => quic::serve(&args).await,
        (Transport::Quic, Role::Client) => report(quic::download(&args).await?),
        (Transport::Bentpipe, Role::Client) => report(xstp::download(&args).await?),
        (Transport::Tcp, Role::Client) => report(tcp::download(&args).await?),
        (Transport::Tcp, Role::Crowd) => crowd::run(&args).await,
        (Transport::Bentpipe | Transport::Quic, Role::Crowd) => Err("a crowd is one of TCP".into()),
    }
}

/// Prints bytes and seconds of each download.
fn report(downloads: Vec<(u64, Duration)>) -> Outcome<()> {
    for (bytes, took) in downloads {
        println!("{bytes} {:.3}", took.as_secs_f64());
    }
    Ok(())
}

/// The part of a download that counts.
#[derive(Clone, Copy)]
struct Counted {
    skip: Duration,
    time_limit: Duration,
}

impl Counted {
    /// How many bytes of a download came in that time, and how long they took.
    async fn within(
        self,
        checker: &Checker,
        download: impl Future<Output = Outcome<()>>,
    ) -> Outcome<(u64, Duration)> {
        let mut download = std::pin::pin!(download);
        if !self.skip.is_zero()
            && let Ok(ended) = timeout(self.skip, download.as_mut()).await
        {
            ended?;
            return Err("a download ended before the time that counts".into());
        }
        let (skipped, start) = (checker.seen(), Instant::now());
        if let Ok(ended) = timeout(self.time_limit, download).await {
            ended?;
        }
        Ok((checker.seen() - skipped, start.elapsed()))
    }
}
