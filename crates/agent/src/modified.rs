//! Chooses the modification time of a file that replaces another.

/// Times are microseconds since 1970.
const SECOND: i64 = 1_000_000;
/// A difference that every program detects: some have a resolution of milliseconds.
const JUST_LATER: i64 = 1000;

/// Returns the modification time for a file that replaces one with the time `replaced`: `wanted`, which is its own, or a
/// later one if programs could not distinguish the two files by it.
///
/// Reloaders that poll look for a later time, and Python takes bytecode compiled from a file of the same size and the
/// same second for current. So the new time is in a later second than the old one. If that would be after `latest`, it
/// is only just later: times must not run far ahead of the clock.
pub fn newer(wanted: i64, replaced: i64, latest: i64) -> i64 {
    let second = replaced.div_euclid(SECOND);
    if wanted.div_euclid(SECOND) > second {
        return wanted;
    }
    let next_second = second.saturating_add(1).saturating_mul(SECOND);
    if next_second <= latest { next_second } else { wanted.max(replaced.saturating_add(JUST_LATER)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_second_is_kept() {
        assert_eq!(newer(5_000_001, 4_999_999, 9_000_000), 5_000_001);
        assert_eq!(newer(-1, -1_000_001, 0), -1);
    }

    #[test]
    fn same_second_or_earlier_becomes_the_next_second() {
        assert_eq!(newer(4_500_000, 4_100_000, 9_000_000), 5_000_000);
        assert_eq!(newer(1_000_000, 4_100_000, 9_000_000), 5_000_000);
        assert_eq!(newer(-500_000, -1, 0), 0);
    }

    #[test]
    fn time_beyond_latest_is_only_just_later() {
        assert_eq!(newer(4_000_000, 9_000_000, 9_500_000), 9_001_000);
        assert_eq!(newer(9_400_000, 9_000_000, 9_500_000), 9_400_000);
    }
}
