//! Errors of the operating system in words for users.

/// Returns `text` without the numbers that Rust appends to errors of the operating system.
///
/// `cannot bind: Address already in use (os error 98)` becomes `cannot bind: address already in use`. Everything that
/// puts an `io::Error` into a text for users goes through this; a `Failure` of the environment does it by itself.
pub fn plain(text: &str) -> String {
    const BEGIN: &str = " (os error ";
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        let number = &rest[at + BEGIN.len()..];
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let is_number = digits > 0 && number[digits..].starts_with(')');
        let end = at + BEGIN.len() + if is_number { digits + 1 } else { 0 };
        if is_number {
            plain.push_str(&rest[..at]);
            uncapitalize_cause(&mut plain);
        } else {
            plain.push_str(&rest[..end]);
        }
        rest = &rest[end..];
    }
    plain.push_str(rest);
    plain
}

/// Makes the first letter of the last cause small: the operating system's texts are sentences.
fn uncapitalize_cause(text: &mut String) {
    let start = text.rfind([':', '(', '\n']).map_or(0, |at| at + 1);
    let start = start + (text[start..].len() - text[start..].trim_start().len());
    let mut letters = text[start..].chars();
    if let (Some(first), Some(second)) = (letters.next(), letters.next())
        && first.is_ascii_uppercase()
        // Not of `I/O error`.
        && (second.is_ascii_lowercase() || second == ' ')
    {
        text.replace_range(start..=start, &first.to_ascii_lowercase().to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_operating_system_are_left_out() {
        for (text, expected) in [
            ("Address already in use (os error 98)", "address already in use"),
            (
                "cannot open x: No such file or directory (os error 2)",
                "cannot open x: no such file or directory",
            ),
            (
                "client error (Connect): Connection refused (os error 111), trying again",
                "client error (Connect): connection refused, trying again",
            ),
            ("a: X (os error 1); b: Y z (os error 2)", "a: X; b: y z"),
            ("I/O error (os error 5)", "I/O error"),
            ("no number (os error x)", "no number (os error x)"),
            ("nothing of it", "nothing of it"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn real_error_loses_its_number() {
        let error = std::io::Error::from_raw_os_error(2);
        assert!(!plain(&error.to_string()).contains("os error"));
    }
}
