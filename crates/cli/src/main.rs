//! `bentpipe`: transport for satellite links, on the command line.

mod args;
mod commands;
mod failure;
mod output;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    hush_damaged_files();
    let args = args::Args::parse();
    match commands::execute(args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The library that reads Parquet panics on some damaged files, which is an error like others and said as one.
fn hush_damaged_files() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(bentpipe_trace::parquet::THREAD) {
            tell(panic);
        }
    }));
}
