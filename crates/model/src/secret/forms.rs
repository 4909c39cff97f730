//! The forms in which a value may occur in a text: unchanged, in base64, and quoted.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Block, Secret};

/// The line widths of `base64` and of PEM files.
const BASE64_WIDTHS: [usize; 2] = [76, 64];
/// A line of a value with several lines is redacted by itself if it has at least so many bytes and no space: it is a part
/// of a key, not a sentence or a setting.
const SHORTEST_PIECE: usize = 16;

/// The texts to search for, and the values whose parts are on several lines.
pub(super) struct Forms {
    pub(super) texts: Vec<Vec<u8>>,
    pub(super) blocks: Vec<Block>,
}

impl Forms {
    pub(super) fn of(secret: &Secret) -> Self {
        let mut forms = Self { texts: Vec::new(), blocks: Vec::new() };
        forms.add_value(secret);
        forms.add_base64(&secret.encoded, secret);
        // A value may end with a line end that the output lacks, or the other way round: `echo $PASSWORD | base64`.
        let trimmed = secret.value.trim_ascii_end();
        for variant in [trimmed.to_vec(), [trimmed, b"\n"].concat()] {
            if variant != secret.value {
                forms.add_base64(&STANDARD.encode(&variant), secret);
            }
        }
        let mut known = HashSet::new();
        forms.texts.retain(|text| text.trim_ascii().len() >= Secret::SHORTEST && known.insert(text.clone()));
        forms
    }

    fn add_value(&mut self, secret: &Secret) {
        let trimmed = secret.value.trim_ascii_end();
        self.texts.extend([secret.value.clone(), trimmed.to_vec()]);
        if let Ok(text) = std::str::from_utf8(trimmed) {
            self.texts.extend(quoted(text).into_iter().map(String::into_bytes));
        }
        let lines: Vec<&[u8]> = lines_of(secret.value.trim_ascii()).map(<[u8]>::trim_ascii).collect();
        if lines.len() > 1 {
            // Quoted as shells do.
            self.texts.push(lines_of(trimmed).collect::<Vec<_>>().join(&b"\\n"[..]));
            self.texts.extend(lines.iter().filter(|line| is_piece(line)).map(|line| line.to_vec()));
            self.blocks.push(Block::new(&lines, secret.replacement()));
        }
    }

    fn add_base64(&mut self, encoded: &str, secret: &Secret) {
        let url_safe = encoded.replace('+', "-").replace('/', "_");
        for encoded in [encoded, &url_safe] {
            self.texts.push(encoded.into());
            self.texts.push(encoded.trim_end_matches('=').into());
        }
        for width in BASE64_WIDTHS.into_iter().filter(|width| encoded.len() > *width) {
            let lines: Vec<&[u8]> = encoded.as_bytes().chunks(width).collect();
            self.texts.extend(lines.iter().filter(|line| is_piece(line)).map(|line| line.to_vec()));
            // A short last line is redacted only after the line before it.
            if let [.., before, last] = lines.as_slice()
                && !is_piece(last)
            {
                for between in ["\n", "\r\n", "\\n", "\\r\\n"] {
                    self.texts.push([*before, between.as_bytes(), *last].concat());
                }
                self.blocks.push(Block::new(&[*before, *last], secret.replacement()));
            }
        }
    }
}

/// Returns the forms of the text in JSON and in URLs that differ from it.
fn quoted(text: &str) -> Vec<String> {
    let plain = in_json(text);
    let html_safe = plain.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    let slashes = plain.replace('/', "\\/");
    let json = [html_safe, slashes, ascii_only(&plain), plain];
    // JSON within a JSON string, as in a structured log line about a request.
    let nested: Vec<String> = json.iter().map(|form| in_json(form)).collect();
    let address = percent_encoded(text);
    let form_field = address.replace("%20", "+");
    json.into_iter().chain(nested).chain([address, form_field]).filter(|form| form != text).collect()
}

/// Returns the text as the content of a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Escapes non-ASCII characters as `\uXXXX`.
fn ascii_only(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_ascii() {
            ascii.push(letter);
        } else {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    ascii
}

fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn is_piece(line: &[u8]) -> bool {
    line.len() >= SHORTEST_PIECE && !line.iter().any(u8::is_ascii_whitespace)
}
