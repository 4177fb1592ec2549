//! Whole runs of the simulator, built by hand.

mod agents;
mod aqm;
mod datagrams;
mod delivery;
mod independence;
mod own_queue;
mod product;
mod proxies;
mod queues;
mod sctp;
mod sky;
mod support;
mod tcp_capture;
mod traffic;
mod watching;
mod xcp;
