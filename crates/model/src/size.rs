//! Amounts of bytes in words.

const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];

/// As Docker's own tools write it: `900B`, `1.235MB`.
pub fn display(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "four digits are shown")]
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = match value {
        value if value < 10.0 => 3,
        value if value < 100.0 => 2,
        value if value < 1000.0 => 1,
        _ => 0,
    };
    let shown = format!("{value:.digits$}");
    let shown = if shown.contains('.') { shown.trim_end_matches('0').trim_end_matches('.') } else { &shown };
    format!("{shown}{}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_suffice() {
        for (bytes, words) in [
            (0, "0B"),
            (900, "900B"),
            (1000, "1kB"),
            (1_234_567, "1.235MB"),
            (12_345_678, "12.35MB"),
            (123_456_789, "123.5MB"),
            (100_000_000_000, "100GB"),
        ] {
            assert_eq!(display(bytes), words);
        }
    }
}
