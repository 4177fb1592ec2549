//! How long datagrams may be on the path to a peer. Lengths here are those of UDP payloads; the search is
//! that of [`bentpipe_transport::path_mtu`].

use std::net::SocketAddr;

use bentpipe_transport::path_mtu::Search;

/// Every path carries this (RFC 8899, section 5.1.2, BASE_PLPMTU).
pub(super) const BASE: u16 = 1200;
/// What fits into 1,500 bytes with the headers of IPv4 and IPv6.
const MOST_V4: u16 = 1472;
const MOST_V6: u16 = 1452;
/// A datagram that is shorter than what the path carries by no more than this counts as full.
const CLOSE: u16 = 8;

/// A search that has not begun, on the path to this address.
pub(super) const fn search(address: SocketAddr) -> Search {
    Search::new(BASE, if address.is_ipv4() { MOST_V4 } else { MOST_V6 })
}

/// Whether a datagram of this length is a full one.
pub(super) const fn is_full(path: &Search, len: usize) -> bool {
    len + CLOSE as usize >= path.get() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_as_long_as_what_fits_into_1500_bytes_with_all_headers() {
        let v4 = search(([10, 0, 0, 1], 7).into());
        assert!(is_full(&v4, 1192) && is_full(&v4, 1200) && !is_full(&v4, 1191));
        for (address, most) in [(([10, 0, 0, 1], 7).into(), 1472), (([0u16; 8], 7).into(), 1452)] {
            let mut path = search(address);
            let now = bentpipe_units::Instant::ZERO;
            let probe = (0..10).find_map(|_| path.sent_full(now));
            assert_eq!(probe, Some(most));
        }
    }
}
