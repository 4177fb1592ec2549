//! Runs the fuzz target of held openings on a fixed set of inputs.

use bentpipe_net::gateway::fuzz::{opening_packet, packet_seeds};
use bentpipe_testkit::fuzz::bounded_runs;

#[test]
fn a_hundred_thousand_inputs_break_no_answer_to_a_packet() {
    bounded_runs(100_000, &packet_seeds(), opening_packet);
}
