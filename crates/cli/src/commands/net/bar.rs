//! The progress bar of `send`.

use std::sync::{Arc, Mutex};

use bentpipe_transfer::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::harmless::harmless;
use crate::output::lines::Lines;

/// The progress bar: bytes over all files.
pub(super) struct Bar {
    bar: ProgressBar,
    lines: Arc<Lines>,
    place: Mutex<BarPlace>,
}

/// Where the progress bar is.
#[derive(Debug, Default)]
struct BarPlace {
    /// Bytes of the files that are behind us, and of the one that is under way.
    behind: u64,
    file: u64,
    /// The one that is under way was there already.
    kept: bool,
}

impl Bar {
    /// At the beginning of so many bytes.
    pub(super) fn new(lines: &Arc<Lines>, total: u64) -> Self {
        let bar = ProgressBar::new(total);
        let style = "{bar:30} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, \
                     {eta} left, {msg}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        Self { bar, lines: lines.clone(), place: Mutex::default() }
    }

    /// What is said of the connection.
    pub(super) fn tell(&self, message: String) {
        self.bar.set_message(message);
    }

    /// All is done.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Prints a line beside the bar.
    pub(super) fn say(&self, line: &str) {
        if self.bar.is_hidden() {
            self.lines.complain(line);
        } else {
            self.bar.println(format!("bentpipe: {line}"));
        }
    }

    /// Goes on from here: what is before it was not sent, and its bytes are no speed.
    fn jump(&self, position: u64) {
        self.bar.set_position(position);
        self.bar.tick();
        self.bar.reset_eta();
    }

    /// What happened.
    pub(super) fn note(&self, progress: Progress) {
        let mut place = self.place.lock().expect("nobody has panicked while he held it");
        match progress {
            Progress::Begins { size, .. } => {
                place.behind += place.file;
                place.file = size;
                if std::mem::take(&mut place.kept) {
                    self.jump(place.behind);
                } else {
                    self.bar.set_position(place.behind);
                }
            }
            Progress::At { offset } => self.bar.set_position(place.behind + offset),
            Progress::Resumed { offset } => self.jump(place.behind + offset),
            Progress::Kept { .. } => place.kept = true,
            Progress::Done { .. } => {}
            Progress::Skipped { name, reason } => {
                self.say(&format!("{}: skipped: {}", harmless(&name), harmless(&reason)));
            }
            Progress::Failed { name, reason } => {
                self.say(&format!("{}: {}", harmless(&name), harmless(&reason)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_already_moves_the_bar_and_is_no_speed() {
        let bar = Bar::new(&Arc::new(Lines::new()), 1_000_000_000);
        let begins = |size| Progress::Begins { name: "a".into(), size };
        bar.note(begins(400_000_000));
        bar.note(Progress::Kept { name: "a".into() });
        bar.note(begins(600_000_000));
        bar.note(Progress::Resumed { offset: 500_000_000 });
        assert_eq!((bar.bar.position(), bar.bar.per_sec()), (900_000_000, 0.0));
    }
}
