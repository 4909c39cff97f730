//! Test content for unit and integration tests.

/// Returns pseudo-random bytes, which do not compress.
pub(crate) fn noise(length: usize, mut seed: u64) -> Vec<u8> {
    let next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 32) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}
