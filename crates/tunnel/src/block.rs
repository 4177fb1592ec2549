//! A block of packets and its parity (Reed-Solomon).

use bytes::{BufMut as _, Bytes, BytesMut};
use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

/// Bytes that say how long a body is.
pub(crate) const LENGTH: usize = 2;

/// Bytes of a shard that holds so long a body; even, as the code wants it.
pub(crate) const fn shard_len(body: usize) -> usize {
    (LENGTH + body).next_multiple_of(2)
}

/// A body as a shard of so many bytes: its length, the body, zeros.
fn fill(body: &[u8], len: usize, shard: &mut BytesMut) {
    shard.clear();
    shard.put_u16(body.len() as u16);
    shard.extend_from_slice(body);
    shard.resize(len, 0);
}

/// The body in a shard; `None` where it says to be longer than that.
fn strip(shard: &[u8]) -> Option<Bytes> {
    let (len, rest) = shard.split_first_chunk::<LENGTH>()?;
    rest.get(..usize::from(u16::from_be_bytes(*len))).map(Bytes::copy_from_slice)
}

/// So many shards of parity over these bodies.
pub(crate) fn encode(bodies: &[Bytes], count: u8) -> Vec<Bytes> {
    let len = bodies.iter().map(|body| shard_len(body.len())).max().unwrap_or(0);
    let attempt = || -> Result<Vec<Bytes>, reed_solomon_simd::Error> {
        let mut encoder = ReedSolomonEncoder::new(bodies.len(), count.into(), len)?;
        let mut shard = BytesMut::new();
        for body in bodies {
            fill(body, len, &mut shard);
            encoder.add_original_shard(&shard)?;
        }
        Ok(encoder.encode()?.recovery_iter().map(Bytes::copy_from_slice).collect())
    };
    if bodies.is_empty() || count == 0 { Vec::new() } else { attempt().unwrap_or_default() }
}

/// Bytes of arithmetic that [`decode`] takes: shards are transformed by powers of two.
pub(crate) const fn work(of: usize, count: usize, len: usize) -> usize {
    (of.next_power_of_two() + count.next_power_of_two()) * len
}

/// The bodies that lack among these, each with its place. Nothing where there is too little parity or it fits nothing.
pub(crate) fn decode(
    bodies: &[Option<&Bytes>],
    count: u8,
    parity: &[(u8, Bytes)],
) -> Vec<(usize, Bytes)> {
    let len = parity.first().map_or(0, |(_, shard)| shard.len());
    let attempt = || -> Result<Vec<(usize, Bytes)>, reed_solomon_simd::Error> {
        let mut decoder = ReedSolomonDecoder::new(bodies.len(), count.into(), len)?;
        for (index, shard) in parity {
            decoder.add_recovery_shard(usize::from(*index), shard)?;
        }
        let mut shard = BytesMut::new();
        for (place, body) in bodies.iter().enumerate() {
            if let Some(body) = body {
                fill(body, len, &mut shard);
                decoder.add_original_shard(place, &shard)?;
            }
        }
        let decoded = decoder.decode()?;
        let restored = decoded.restored_original_iter();
        Ok(restored.filter_map(|(place, shard)| Some((place, strip(shard)?))).collect())
    };
    // A body longer than the parity was not among what it covers.
    let fits = bodies.iter().flatten().all(|body| shard_len(body.len()) <= len);
    if fits { attempt().unwrap_or_default() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_many_bodies_come_back_as_there_is_parity(
            lens in prop::collection::vec(0usize..90, 1..60),
            count in 1u8..20,
            lost in prop::collection::btree_set(0usize..60, 0..20),
            used in prop::collection::btree_set(0u8..20, 0..20),
        ) {
            let body = |(n, len): (usize, &usize)| Bytes::from(vec![n as u8; *len]);
            let bodies: Vec<Bytes> = lens.iter().enumerate().map(body).collect();
            let parity = encode(&bodies, count);
            let came: Vec<(u8, Bytes)> =
                used.into_iter().filter(|n| *n < count).map(|n| (n, parity[usize::from(n)].clone())).collect();
            let lost: Vec<usize> = lost.into_iter().filter(|n| *n < bodies.len()).collect();
            let mut here: Vec<Option<&Bytes>> = bodies.iter().map(Some).collect();
            lost.iter().for_each(|n| here[*n] = None);
            let back = decode(&here, count, &came);
            let expected = lost.iter().map(|n| (*n, bodies[*n].clone())).collect::<Vec<_>>();
            prop_assert_eq!(back, if lost.len() <= came.len() { expected } else { Vec::new() });
        }

        #[test]
        fn parity_may_say_anything(
            lens in prop::collection::vec(prop::option::of(0usize..20), 1..30),
            count in 1u8..=255,
            parity in prop::collection::vec((any::<u8>(), 0usize..30), 0..9),
        ) {
            let bodies: Vec<Option<Bytes>> = lens.iter().map(|len| len.map(|len| vec![1; len].into())).collect();
            let here: Vec<Option<&Bytes>> = bodies.iter().map(Option::as_ref).collect();
            let parity: Vec<(u8, Bytes)> =
                parity.into_iter().map(|(index, len)| (index, vec![7; 2 * len].into())).collect();
            let _ = decode(&here, count, &parity);
        }
    }
}
