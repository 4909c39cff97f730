//! The parts of a URL, as Go's `net/url` names them.

use serde_json::{Value, json};

pub(super) fn parts(url: &str) -> Value {
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (scheme, rest) = split_scheme(rest);
    let lone_question = rest.ends_with('?') && rest.matches('?').count() == 1;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let is_opaque = !scheme.is_empty() && !rest.starts_with('/');
    let (authority, path, opaque) = match rest.strip_prefix("//") {
        _ if is_opaque => ("", "", rest),
        Some(after) => {
            let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            (authority, path, "")
        }
        None => ("", rest, ""),
    };
    let (user, host) = match authority.rsplit_once('@') {
        // Go does not serialize name and password.
        Some((_, host)) => (json!({}), host),
        None => (Value::Null, authority),
    };
    let omits_host = !scheme.is_empty() && rest.starts_with('/') && !rest.starts_with("//");
    let (path, raw_path) = decoded(path, "$&+,/:;=@");
    let (fragment, raw_fragment) = decoded(fragment, "$&+,/:;=?@!()*");
    json!({
        "Scheme": scheme,
        "Opaque": opaque,
        "User": user,
        "Host": host,
        "Path": path,
        "Fragment": fragment,
        "RawQuery": query,
        "RawPath": raw_path,
        "RawFragment": raw_fragment,
        "ForceQuery": lone_question,
        "OmitHost": omits_host,
    })
}

/// Splits off the scheme, in lower case.
fn split_scheme(url: &str) -> (String, &str) {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    match url.split_once(':') {
        Some((scheme, rest))
            if scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.chars().all(allowed) =>
        {
            (scheme.to_ascii_lowercase(), rest)
        }
        _ => (String::new(), url),
    }
}

/// Decodes percent escapes. The second text is the original if encoding would not restore it. `plain` needs no encoding.
fn decoded(text: &str, plain: &str) -> (String, String) {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        rest = if code.is_some() { &after[2..] } else { after };
        bytes.push(code.unwrap_or(*first));
    }
    let is_plain = |byte: u8| {
        byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || plain.as_bytes().contains(&byte)
    };
    let encode =
        |byte: &u8| if is_plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    let encoded: String = bytes.iter().map(encode).collect();
    let raw = if encoded == text { String::new() } else { text.to_owned() };
    (String::from_utf8_lossy(&bytes).into_owned(), raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_parts_equal_those_of_go() {
        let part = |url: &str, name: &str| parts(url)[name].clone();
        let url = "HTTP://me:pw@x.dev:80/a%20b/c%2Fd?q=1&r#f%20g";
        for (name, expected) in [
            ("Scheme", "http"),
            ("Host", "x.dev:80"),
            ("Path", "/a b/c/d"),
            ("RawPath", "/a%20b/c%2Fd"),
            ("RawQuery", "q=1&r"),
            ("Fragment", "f g"),
            ("RawFragment", ""),
        ] {
            assert_eq!(part(url, name), expected, "{name}");
        }
        assert_eq!(part(url, "User"), json!({}));
        assert_eq!(part("mailto:me@x", "Opaque"), "me@x");
        assert_eq!(part("x.dev/a", "Path"), "x.dev/a");
        assert_eq!(part("http://x?", "ForceQuery"), true);
        assert_eq!(part("file:/x", "OmitHost"), true);
        assert_eq!(part("http://x/", "OmitHost"), false);
    }
}
