//! Parses kubeconfig files as client-go does. Interpreting the entries is up to the callers.

use serde_json::Value;

use crate::yaml;

/// Returns the documents of a kubeconfig file. As with several files, the first one that has an entry wins.
///
/// The file is UTF-8, or UTF-16 with a byte order mark, as some Windows shells write it.
pub fn documents(bytes: &[u8]) -> Result<Vec<Value>, String> {
    yaml::documents(&decode(bytes)?).map_err(|error| error.to_string())
}

/// Decodes the file. Unlike [`yaml::decode`], refuses invalid bytes: names and tokens must not be changed.
fn decode(bytes: &[u8]) -> Result<String, String> {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map_err(|error| error.to_string())
    };
    match bytes {
        [0xFF, 0xFE, ..] => wide(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => wide(u16::from_be_bytes),
        _ => {
            let bytes = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(bytes);
            String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_of_any_encoding_are_read() {
        let text = "\u{feff}current-context: a\n---\nusers: []\n";
        let expected = vec![json!({"current-context": "a"}), json!({"users": []})];
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [text.as_bytes(), &wide] {
            assert_eq!(documents(bytes).unwrap(), expected);
        }
        assert_eq!(documents(b""), Ok(Vec::new()));
        assert!(documents(b"current-context: \xff").is_err());
    }
}
