//! The memory of this process.

use bentpipe_units::ByteCount;

/// What the process holds now; nothing where the system does not say.
pub(crate) fn held() -> ByteCount {
    let said = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = said.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    ByteCount::new(pages.unwrap_or_default().saturating_mul(rustix::param::page_size() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_and_used_is_held() {
        let before = held().get();
        let much = vec![1_u8; 64 << 20];
        assert!(held().get() >= before + (48 << 20), "{before}");
        assert_eq!(much[much.len() - 1], 1);
    }
}
