//! Whole runs of the simulator, built by hand.

mod delivery;
mod independence;
mod support;
mod tcp_capture;
mod watching;
