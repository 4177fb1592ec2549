//! What each command does.

#[cfg(all(feature = "net", feature = "sim"))]
mod emulate;
#[cfg(any(feature = "sim", feature = "gateway"))]
mod formats;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(feature = "net")]
mod log;
#[cfg(feature = "net")]
mod net;
#[cfg(all(feature = "net", feature = "sim"))]
mod processes;
#[cfg(any(feature = "net", feature = "top"))]
mod runtime;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "sim")]
mod sim;
#[cfg(feature = "net")]
mod stop;
#[cfg(feature = "top")]
mod top;
#[cfg(all(feature = "gateway", feature = "sim", feature = "top"))]
mod twin;

use std::fs;
use std::io::Write;
use std::path::Path;

use clap::CommandFactory;

use crate::args::{Args, Command};
use crate::failure::Failure;

/// Does what was asked.
pub(crate) fn execute(command: Command) -> Result<(), Failure> {
    #[cfg(feature = "sim")]
    sim::hush_damaged_files();
    match command {
        #[cfg(feature = "sim")]
        Command::Simulator(command) => sim::execute(*command),
        #[cfg(all(feature = "net", feature = "sim"))]
        Command::Emulate(args) => emulate::emulate(&args),
        #[cfg(all(feature = "net", feature = "sim"))]
        Command::Process(args) => processes::process(&args),
        #[cfg(feature = "net")]
        Command::Files(command) => net::execute(*command),
        #[cfg(feature = "gateway")]
        Command::Gateway(args) => gateway::gateway(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::serve(&args),
        #[cfg(feature = "top")]
        Command::Top(args) => top::top(&args),
        #[cfg(all(feature = "gateway", feature = "sim", feature = "top"))]
        Command::Twin(args) => twin::twin(&args),
        #[cfg(all(feature = "gateway", feature = "sim", feature = "top"))]
        Command::TwinHost(args) => twin::host(&args.role),
        #[cfg(any(feature = "sim", feature = "gateway"))]
        Command::Schema { format, markdown } => formats::schema(format, markdown),
        Command::Man { dir: Some(dir), .. } => manuals(&dir),
        Command::Man { dir: None, .. } => {
            let options = clap_markdown::MarkdownOptions::new()
                .title("Commands".to_owned())
                .show_footer(false);
            let page = clap_markdown::help_markdown_command_custom(&Args::command(), &options);
            Ok(anstream::stdout().write_all(page.as_bytes())?)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "bentpipe", &mut script);
            Ok(std::io::stdout().write_all(&script)?)
        }
    }
}

/// Writes the manual pages of the commands and of the files that people write.
fn manuals(folder: &Path) -> Result<(), Failure> {
    let sections = ["man1", "man5"].map(|section| folder.join(section));
    for section in &sections {
        fs::create_dir_all(section).map_err(|error| Failure::writing(section, error))?;
    }
    clap_mangen::generate_to(Args::command(), &sections[0])
        .map_err(|error| Failure::writing(&sections[0], error))?;
    #[cfg(any(feature = "sim", feature = "gateway"))]
    formats::manuals(&sections[1])?;
    Ok(())
}
