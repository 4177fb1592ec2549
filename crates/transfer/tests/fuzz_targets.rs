//! Runs the fuzz targets of file transfer on a fixed set of inputs.

use bentpipe_testkit::fuzz::bounded_runs;
use bentpipe_transfer::fuzz::{transfer_frames, transfer_records, transfer_seeds};

#[test]
fn a_hundred_thousand_inputs_break_no_decoder_of_transfer_frames() {
    bounded_runs(100_000, &transfer_seeds().1, transfer_frames);
}

#[test]
fn after_any_records_on_any_disk_a_file_is_whole_or_absent() {
    bounded_runs(100_000, &transfer_seeds().0, transfer_records);
}
