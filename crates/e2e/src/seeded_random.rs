//! Pseudo-random choices that are the same in every run, unless `LILT_TEST_SEED` is set.

#[derive(Debug)]
pub struct SeededRandom(u64);

impl SeededRandom {
    /// Creates a sequence for this salt.
    pub fn new(salt: u64) -> SeededRandom {
        let seed = number("LILT_TEST_SEED").unwrap_or(2026);
        SeededRandom((seed ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Returns the number in an environment variable, if it is set.
pub fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|value| value.parse().ok())
}
