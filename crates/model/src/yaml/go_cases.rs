//! Cases that YAML parsers read differently, with the results of `sigs.k8s.io/yaml`, which is the reference.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{decode, document, documents, objects};

fn assert_reads(cases: &[(&str, Value)]) {
    for (text, expected) in cases {
        assert_eq!(document(text).as_ref(), Ok(expected), "{text}");
    }
}

#[test]
fn comments_of_any_length_stand_between_key_and_child() {
    let text = format!("a:\n{}  b: 1\n", "# comment\n".repeat(100));
    assert_eq!(document(&text), Ok(json!({"a": {"b": 1}})));
}

#[test]
fn quoted_scalars_continue_at_any_indentation() {
    assert_reads(&[
        ("a:\n  d: 'first\n  second'\n", json!({"a": {"d": "first second"}})),
        ("a:\n  d: \"first\nsecond\n\n  third\"\n", json!({"a": {"d": "first second\nthird"}})),
        ("d: \"one \\\n  two\"", json!({"d": "one two"})),
        ("d: 'it''s'", json!({"d": "it's"})),
    ]);
}

#[test]
fn excessive_aliases_are_refused() {
    let text = format!("base: &x {{a: 1, b: [1, 2]}}\nall:\n{}", "- *x\n".repeat(1000));
    let read = document(&text).expect("YAML");
    assert_eq!(read["all"].as_array().map(Vec::len), Some(1000));
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    let error = document(&bomb).unwrap_err();
    assert_eq!((error.message.as_str(), error.line), ("document contains excessive aliasing", Some(4)));
    let long = format!("a: &a {}\nb:\n{}", "x".repeat(1 << 20), "- *a\n".repeat(1000));
    assert!(document(&long).is_err());
    assert!(document("a: &a [*a]").unwrap_err().message.contains("contains itself"));
    assert!(document("a: *b").unwrap_err().message.contains("unknown anchor"));
}

#[test]
fn numbers_are_parsed_as_in_go() {
    assert_reads(&[
        ("a: 2.0\nb: 1e3\nc: -0.0\nd: 1.5", json!({"a": 2, "b": 1000, "c": 0, "d": 1.5})),
        ("a: 0x1F\nb: 0o17\nc: 0b11\nd: 1_000\ne: 08", json!({"a": 31, "b": 15, "c": 3, "d": 1000, "e": 8})),
        ("a: 123456789012345678901234567890", json!({"a": 1.234_567_890_123_456_8e29})),
        ("a: -9223372036854775808", json!({"a": i64::MIN})),
        (
            "a: 1e999\nb: 12e\nc: 0x\nd: 1:30\ne: +",
            json!({"a": "1e999", "b": "12e", "c": "0x", "d": "1:30", "e": "+"}),
        ),
        ("a: 2001-01-01\nb: 12ab", json!({"a": "2001-01-01", "b": "12ab"})),
    ]);
    assert!(document("a: .inf").is_err());
}

#[test]
fn keys_of_other_types_become_text() {
    assert_reads(&[
        ("on: 1\n010: 2\n1.50: 3\nno: 4", json!({"true": 1, "8": 2, "1.5": 3, "false": 4})),
        ("&k key: 1\nother: *k", json!({"key": 1, "other": "key"})),
        ("? long\n: value", json!({"long": "value"})),
    ]);
    assert!(document("null: 1").is_err());
    assert!(document("[a]: 1").is_err());
}

#[test]
fn later_merge_wins_over_earlier_key() {
    assert_reads(&[
        ("b: &b {x: 1}\nc: {x: 2, <<: *b}", json!({"b": {"x": 1}, "c": {"x": 1}})),
        (
            "a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc: {<<: [*a, *b]}",
            json!({"a": {"x": 1}, "b": {"x": 2, "z": 3}, "c": {"x": 1, "z": 3}}),
        ),
        ("'<<': 1", json!({"<<": 1})),
    ]);
    assert!(document("a: {<<: 1}").is_err());
}

#[test]
fn unknown_tags_are_ignored() {
    assert_reads(&[
        ("a: !Foo bar\nb: !Ref {c: 1}\nd: !Sub [1]", json!({"a": "bar", "b": {"c": 1}, "d": [1]})),
        ("a: !Foo 12", json!({"a": "12"})),
        ("a: !!str 12\nb: !!int \"3\"\nc: !!float 2", json!({"a": "12", "b": 3, "c": 2})),
        ("a: !!binary aGVsbG8=", json!({"a": "hello"})),
        ("%TAG !e! tag:example.com,2000:\n---\na: !e!x 1", json!({"a": "1"})),
    ]);
    assert!(document("a: !!int x").is_err());
    assert!(document("a: !!binary '*'").is_err());
    assert!(document("a: !e!x 1").is_err());
}

