use proptest::prelude::*;

use super::*;

fn rewrite(text: &str) -> String {
    Source::new("Tiltfile", text.to_owned()).rewritten().to_owned()
}

#[test]
fn what_needs_no_rewriting_stays() {
    for text in [
        "",
        "\n\n",
        "x = 1\n",
        "def f():\n  return 'while'\r\n",
        "s = '''\n\twhile x:\n'''\n",
        "awhile = whiles",
    ] {
        assert_eq!(rewrite(text), text);
    }
}

#[test]
fn while_becomes_an_endless_for() {
    let cases = [
        (
            "while x < 3:\n    x += 1\n",
            "for __while__ in __forever__:\n    if not ( x < 3): break\n    x += 1\n",
        ),
        (
            "def f():\n  while a: b(); c()\n  d()\n",
            "def f():\n  for __while__ in __forever__:\n   if not ( a): break\n   b(); c()\n  d()\n",
        ),
        (
            "while (a and\n  b): # note\n\n  # more\n  c\n",
            "for __while__ in __forever__: # note\n\n  # more\n  if not ( (a and\n  b)): break\n  c\n",
        ),
        (
            "while a:\n  while b:\n    c\n",
            "for __while__ in __forever__:\n  if not ( a): break\n  for __while__ in __forever__:\n    if not ( b): break\n    c\n",
        ),
        (
            "while {1: 2}[1] and (lambda: x)():\n  pass",
            "for __while__ in __forever__:\n  if not ( {1: 2}[1] and (lambda: x)()): break\n  pass",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(rewrite(text), expected, "{text:?}");
    }
}

#[test]
fn a_while_without_condition_or_body_is_left_to_the_parser() {
    assert_eq!(rewrite("while:\n  x\n"), "while:\n  x\n");
    assert_eq!(rewrite("while x\n  y\n"), "while x\n  y\n");
    assert_eq!(rewrite("while x:\n"), "for __while__ in __forever__:\n");
}

#[test]
fn tabs_become_spaces() {
    let cases = [
        ("if x:\n\ty\n", "if x:\n        y\n"),
        ("if x:\n   \ty\n", "if x:\n        y\n"),
        ("if x:\n\t y\n", "if x:\n         y\n"),
        ("x\t=\t1 #\tnote\n", "x = 1 # note\n"),
        ("f(\n\ta,\n\tb)\n", "f(\n a,\n b)\n"),
        ("s = '\t'\n", "s = '\t'\n"),
        ("while x:\n\ty\n", "for __while__ in __forever__:\n        if not ( x): break\n        y\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(rewrite(text), expected, "{text:?}");
    }
}

#[test]
fn assert_is_a_name() {
    assert_eq!(
        rewrite("def assert(x): pass\nassert(1) # assert 'assert'\n"),
        "def assert__(x): pass\nassert__(1) # assert 'assert'\n"
    );
}

#[test]
fn positions_lead_back_to_the_users_text() {
    let text = "x = 0\nwhile x < limit:\n\tboom(x)\n";
    let source = Source::new("Tiltfile", text.to_owned());
    let back = |word: &str| {
        let at = source.rewritten().find(word).unwrap();
        let (start, end) = source.original_range(at, at + word.len());
        assert_eq!(&text[start..end], word);
        source.line_and_column(start)
    };
    assert_eq!(back("limit"), (2, 11));
    assert_eq!(back("boom"), (3, 2));
}

#[test]
fn columns_count_characters() {
    let source = Source::new("Tiltfile", "é = bad\n".to_owned());
    assert_eq!(source.line_and_column("é = ".len()), (1, 5));
}

#[test]
fn knows_which_names_occur() {
    let source = Source::new("Tiltfile", "load('./x', 'local')\nlen = 'other text'\n".to_owned());
    assert!(source.mentions("local") && source.mentions("len"));
    assert!(!source.mentions("other") && !source.mentions("docker_build"));
}

/// Pieces that matter to the front end, in any order.
fn snippets() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "while ", "while", " x", ":", "\n", "\n\t", "\n  ", "\t", " ", "(", ")", "[", "]", "{", "}", "'",
        "\"", "'''", "\\", "# c", "assert", "lambda", "def f()", "\r\n", "é", "0x1", "r'", "pass", ";",
        "\u{0}",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn tokens_are_the_whole_text(text in prop_oneof![snippets(), any::<String>()]) {
        let mut at = 0;
        for token in token::tokens(&text) {
            prop_assert_eq!(token.start, at);
            at = token.end;
        }
        prop_assert_eq!(at, text.len());
    }

    #[test]
    fn every_position_leads_back_into_the_text(text in prop_oneof![snippets(), any::<String>()]) {
        let source = Source::new("Tiltfile", text.clone());
        let length = source.rewritten().len();
        for start in 0..=length {
            let (first, last) = source.original_range(start, length);
            prop_assert!(first <= last && last <= text.len());
            source.line_and_column(first);
        }
    }

    /// What the user wrote is still there, in order: rewriting only adds, and replaces tabs, `while` and `assert`.
    #[test]
    fn copied_text_is_the_users(text in snippets()) {
        let source = Source::new("Tiltfile", text.clone());
        for (index, segment) in source.segments.iter().enumerate() {
            if !segment.copied { continue }
            let end = source.segments.get(index + 1).map_or(source.rewritten().len(), |next| next.at);
            let spaced = |text: &str| text.replace('\t', " ");
            prop_assert_eq!(spaced(&source.rewritten()[segment.at..end]), spaced(&text[segment.original.clone()]));
        }
    }
}
