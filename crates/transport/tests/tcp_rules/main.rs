//! The rules of TCP one by one, against a script: what leaves, when it leaves, and that nothing leaves before.

mod asking;
mod closing;
mod controllers;
mod duplicates;
mod forward;
mod granting;
mod in_order;
mod listening;
mod opening;
mod outages;
mod path_mtu;
mod probing;
mod receiving;
mod recovery;
mod reports;
mod sending;
mod snack;
mod support;
mod tail_probes;
mod timers;
mod undoing;
