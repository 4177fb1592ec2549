//! `bentpipe init`: a scenario of one's own link, to begin with.

mod ask;
mod text;

use std::fs::File;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::path::Path;

use bentpipe_scenario::Scenario;
use bentpipe_trace::Summary;
use bentpipe_units::{BitRate, Share, Span};

use crate::args::sim::Init;
use crate::failure::Failure;
use ask::{Asks, Defaults, Questions};

/// What a link is like.
#[derive(Clone, Debug, PartialEq)]
struct Link {
    /// `None` where the trace tells it; so with the delay.
    rate: Option<BitRate>,
    /// From the client to the gateway, where it is another one.
    return_rate: Option<BitRate>,
    /// One way.
    delay: Option<Span>,
    loss: Share,
    trace: Option<Replayed>,
}

/// A trace that the link replays.
#[derive(Clone, Debug, PartialEq)]
struct Replayed {
    /// As the scenario names it.
    file: String,
    /// Its median rate in bit/s, if it tells rates.
    rate: Option<f64>,
    /// Its median delay in seconds, if it tells delays.
    delay: Option<f64>,
}

/// Writes a scenario of a link, after asking for what was not said.
pub(crate) fn init(args: &Init) -> Result<(), Failure> {
    let path = format!("{}.toml", args.name);
    if Path::new(&path).symlink_metadata().is_ok() {
        return Err(taken(&path));
    }
    let asks = !args.yes && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let link = if asks { link(args, &Questions)? } else { link(args, &Defaults)? };
    if !asks && !args.yes {
        anstream::eprintln!(
            "there is no terminal to ask at: {link} (--rate, --return-rate, --delay, --loss, --trace)"
        );
    }
    let text = text::scenario(&args.name, &link);
    // What is written can be run.
    Scenario::parse(&path, &text)?;
    let file = File::options().write(true).create_new(true).open(&path);
    let mut file = file.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => taken(&path),
        _ => Failure::writing(Path::new(&path), error),
    })?;
    file.write_all(text.as_bytes()).map_err(|error| Failure::writing(Path::new(&path), error))?;
    let mut out = anstream::stdout().lock();
    writeln!(out, "wrote {path}: {link}")?;
    writeln!(out, "  bentpipe compare {path}   which protocol is the fastest there")?;
    Ok(writeln!(out, "  bentpipe run {path}       one transfer, looked at closely")?)
}

fn taken(path: &str) -> Failure {
    Failure::Input(format!("{path}: it is there already, and stays as it is: take another NAME"))
}

/// The link that is meant: what the options say, and `asks` for the rest.
fn link(args: &Init, asks: &impl Asks) -> Result<Link, Failure> {
    let trace = match &args.trace {
        None => asks.trace()?,
        Some(trace) => Some(trace.clone()),
    };
    let trace = trace.map(|file| replayed(&file)).transpose()?;
    let told = |what: fn(&Replayed) -> Option<f64>| trace.as_ref().and_then(what).is_some();
    let (tells_rate, tells_delay) = (told(|trace| trace.rate), told(|trace| trace.delay));
    for (option, given, told) in [
        ("--rate", args.rate.map(|rate| rate.to_string()), tells_rate),
        ("--return-rate", args.return_rate.map(|rate| rate.to_string()), tells_rate),
        ("--delay", args.delay.map(|delay| delay.to_string()), tells_delay),
    ] {
        if let Some(value) = given.filter(|_| told) {
            let file = args.trace.as_deref().unwrap_or("the trace");
            let problem = format!("{option} {value}: {file} tells it already: leave {option} out");
            return Err(Failure::Input(problem));
        }
    }
    let rate = match args.rate {
        None if !tells_rate => Some(asks.rate()?),
        given => given,
    };
    let delay = match args.delay {
        None if !tells_delay => Some(asks.delay()?),
        given => given,
    };
    let loss = match args.loss {
        None if trace.is_none() => asks.loss()?,
        given => given.unwrap_or_default(),
    };
    let return_rate = match args.return_rate {
        None if trace.is_none() => asks.return_rate()?,
        given => given,
    };
    Ok(Link { rate, return_rate, delay, loss, trace })
}

/// What a trace tells.
fn replayed(file: &str) -> Result<Replayed, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::Input(format!("--trace {error}"));
    let bytes = bentpipe_trace::open(Path::new(file), file).map_err(|error| wrong(&error))?;
    let trace = bentpipe_trace::read(file, &bytes).map_err(|error| wrong(&error))?;
    let summary = Summary::of(&trace);
    Ok(Replayed {
        file: file.to_owned(),
        rate: summary.rate_bps.map(|rate| rate.median),
        delay: summary.delay_s.map(|delay| delay.median),
    })
}
