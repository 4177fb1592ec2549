//! Many connections over the kernel's TCP, which come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use crate::content::Checker;
use crate::{Args, Outcome, tcp};

/// Time between two lines of what there is.
const TELL: Duration = Duration::from_secs(10);

/// What became of the connections.
#[derive(Default)]
struct Counts {
    begun: AtomicU64,
    /// With a first answer and not yet ended.
    open: AtomicU64,
    answers: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
}

impl Counts {
    fn tell(&self) {
        let [begun, open, answers, ended, failed] =
            [&self.begun, &self.open, &self.answers, &self.ended, &self.failed]
                .map(|count| count.load(Ordering::Relaxed));
        println!("{begun} begun, {open} open, {answers} answers, {ended} ended, {failed} failed");
    }
}

/// Opens connections, `--fresh` a second for `--seconds`, and lets each live for `--life`. Prints what there is every ten
/// seconds.
///
/// # Errors
/// At the end, if any of them failed.
pub(crate) async fn run(args: &Args) -> Outcome<()> {
    let counts = Arc::new(Counts::default());
    let told = counts.clone();
    let teller = tokio::spawn(async move {
        loop {
            sleep(TELL).await;
            told.tell();
        }
    });
    let mut connections = JoinSet::new();
    let mut pace = interval(Duration::from_secs(1) / args.fresh.get());
    pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for _ in 0..u64::from(args.fresh.get()) * args.seconds {
        pace.tick().await;
        let (args, counts) = (args.clone(), counts.clone());
        counts.begun.fetch_add(1, Ordering::Relaxed);
        connections.spawn(async move {
            let ended = live(&args, &counts).await;
            let count = if ended.is_ok() { &counts.ended } else { &counts.failed };
            count.fetch_add(1, Ordering::Relaxed);
            if let Err(error) = ended {
                eprintln!("a connection failed: {error}");
            }
        });
    }
    connections.join_all().await;
    teller.abort();
    counts.tell();
    match counts.failed.load(Ordering::Relaxed) {
        0 => Ok(()),
        failed => Err(format!("{failed} connections failed").into()),
    }
}

/// One connection, which asks at its begin, every `--pause` seconds and at its end.
async fn live(args: &Args, counts: &Counts) -> Outcome<()> {
    let end = Instant::now() + Duration::from_secs(args.life);
    let time_limit = Duration::from_secs(args.time_limit);
    let mut connection = timeout(time_limit, TcpStream::connect(args.address)).await??;
    let ask = async |connection: &mut TcpStream| {
        let checker = Checker::default();
        timeout(time_limit, tcp::ask(connection, args.bytes, &checker)).await??;
        counts.answers.fetch_add(1, Ordering::Relaxed);
        Outcome::Ok(())
    };
    ask(&mut connection).await?;
    counts.open.fetch_add(1, Ordering::Relaxed);
    let rest = async {
        while Instant::now() < end {
            sleep_until(end.min(Instant::now() + Duration::from_secs(args.pause))).await;
            ask(&mut connection).await?;
        }
        connection.shutdown().await?;
        match timeout(time_limit, connection.read(&mut [0])).await?? {
            0 => Ok(()),
            _ => Err("it said more than it was asked".into()),
        }
    };
    let ended = rest.await;
    counts.open.fetch_sub(1, Ordering::Relaxed);
    ended
}
