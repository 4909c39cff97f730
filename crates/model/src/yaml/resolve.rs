//! Resolves scalars to YAML 1.1 types as go-yaml v2 and `sigs.k8s.io/yaml` do.

use std::borrow::Cow;

use serde_json::{Number, Value};

const TAG_PREFIX: &str = "tag:yaml.org,2002:";

#[derive(Debug, PartialEq)]
pub(super) enum Scalar<'t> {
    Null,
    Bool(bool),
    Int(i64),
    /// Also for integers of more than 64 bits, as in Go.
    Float(f64),
    Text(Cow<'t, str>),
}

/// Resolves a scalar with neither tag nor quotes.
pub(super) fn plain(text: Cow<'_, str>) -> Scalar<'_> {
    match text.as_bytes().first() {
        None | Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            named(&text).unwrap_or(Scalar::Text(text))
        }
        Some(b'.') => named(&text)
            .or_else(|| if is_float(&text) { finite(&text) } else { None })
            .unwrap_or(Scalar::Text(text)),
        Some(b'0'..=b'9' | b'+' | b'-') => {
            named(&text).or_else(|| number(&text)).unwrap_or(Scalar::Text(text))
        }
        _ => Scalar::Text(text),
    }
}

/// Resolves a scalar with a tag, given by its full name.
pub(super) fn tagged<'t>(tag: &str, text: Cow<'t, str>) -> Result<Scalar<'t>, String> {
    let Some(kind) = tag.strip_prefix(TAG_PREFIX) else { return Ok(Scalar::Text(text)) };
    let shown = text.clone();
    let resolved = match kind {
        "binary" => {
            let bytes = base64(&text).ok_or("a !!binary value is not valid base64")?;
            return Ok(Scalar::Text(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())));
        }
        "null" | "bool" | "int" | "float" => plain(text),
        _ => return Ok(Scalar::Text(text)),
    };
    match (kind, resolved) {
        ("float", Scalar::Int(number)) => Ok(Scalar::Float(number as f64)),
        ("null", resolved @ Scalar::Null)
        | ("bool", resolved @ Scalar::Bool(_))
        | ("int", resolved @ Scalar::Int(_))
        | ("float", resolved @ Scalar::Float(_)) => Ok(resolved),
        _ => Err(format!("`{shown}` is not a value of type !!{kind}")),
    }
}

impl Scalar<'_> {
    pub(super) fn into_value(self) -> Result<Value, String> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(flag) => Value::Bool(flag),
            Self::Int(number) => Value::from(number),
            Self::Float(number) => Value::Number(
                json_number(number).ok_or("infinity and .nan have no place in Kubernetes YAML or JSON")?,
            ),
            Self::Text(text) => Value::String(text.into_owned()),
        })
    }

    /// Returns the text of a mapping's key. Keys of other types are formatted as in Go.
    pub(super) fn into_key(self) -> Result<String, String> {
        match self {
            Self::Null => Err("null cannot be the key of a mapping".to_owned()),
            Self::Bool(flag) => Ok(flag.to_string()),
            Self::Int(number) => Ok(number.to_string()),
            Self::Float(number) => Ok(float_key(number)),
            Self::Text(text) => Ok(text.into_owned()),
        }
    }
}

/// Returns the number as Kubernetes tools write it in JSON: whole floats are integers (`2.0` is 2). None if not finite.
pub fn json_number(number: f64) -> Option<Number> {
    if !number.is_finite() {
        return None;
    }
    // Every whole float in this range is an i64. The bound itself, 2^63, is not.
    if number.fract() == 0.0 && number.abs() < 9_223_372_036_854_775_808.0 {
        return Some(Number::from(number as i64));
    }
    Number::from_f64(number)
}

fn named(text: &str) -> Option<Scalar<'static>> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

fn number(text: &str) -> Option<Scalar<'static>> {
    // Avoids copying long texts that begin with a digit, such as digests.
    let plain: Cow<'_, str> = if text.contains('_') { text.replace('_', "").into() } else { text.into() };
    if let Some(number) = integer(&plain) {
        return Some(number);
    }
    if is_float(&plain) { finite(&plain) } else { None }
}

fn integer(text: &str) -> Option<Scalar<'static>> {
    let (is_negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // from_str_radix accepts signs.
    if !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    let size = u64::from_str_radix(digits, radix).ok()?;
    match (is_negative, i64::try_from(size)) {
        (false, Ok(number)) => Some(Scalar::Int(number)),
        (true, Ok(number)) => Some(Scalar::Int(-number)),
        (true, Err(_)) if size == i64::MIN.unsigned_abs() => Some(Scalar::Int(i64::MIN)),
        // Go accepts a sign for signed numbers only. Other texts may be floats.
        (false, Err(_)) if !text.starts_with('+') => Some(Scalar::Float(size as f64)),
        _ => None,
    }
}

/// Returns whether a text matches `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_float(text: &str) -> bool {
    fn digits(bytes: &[u8]) -> usize {
        bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }
    let mut rest = text.as_bytes();
    if let [b'-' | b'+', after @ ..] = rest {
        rest = after;
    }
    let whole = digits(rest);
    rest = &rest[whole..];
    if let [b'.', after @ ..] = rest {
        let fraction = digits(after);
        if whole == 0 && fraction == 0 {
            return false;
        }
        rest = &after[fraction..];
    } else if whole == 0 {
        return false;
    }
    if let [b'e' | b'E', after @ ..] = rest {
        let after = match after {
            [b'-' | b'+', after @ ..] => after,
            after => after,
        };
        let exponent = digits(after);
        return exponent > 0 && exponent == after.len();
    }
    rest.is_empty()
}

/// Parses a float; none if it is out of range, so that it stays a text.
fn finite(text: &str) -> Option<Scalar<'static>> {
    text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Scalar::Float)
}

/// Formats a float as Go does with `%g` and 32 bits.
fn float_key(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "Kubernetes tools name keys by their 32 bits")]
    let number = number as f32;
    if number.is_nan() {
        return ".nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{number}"),
    }
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut group = 0_u32;
    let mut length = 0;
    let mut padding = 0;
    for byte in text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                padding += 1;
                0
            }
            _ => return None,
        };
        // Only padding may follow padding.
        if padding > 2 || (padding > 0 && byte != b'=') {
            return None;
        }
        group = group << 6 | u32::from(digit);
        length += 1;
        if length == 4 {
            bytes.extend(&group.to_be_bytes()[1..4 - padding]);
            group = 0;
            length = 0;
        }
    }
    (length == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_needs_its_padding() {
        assert_eq!(base64("aGVsbG8=").as_deref(), Some(b"hello".as_slice()));
        assert_eq!(base64("aGVs\nbG8h").as_deref(), Some(b"hello!".as_slice()));
        assert_eq!(base64("").as_deref(), Some(b"".as_slice()));
        for wrong in ["aGVsbG8", "aGVsbG8==", "aG=sbG8=", "====", "a b="] {
            assert_eq!(base64(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn float_keys_are_printed_as_in_go() {
        for (number, expected) in [
            (1.5, "1.5"),
            (2.0, "2"),
            (1e6, "1e+06"),
            (100_000.0, "100000"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (-0.5, "-0.5"),
        ] {
            assert_eq!(float_key(number), expected);
        }
    }
}
