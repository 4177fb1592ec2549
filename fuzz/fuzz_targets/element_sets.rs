//! Any text as element sets: satellites that have a place, or an error.
#![no_main]

use bentpipe_orbit::{Constellation, IslRules};
use bentpipe_units::{Degrees, Instant, Span};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read =
        Constellation::from_elements("file.tle", text, None, Degrees(10.0), IslRules::NONE);
    let Ok(constellation) = read else { return };
    let mut places = Vec::new();
    for days in [0, 1, 1_000] {
        let _ = constellation.positions(Instant::ZERO + Span::from_secs(days * 86_400), &mut places);
    }
});
