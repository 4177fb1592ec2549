//! Whole runs of the simulator, built by hand.

mod delivery;
mod independence;
mod sky;
mod support;
mod tcp_capture;
mod watching;
