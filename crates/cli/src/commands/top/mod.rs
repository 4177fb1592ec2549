//! `bentpipe top`: the peers and flows of a gateway as they are now.

pub(in crate::commands) mod fetch;
mod screen;
mod tables;

use std::io::{IsTerminal as _, Write};

use self::tables::Tables;
use crate::args::Top;
use crate::commands::runtime::runtime;
use crate::failure::Failure;

/// Prints one table, or shows what happens until the user has seen enough.
pub(crate) fn top(args: &Top) -> Result<(), Failure> {
    let runtime = runtime()?;
    let ask = || runtime.block_on(fetch::status(&args.address));
    let first = ask().map_err(Failure::System)?;
    if args.once {
        return Ok(writeln!(std::io::stdout(), "{}", Tables::new(&first, None))?);
    }
    if !std::io::stdout().is_terminal() {
        return Err(Failure::Input("the live view needs a terminal; --once prints a table".into()));
    }
    screen::watch(&args.address, first, ask)
}
