//! Splits a text into documents as Kubernetes tools do: by lines, before YAML is parsed.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::YamlError;
use super::compose::{Document, first_document};
use super::resolve::json_number;

/// Parses all documents that are not empty.
pub(super) fn documents(text: &str, first_line: u32) -> Result<Vec<Document>, YamlError> {
    let mut documents = Vec::new();
    for (line, part) in parts(text) {
        let line = first_line + line;
        let moved = |mut error: YamlError| {
            error.line = error.line.map(|number| number + line);
            error
        };
        check_characters(part).map_err(moved)?;
        let document = first_document(part).map_err(moved)?;
        if let Some(document) = document.filter(|document| !document.value.is_null()) {
            documents.push(Document { line: document.line + line, ..document });
        }
    }
    Ok(documents)
}

/// Parses a sequence of JSON objects without separators, and the rest as YAML.
///
/// None if the text is not JSON.
pub(super) fn json_documents(text: &str) -> Result<Option<Vec<Document>>, YamlError> {
    if !text.trim_start().starts_with('{') {
        return Ok(None);
    }
    let mut documents = Vec::new();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut end = 0;
    let mut line = 0;
    while let Some(Ok(value)) = values.next() {
        let start = end + (text[end..].len() - text[end..].trim_start().len());
        line += line_breaks(&text[end..start]);
        documents.push(Document { line: line + 1, value: with_json_numbers(value) });
        end = values.byte_offset();
        line += line_breaks(&text[start..end]);
    }
    if documents.is_empty() {
        return Ok(None);
    }
    let rest = &text[end..];
    // The rest of the line of the last object is not a part of the next document.
    let skipped = rest.find('\n').filter(|end| rest[..*end].trim().is_empty()).map_or(0, |end| end + 1);
    documents.extend(super::stream::documents(&rest[skipped..], line + line_breaks(&rest[..skipped]))?);
    Ok(Some(documents))
}

fn line_breaks(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}

fn with_json_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) if number.as_i64().is_none() => {
            let float = number.as_f64().and_then(json_number);
            Value::Number(float.unwrap_or(number))
        }
        Value::Array(items) => items.into_iter().map(with_json_numbers).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| (key, with_json_numbers(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other,
    }
}

/// Splits at lines `---`. Returns the parts, each with the number of lines before it.
fn parts(text: &str) -> Vec<(u32, &str)> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut start_line = 0;
    let mut has_content = false;
    let mut has_directive = false;
    let mut position = 0;
    for (number, line) in (0..).zip(text.split_inclusive('\n')) {
        let next = position + line.len();
        let rest = line.strip_prefix("---").map(str::trim_end);
        let is_only_separator =
            rest.is_some_and(|rest| rest.is_empty() || rest.trim_start().starts_with('#'));
        let is_separator = is_only_separator || rest.is_some_and(|rest| rest.starts_with([' ', '\t']));
        // Directives belong to the document after them.
        if is_separator && (has_content || !has_directive) {
            parts.push((start_line, &text[start..position]));
            (start, start_line) = if is_only_separator { (next, number + 1) } else { (position, number) };
            has_content = !is_only_separator;
            has_directive = false;
        } else {
            has_content |= !line.trim().is_empty() && !line.starts_with(['#', '%']);
            has_directive |= line.starts_with('%');
        }
        position = next;
    }
    parts.push((start_line, &text[start..]));
    parts
}

/// Refuses the characters that YAML forbids anywhere.
fn check_characters(text: &str) -> Result<(), YamlError> {
    let bytes = text.as_bytes();
    let is_suspect = |byte: &u8| matches!(byte, 0..=8 | 11 | 12 | 14..=31 | 0x7f | 0xc2 | 0xef);
    if !bytes.iter().any(is_suspect) {
        return Ok(());
    }
    let is_allowed = |character: char| matches!(character, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    let Some((offset, character)) = text.char_indices().find(|(_, character)| !is_allowed(*character)) else {
        return Ok(());
    };
    let before = &text[..offset];
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    Err(YamlError {
        message: format!("the control character {} is not allowed", character.escape_unicode()),
        line: Some(line_breaks(before) + 1),
        column: u32::try_from(column + 1).ok(),
    })
}

/// Returns the text of a file: UTF-8, or UTF-16 if it starts with a byte order mark.
///
/// Invalid bytes are replaced by U+FFFD.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let from_units = |units: Vec<u16>| Cow::Owned(String::from_utf16_lossy(&units));
    match bytes {
        [0xff, 0xfe, rest @ ..] => {
            from_units(rest.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect())
        }
        [0xfe, 0xff, rest @ ..] => {
            from_units(rest.chunks_exact(2).map(|unit| u16::from_be_bytes([unit[0], unit[1]])).collect())
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        _ => String::from_utf8_lossy(bytes),
    }
}
