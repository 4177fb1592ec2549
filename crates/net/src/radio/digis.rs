//! Repeaters between stations.

use bentpipe_wire::radio::Address;
use bentpipe_wire::radio::ax25::TooManyRepeaters;

/// Most repeaters of a frame (AX.25, section 3.12).
const MOST: usize = 8;

/// The repeaters (digipeaters) that pass on what a station sends, in order; none where stations hear each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digis(Vec<Address>);

impl Digis {
    /// Their call signs.
    pub fn as_slice(&self) -> &[Address] {
        &self.0
    }
}

impl TryFrom<Vec<Address>> for Digis {
    type Error = TooManyRepeaters;

    fn try_from(digis: Vec<Address>) -> Result<Self, TooManyRepeaters> {
        let count = digis.len();
        if count <= MOST { Ok(Self(digis)) } else { Err(TooManyRepeaters { count }) }
    }
}
