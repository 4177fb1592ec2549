//! Showing a page where somebody can see it.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// Opens a file or an address with the desktop's program for it, if this process has a desktop. Nobody waits for that program, and where
/// there is none what was printed has to do.
pub(in crate::commands) fn show(what: &OsStr) {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") {
        let quiet = Stdio::null;
        let mut program = Command::new("xdg-open");
        drop(program.arg(what).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn());
    }
}
