//! Durations as Go writes them, in Tiltfiles, flags and API objects: `30s`, `1h15m`, `1.5h`.

use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
];

/// Parses a sequence of numbers with units. Negative durations are errors.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no length of time such as '30s', '5m' or '1h30m'");
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if unsigned == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = unsigned;
    let mut total = 0u64;
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.');
        let (number, after) = rest.split_at(end.ok_or_else(wrong)?);
        let end = after.find(|character: char| character.is_ascii_digit() || character == '.');
        let (unit, left) = after.split_at(end.unwrap_or(after.len()));
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let part = nanoseconds(number, *size).ok_or_else(wrong)?;
        total = total.checked_add(part).filter(|total| i64::try_from(*total).is_ok()).ok_or_else(wrong)?;
        rest = left;
    }
    if unsigned.is_empty() { Err(wrong()) } else { Ok(Duration::from_nanos(total)) }
}

/// Parses the value of a flag. The error contains examples.
pub fn parse_flag(text: &str) -> Result<Duration, String> {
    parse(text).map_err(|_| format!("{text:?} is no duration; write for example 90s, 30m or 1h30m"))
}

fn nanoseconds(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanoseconds = whole.checked_mul(unit)?;
    let mut place = unit;
    for digit in fraction.chars() {
        place /= 10;
        nanoseconds = nanoseconds.checked_add(u64::from(digit.to_digit(10)?) * place)?;
    }
    Some(nanoseconds)
}

/// Formats a duration as Go does: `1h0m0s`, `30m0s`, `1.5s`, `250ms`, `0s`.
pub fn display(length: Duration) -> String {
    let nanoseconds = length.as_nanos();
    let second = u128::from(SECOND);
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    if nanoseconds < second {
        let (size, unit) = match nanoseconds {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            _ => (1_000_000, "ms"),
        };
        return with_fraction(nanoseconds, size) + unit;
    }
    let (hours, minutes) = (nanoseconds / (3_600 * second), nanoseconds / (60 * second) % 60);
    let seconds = with_fraction(nanoseconds % (60 * second), second);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

fn with_fraction(amount: u128, unit: u128) -> String {
    let (whole, rest) = (amount / unit, amount % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = unit.ilog10() as usize;
    format!("{whole}.{rest:0digits$}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_and_formatted() {
        for (text, shown) in [
            ("30s", "30s"),
            ("1m", "1m0s"),
            ("90m", "1h30m0s"),
            ("1h15m30.5s", "1h15m30.5s"),
            ("1.5h", "1h30m0s"),
            (".5s", "500ms"),
            ("1500us", "1.5ms"),
            ("7ns", "7ns"),
            ("+2s", "2s"),
            ("0", "0s"),
            ("0h", "0s"),
        ] {
            assert_eq!(parse(text).map(display).as_deref(), Ok(shown), "{text}");
        }
    }

    #[test]
    fn durations_of_flags_are_read_as_go_writes_them() {
        assert_eq!(parse_flag("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_flag("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_flag("30m0s"), Ok(Duration::from_secs(1800)));
        assert_eq!(parse_flag("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_flag("1.5h"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_flag("0"), Ok(Duration::ZERO));
        assert!(parse_flag("").is_err());
        assert!(parse_flag("10").is_err());
        assert!(parse_flag("5 minutes").is_err());
    }

    #[test]
    fn other_texts_are_errors() {
        for bad in ["", "+", "5", "s", "-1s", "1 s", "1d", ".s", "1.2.3s", "5mm", "99999999999h"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
