//! XSTP-probing over scripted wires: the rules P1 to P32 of docs/protocols/xstp.md and figures 1 to
//! 4 of the paper. What only the map of probes shows is tested next to it.

mod blackout;
mod cycle;
mod cycle_end;
mod decision;
mod early;
mod explicit;
mod figures;
mod general;
mod map;
mod never;
mod repair;
mod start;
mod start_over;
mod support;
