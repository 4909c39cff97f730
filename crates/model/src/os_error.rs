//! Makes errors of the operating system readable for users.

use std::error::Error;
use std::io;

/// Too many open files in the system, and in this process. The numbers are the same on every Unix.
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
/// Messages of the operating system, for texts from other programs.
const SHORTAGES: [&str; 3] = ["too many open files", "no space left on device", "cannot allocate memory"];

/// Returns the hint for an error that is caused by a shortage of this machine; none for other errors.
pub fn shortage(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some("make room on the disk"),
        io::ErrorKind::OutOfMemory => Some("close other programs: this machine is out of memory"),
        _ if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => {
            Some("close connections to forwarded ports, or raise the limit of open files (`ulimit -n`)")
        }
        _ => None,
    }
}

/// Returns whether an error is caused by a shortage of this machine, so that a retry may succeed.
pub fn is_shortage(error: &io::Error) -> bool {
    shortage(error).is_some()
}

/// Returns the error of the operating system that caused an error.
pub fn root_cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    let mut next = Some(error);
    let mut found = None;
    while let Some(current) = next {
        let has_number = |error: &&io::Error| error.raw_os_error().is_some();
        found = current.downcast_ref::<io::Error>().filter(has_number).or(found);
        // For an error inside of another `io::Error`, `source` would skip that error.
        next = match current.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => current.source(),
        };
    }
    found
}

/// Returns whether a text of another program reports a shortage of this machine.
pub fn mentions_shortage(text: &str) -> bool {
    let text = text.to_lowercase();
    SHORTAGES.iter().any(|shortage| text.contains(shortage))
}

/// Returns `text` without the numbers that Rust appends to errors of the operating system.
///
/// `cannot bind: Address already in use (os error 98)` becomes `cannot bind: address already in use`. Use it for
/// every text that contains an `io::Error`; the constructors of `Failure` do so.
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

/// Uncapitalizes the last cause: the operating system's texts are sentences.
fn uncapitalize_cause(text: &mut String) {
    let start = text.rfind([':', '(', '\n']).map_or(0, |at| at + 1);
    let start = start + (text[start..].len() - text[start..].trim_start().len());
    let mut letters = text[start..].chars();
    if let (Some(first), Some(second)) = (letters.next(), letters.next())
        && first.is_ascii_uppercase()
        // Keep `I/O error`.
        && (second.is_ascii_lowercase() || second == ' ')
    {
        text.replace_range(start..=start, &first.to_ascii_lowercase().to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_numbers_are_removed() {
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

    #[test]
    fn error_of_the_system_is_found_behind_others() {
        let wrapped = io::Error::other(io::Error::other(io::Error::from_raw_os_error(EMFILE)));
        assert_eq!(root_cause(&wrapped).and_then(io::Error::raw_os_error), Some(EMFILE));
        assert!(shortage(&wrapped).is_none());
        assert!(root_cause(&wrapped).and_then(shortage).is_some());
        assert!(root_cause(&io::Error::other("text")).is_none());
    }

    #[test]
    fn shortages_of_the_system_have_a_hint() {
        // Disk full, memory, quota of Linux.
        for number in [EMFILE, ENFILE, 28, 12, 122] {
            assert!(shortage(&io::Error::from_raw_os_error(number)).is_some(), "{number}");
        }
        assert!(shortage(&io::Error::from_raw_os_error(13)).is_none());
        assert!(mentions_shortage("cannot send x: Too many open files (os error 24)"));
        assert!(!mentions_shortage("cannot send x: permission denied"));
    }
}
