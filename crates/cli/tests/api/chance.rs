//! Random choices that are the same in every run.

pub(crate) struct Chance(u64);

impl Chance {
    /// `LILT_TEST_SEED` gives others.
    pub(crate) fn new(salt: u64) -> Chance {
        let seed = std::env::var("LILT_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2026);
        Chance((seed ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}
