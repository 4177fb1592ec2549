//! Any text as an experiment: it is one, or an error says where it is not.

use std::sync::atomic::{AtomicU64, Ordering};

use bentpipe_experiments::{Experiment, library};
use bentpipe_testkit::fuzz::bounded_runs;

#[test]
fn ten_thousand_texts_are_experiments_or_have_an_error() {
    let seeds: Vec<Vec<u8>> =
        library::experiments().map(|(_, text)| text.as_bytes().to_vec()).collect();
    static READ: AtomicU64 = AtomicU64::new(0);
    bounded_runs(10_000, &seeds, |data| {
        let Ok(text) = std::str::from_utf8(data) else { return };
        READ.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = Experiment::parse("file.toml", text) {
            assert!(error.to_string().starts_with("file.toml"), "{error}");
            READ.fetch_sub(1, Ordering::Relaxed);
        }
    });
    assert!(READ.load(Ordering::Relaxed) > 1_000, "{READ:?}");
}
