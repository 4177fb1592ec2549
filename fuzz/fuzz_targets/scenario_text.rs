//! Any text as a scenario and an experiment.
#![no_main]

use bentpipe_experiments::Experiment;
use bentpipe_scenario::Scenario;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = Scenario::parse("file.toml", text);
    let _ = Experiment::parse("file.toml", text);
});
