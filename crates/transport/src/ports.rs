//! The ports of a connection of any protocol.

/// The ports of a connection, as one of its ends has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    /// This end's port.
    pub local: u16,
    /// The peer's port.
    pub peer: u16,
}
