//! Entry points for fuzzing: each function panics if an invariant is broken.

use crate::source::Source;
use lilt_model::yaml;

/// Checks that the front end accepts any text, and that every rewritten position maps into the text.
pub fn front_end(text: &str) {
    let source = Source::new("Tiltfile", text.to_owned());
    let length = source.rewritten().len();
    for start in 0..=length {
        let (first, last) = source.original_range(start, length);
        assert!(first <= last && last <= text.len(), "{start} leads to {first}..{last}");
        let (line, column) = source.line_and_column(first);
        assert!(line >= 1 && column >= 1);
    }
}

/// Checks that YAML is parsed or refused with a position inside of it, and that parsed values can be encoded and parsed.
pub fn yaml(text: &str) {
    // At most: YAML lets a carriage return end a line, too.
    let lines = u32::try_from(text.split(['\n', '\r']).count()).unwrap_or(u32::MAX);
    let documents = match yaml::documents(text) {
        Ok(documents) => documents,
        Err(error) => {
            assert!(!error.message.is_empty());
            assert!(error.line.is_none_or(|line| line <= lines), "{error:?} of {lines} lines");
            return;
        }
    };
    let objects = yaml::objects(text).expect("invariant: it was read a moment ago");
    assert!(objects.iter().all(|(line, _)| (1..=lines).contains(line)), "{objects:?} of {lines} lines");
    for document in documents {
        let Ok(written) = yaml::encode(&document) else { continue };
        let again = yaml::document(&written);
        assert_eq!(again.as_ref(), Ok(&yaml::sorted(&document)), "written as {written}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Pieces of Starlark, put together without regard to its rules.
    fn starlark() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "while ",
            "for x in ",
            "if ",
            "else:",
            "def f(",
            "lambda ",
            "return ",
            "load(",
            "assert",
            "not ",
            "and ",
            "x",
            "y.pop",
            ".format",
            ".update",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            ":",
            ",",
            "=",
            "==",
            "<",
            "<=",
            "%",
            "*",
            "**",
            "+=",
            "//",
            ";",
            "\n",
            "\n\t",
            "\n    ",
            "\r\n",
            "\t",
            " ",
            "\\",
            "'",
            "\"",
            "'''",
            "\"\"\"",
            "r'",
            "b'",
            "# c",
            "0o7",
            "0x",
            "1.5e",
            "é",
            "\u{feff}",
            "\u{0}",
            "😀",
        ]);
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            any::<String>(),
            prop::sample::select(vec![
                "",
                "yes",
                "No",
                "~",
                "null",
                "0755",
                "1e3",
                ".5",
                "-",
                "- a",
                "a: b",
                "#",
                "'",
                "\"",
                "|",
                ">",
                "&a",
                "*a",
                "!x",
                "%",
                "@",
                "`",
                "[",
                "{",
                "?",
                "---",
                "...",
                " x ",
                "x\n",
                "\n\nx",
                "x\n\n",
                "\tx",
                "2001-01-01",
                "0x1f",
                "0o7",
                "1_000",
                ".inf",
                "-.INF",
                ".nan",
                "<<",
                "=",
                "\u{85}",
                "\u{feff}",
                "é: 1",
            ])
            .prop_map(str::to_owned),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(|number: f64| json!(number)),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 48, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((text.clone(), inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// Pieces of YAML in any order.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a: ",
            "b: ",
            "- ",
            "? ",
            ": ",
            "|\n",
            ">-\n",
            "&x ",
            "*x",
            "<<: ",
            "!!str ",
            "!t ",
            "[",
            "]",
            "{",
            "}",
            ", ",
            "'",
            "\"",
            "\n",
            "\n  ",
            "\n    ",
            "\n---\n",
            "\n...\n",
            "%YAML 1.2\n",
            "# c",
            "1",
            "0755",
            "yes",
            "~",
            ".nan",
            "\t",
            "\r\n",
            "é",
            "kind: List\nitems: ",
            "\u{feff}",
        ]);
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn front_end_accepts_any_text(text in prop_oneof![4 => starlark(), 1 => any::<String>()]) {
            front_end(&text);
        }

        #[test]
        fn encoded_yaml_of_any_structure_is_parsed_back(value in values()) {
            let written = yaml::encode(&value).expect("JSON can be YAML");
            prop_assert_eq!(yaml::document(&written), Ok(yaml::sorted(&value)), "{}", written);
        }

        #[test]
        fn any_yaml_is_parsed_or_refused(text in prop_oneof![4 => pieces(), 1 => any::<String>()]) {
            super::yaml(&text);
        }
    }
}
