//! Plays acknowledgements, losses and round trips to a controller, as a sender would.

mod link;
mod play;

pub(crate) use link::Link;
pub(crate) use play::Play;
