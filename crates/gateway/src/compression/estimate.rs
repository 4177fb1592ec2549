//! Whether bytes can be compressed, before anybody tries.

/// Bytes that are looked at, in this many parts from all over the piece.
const SAMPLE: usize = 4096;
const PARTS: usize = 8;
/// Pieces that are shorter cannot become shorter by much.
pub(super) const LEAST: usize = 128;
/// Fewer bits of entropy in a byte than this are worth it.
const BITS: u32 = 7;

/// Whether there is so much entropy in bytes, at least [`LEAST`], that compression is not worth it: the Rényi entropy of order 2 of
/// single bytes, of a sample. Encrypted and compressed bytes have 7.9 bits of it in a byte, base64 has 6, text about 4.
pub(super) fn is_dense(bytes: &[u8]) -> bool {
    let mut counts = [0u64; 256];
    let part = (SAMPLE / PARTS).min(bytes.len() / PARTS).max(1);
    let step = bytes.len() / PARTS;
    for number in 0..PARTS {
        for &byte in &bytes[number * step..number * step + part] {
            counts[usize::from(byte)] += 1;
        }
    }
    let taken = (PARTS * part) as u64;
    // Pairs of equal bytes among all pairs: 2^-entropy. A byte with itself is no pair.
    let equal: u64 = counts.iter().map(|count| count * count.saturating_sub(1)).sum();
    equal << BITS < taken * (taken - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_are_dense_and_text_and_base64_are_not() {
        let mut state = 1u64;
        let mut random = |values: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % values) as u8
        };
        for len in [1_000, 4_096, 32_768] {
            let of =
                |random: &mut dyn FnMut() -> u8| (0..len).map(|_| random()).collect::<Vec<u8>>();
            assert!(is_dense(&of(&mut || random(256))), "{len}");
            assert!(!is_dense(&of(&mut || random(64))), "{len}");
        }
        assert!(!is_dense("a text that an engineer would write. ".repeat(20).as_bytes()));
    }
}
