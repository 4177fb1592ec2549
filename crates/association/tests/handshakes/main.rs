//! Any history of two hosts: the fuzz target on a fixed set of inputs.

mod history;

use bentpipe_testkit::fuzz::bounded_runs;

use history::{handshake_history, handshake_seeds};

#[test]
fn in_any_history_bytes_come_as_they_were_written_and_hosts_find_each_other_again() {
    for seed in handshake_seeds() {
        handshake_history(&seed);
    }
    bounded_runs(2_000, &handshake_seeds(), handshake_history);
}
