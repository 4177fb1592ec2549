//! Runs the fuzz targets of what hosts and gateways say to each other on a fixed set of inputs.

use bentpipe_association::endpoint::fuzz::{control_message, control_seeds};
use bentpipe_gateway::Config;
use bentpipe_gateway::fuzz::{gateway_messages, gateway_seeds, gateway_text};
use bentpipe_testkit::fuzz::bounded_runs;

#[test]
fn a_hundred_thousand_inputs_break_no_message_about_an_association() {
    bounded_runs(100_000, &control_seeds(), control_message);
}

#[test]
fn a_hundred_thousand_inputs_break_no_message_of_gateways() {
    bounded_runs(100_000, &gateway_seeds()[0], gateway_messages);
}

#[test]
fn ten_thousand_texts_are_configurations_or_have_an_error_that_says_where() {
    let texts = &gateway_seeds()[1];
    for text in &texts[2..] {
        Config::parse("gateway.toml", std::str::from_utf8(text).expect("text")).expect("right");
    }
    bounded_runs(10_000, texts, gateway_text);
}
