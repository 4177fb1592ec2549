//! The rules of SCTP one by one: what leaves, when it leaves, and that nothing leaves before.

mod addresses;
mod closing;
mod key;
mod losses;
mod marks;
mod opening;
mod path_mtu;
mod paths;
mod sacks;
mod support;