#[test]
fn text_after_a_document_is_ignored() {
    assert_eq!(documents("{a: 1}\ntext\n---\nb: 2\n"), Ok(vec![json!({"a": 1}), json!({"b": 2})]));
    assert_eq!(documents("a: 1\n...\nb: 2\n"), Ok(vec![json!({"a": 1})]));
}

#[test]
fn json_objects_need_no_separator() {
    let text = "{\"kind\": \"A\", \"n\": 2.0}\n{\"kind\": \"B\"}\n---\nkind: C\n";
    let expected =
        vec![(1, json!({"kind": "A", "n": 2})), (2, json!({"kind": "B"})), (4, json!({"kind": "C"}))];
    assert_eq!(objects(text), Ok(expected));
}

#[test]
fn byte_order_marks_decide_the_encoding() {
    let text = "a: é\n";
    let units: Vec<u16> = text.encode_utf16().collect();
    let little: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(units.iter().flat_map(|unit| unit.to_le_bytes())).collect();
    let big: Vec<u8> =
        [0xfe, 0xff].into_iter().chain(units.iter().flat_map(|unit| unit.to_be_bytes())).collect();
    for bytes in [little, big, [b"\xef\xbb\xbf", text.as_bytes()].concat(), text.into()] {
        assert_eq!(decode(&bytes), text);
    }
    assert_eq!(document("\u{feff}a: 1\n"), Ok(json!({"a": 1})));
}

#[test]
fn block_scalars_keep_and_drop_line_ends() {
    assert_reads(&[
        ("a: |\n  x\n  y\n\nb: |-\n  z\n\nc: |+\n  w\n\n", json!({"a": "x\ny\n", "b": "z", "c": "w\n\n"})),
        ("a: >\n  x\n  y\n\n  z\n   i\n  j", json!({"a": "x y\nz\n i\nj\n"})),
        ("a: |2\n    x\n", json!({"a": "  x\n"})),
        ("a: |\r\n  x\r\n  y\r\nb: 1\r\n", json!({"a": "x\ny\n", "b": 1})),
        ("a: |\nb: 1", json!({"a": "", "b": 1})),
        ("- |+\n   ", json!(["\n"])),
        ("- |+\n x", json!(["x\n"])),
        ("- |+", json!([""])),
    ]);
}

#[test]
fn errors_name_line_and_column() {
    let cases = [
        ("a: 1\n b: 2\n", 2, 3, "mapping values are not allowed"),
        ("a: 1\n---\nb: [1, 2\nc: 3\n", 4, 2, "did not find expected ',' or ']'"),
        ("a:\n\t- b\n", 2, 1, "tab"),
        ("a: b: c", 1, 5, "mapping values are not allowed"),
        ("x: 1\nä: \"\\q\"", 2, 5, "unknown escape"),
        ("a: \u{7}", 1, 4, "control character"),
        ("a: 'x", 1, 4, "no end"),
    ];
    for (text, line, column, words) in cases {
        let error = document(text).unwrap_err();
        assert_eq!((error.line, error.column), (Some(line), Some(column)), "{text:?}: {error:?}");
        assert!(error.message.contains(words), "{text:?}: {error:?}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "measures real time")]
fn time_is_linear_in_the_length() {
    let texts = [
        "---x\n".repeat(200_000),
        "{\"a\": 1}\n".repeat(200_000),
        "[".repeat(200) + &"a, ".repeat(300_000),
        "? a\n: b\n".repeat(200_000),
        format!("a: '{}'", "x\n\n".repeat(300_000)),
    ];
    let begin = Instant::now();
    for text in &texts {
        let _ = objects(text);
    }
    // A quadratic reader takes minutes.
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[test]
fn texts_that_end_in_a_flow_collection_are_refused() {
    for text in ["[", "- [a", "- [a, ", "{a: [b", "a: {b", "- &x [a", "? [a", "- {a: 'b'"] {
        assert!(document(text).is_err(), "{text}");
    }
}

#[test]
fn deep_texts_are_refused() {
    assert!(document(&"[".repeat(100_000)).is_err());
    assert!(document(&"- ".repeat(100_000)).is_err());
    assert!(document(&format!("{}1{}", "[".repeat(250), "]".repeat(250))).is_ok());
}
