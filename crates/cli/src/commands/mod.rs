//! What each command does.

#[cfg(all(feature = "net", feature = "sim"))]
mod emulate;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(feature = "net")]
mod log;
#[cfg(feature = "net")]
mod net;
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

use std::io::Write;

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
        Command::Man { dir: Some(dir), .. } => {
            std::fs::create_dir_all(&dir).map_err(|error| Failure::writing(&dir, error))?;
            clap_mangen::generate_to(Args::command(), &dir)
                .map_err(|error| Failure::writing(&dir, error))
        }
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
