//! Formats sizes in bytes.

const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];

/// Formats a size as Docker's tools do: `900B`, `1.235MB`.
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

/// Parses an amount such as `500MB` or `1.5GB`, in the same units; `0` needs none.
pub fn parse(text: &str) -> Result<u64, String> {
    let digits = text.find(|letter: char| letter != '.' && !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let exponent = UNITS.iter().position(|known| known.eq_ignore_ascii_case(unit.trim()));
    let exponent = if text == "0" { Some(0) } else { exponent };
    match (number.parse::<f64>(), exponent.map(i32::try_from)) {
        (Ok(number), Some(Ok(exponent))) => Ok((number * 1000f64.powi(exponent)) as u64),
        _ => Err("expected a size, for example `500MB` or `20GB`".to_owned()),
    }
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

    #[test]
    fn sizes_are_parsed_with_their_unit() {
        assert_eq!(parse("0"), Ok(0));
        assert_eq!(parse("900B"), Ok(900));
        assert_eq!(parse("500MB"), Ok(500_000_000));
        assert_eq!(parse("1.5 gb"), Ok(1_500_000_000));
        for text in ["", "5", "much", "GB", "-1GB", "1.2.3GB", "1GiB"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
