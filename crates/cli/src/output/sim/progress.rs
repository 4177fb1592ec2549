//! How far many runs are.

use std::io::IsTerminal;
use std::time::Duration;

use bentpipe_experiments::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The progress bar; silent when nobody looks.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar of no length yet.
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::new(0);
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = "{bar:40} {pos}/{len} runs, {elapsed} so far, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar()));
        Self(bar)
    }

    /// How long the work has taken so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// All is done: the bar goes away.
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn total(&self, runs: u64) {
        self.0.inc_length(runs);
    }

    fn done(&self) {
        self.0.inc(1);
    }
}
