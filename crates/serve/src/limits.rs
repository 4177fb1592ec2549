//! What users of the page may take of this machine.

use bentpipe_units::{ByteCount, Span};

/// What users of the page may take of this machine, all of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Runs, comparisons and skies at the same time.
    pub at_once: usize,
    /// The same begun within ten seconds.
    pub begun: usize,
    /// Simulated time of a run; it ends there.
    pub simulated: Span,
    /// Memory of the process; runs end where it has more.
    pub memory: ByteCount,
    /// Nodes of a scenario.
    pub nodes: usize,
    /// Links of a scenario.
    pub links: usize,
    /// Flows of a scenario.
    pub flows: usize,
    /// All files of the folder together that a scenario names, each as often as it is read.
    pub files: ByteCount,
    /// Runs of a comparison, over all variants and seeds.
    pub runs: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            at_once: 8,
            begun: 40,
            simulated: Span::from_secs(2 * 3600),
            memory: ByteCount::new(1 << 30),
            nodes: 1000,
            links: 1000,
            flows: 100,
            files: ByteCount::new(8 << 20),
            runs: 1000,
        }
    }
}
