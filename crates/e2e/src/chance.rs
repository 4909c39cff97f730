//! Random choices that are the same in every run, unless `LILT_TEST_SEED` gives others.

#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    /// Other choices for another salt.
    pub fn new(salt: u64) -> Chance {
        let seed = number("LILT_TEST_SEED").unwrap_or(2026);
        Chance((seed ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
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

/// What a variable of the environment says, if anything.
pub fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|value| value.parse().ok())
}
