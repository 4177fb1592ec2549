//! Addresses of AX.25: a call sign and a number.

use std::fmt;
use std::str::FromStr;

/// Bytes of an address in a frame.
pub(super) const LENGTH: usize = 7;
/// Most characters of a call sign.
const CALL_SIGN: usize = 6;
/// The largest secondary station identifier.
const MOST_SSID: u8 = 15;

/// The address of a station: a call sign of one to six capital letters and digits, and the number of the station among
/// those with that call sign (SSID, 0 to 15). As text `VE3XYZ-7`, and `VE3XYZ` for number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// Padded with spaces.
    call_sign: [u8; CALL_SIGN],
    ssid: u8,
}

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no AX.25 address: write one to six capital letters and digits, and `-1` to `-15` for further stations"
)]
pub struct BadAddress {
    text: String,
}

impl Address {
    /// The number of the station, 0 to 15.
    pub const fn ssid(&self) -> u8 {
        self.ssid
    }

    /// The seven bytes of a frame: characters shifted left by one, then the SSID between the `high` bit (command, or
    /// "has been repeated"), two reserved ones that are set, and the bit that ends the list of addresses.
    pub(super) fn to_bytes(self, high: bool, last: bool) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        for (byte, character) in bytes.iter_mut().zip(self.call_sign) {
            *byte = character << 1;
        }
        bytes[CALL_SIGN] = u8::from(high) << 7 | 0b0110_0000 | self.ssid << 1 | u8::from(last);
        bytes
    }

    /// The address in seven bytes of a frame, its high bit, and whether it ends the list; `None` for what is no call sign.
    pub(super) fn from_bytes(bytes: [u8; LENGTH]) -> Option<(Self, bool, bool)> {
        let mut call_sign = [b' '; CALL_SIGN];
        for (character, byte) in call_sign.iter_mut().zip(bytes) {
            if byte & 1 != 0 {
                return None;
            }
            *character = byte >> 1;
        }
        let last = bytes[CALL_SIGN];
        let address = Self { call_sign, ssid: last >> 1 & MOST_SSID };
        address.is_valid().then_some((address, last & 0x80 != 0, last & 1 != 0))
    }

    /// One character or more, and no space but at the end.
    fn is_valid(&self) -> bool {
        let text = self.call_sign.trim_ascii_end();
        !text.is_empty() && text.iter().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
    }
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let bad = || BadAddress { text: text.to_owned() };
        let (name, ssid) = match text.split_once('-') {
            Some((name, number)) => {
                let plain = number.bytes().all(|c| c.is_ascii_digit());
                let number = number.parse().ok().filter(|ssid| plain && *ssid <= MOST_SSID);
                (name, number.ok_or_else(bad)?)
            }
            None => (text, 0),
        };
        let mut call_sign = [b' '; CALL_SIGN];
        call_sign.get_mut(..name.len()).ok_or_else(bad)?.copy_from_slice(name.as_bytes());
        let address = Self { call_sign, ssid };
        // A space within the text would be padding in the frame.
        let whole = !name.contains(' ');
        if whole && address.is_valid() { Ok(address) } else { Err(bad()) }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.call_sign.trim_ascii_end() {
            write!(f, "{}", char::from(*character))?;
        }
        match self.ssid {
            0 => Ok(()),
            ssid => write!(f, "-{ssid}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_call_sign_and_a_number() {
        for text in ["VE3XYZ-7", "N0CALL", "A-15", "QST"] {
            let address: Address = text.parse().expect("an address");
            assert_eq!(address.to_string(), text);
            let bytes = address.to_bytes(true, false);
            assert_eq!(Address::from_bytes(bytes), Some((address, true, false)));
        }
        assert_eq!("VE3XYZ-0".parse::<Address>().expect("an address").to_string(), "VE3XYZ");
    }

    #[test]
    fn characters_are_shifted_and_reserved_bits_set() {
        let address: Address = "AB1-2".parse().expect("an address");
        assert_eq!(address.to_bytes(false, true), [0x82, 0x84, 0x62, 0x40, 0x40, 0x40, 0x65]);
    }

    #[test]
    fn what_is_no_address_is_named() {
        for text in ["", "-1", "TOOLONG", "ve3xyz", "VE3XYZ-16", "VE3XYZ-+1", "VE3-", "A B", "Ä"] {
            let error = text.parse::<Address>().expect_err(text).to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }
}
