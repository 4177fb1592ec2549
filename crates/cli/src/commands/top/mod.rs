//! `bentpipe top`: the peers and flows of a gateway as they are now.

mod quantities;
mod screen;
mod tables;
mod view;

use std::io::{IsTerminal as _, Write};

use self::tables::Tables;
use self::view::View;
use crate::args::Top;
use crate::commands::runtime::runtime;
use crate::failure::Failure;
use crate::output::columns::room;

/// Prints one table, or shows what happens until the user has seen enough.
pub(crate) fn top(args: &Top) -> Result<(), Failure> {
    let runtime = runtime()?;
    let ask = || runtime.block_on(bentpipe_monitor::status(&args.address));
    let first = ask().map_err(Failure::System)?;
    if args.once {
        let tables = Tables::new(&first, None, &View::default());
        let mut out = std::io::stdout();
        writeln!(out, "{}", tables.text(room()))?;
        // There is no look before this one.
        return Ok(writeln!(out, "out and in: means since the gateway or the flow began")?);
    }
    if !std::io::stdout().is_terminal() {
        return Err(Failure::Input("the live view needs a terminal; --once prints a table".into()));
    }
    screen::watch(&args.address, first, ask)
}
