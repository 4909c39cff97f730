use proptest::prelude::*;

use super::*;

fn rewrite(text: &str) -> String {
    Source::new("Tiltfile", text.to_owned()).rewritten().to_owned()
}

#[test]
fn text_without_replacements_is_unchanged() {
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
            "for __while__ in __forever__:\n  if not ( __index__({1: 2}, (1)) and (lambda: x)()): break\n  pass",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(rewrite(text), expected, "{text:?}");
    }
}

#[test]
fn while_without_condition_or_body_is_left_to_the_parser() {
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
fn assert_is_renamed() {
    assert_eq!(
        rewrite("def assert(x): pass\nassert(1) # assert 'assert'\n"),
        "def assert__(x): pass\nassert__(1) # assert 'assert'\n"
    );
}

#[test]
fn assert_is_renamed_in_load_statements() {
    assert_eq!(
        rewrite("load('a', 'assert', x='assert', assert='y')\nprint('assert')\n"),
        "load('a', 'assert__', x='assert__', assert__='y')\nprint('assert')\n"
    );
}

#[test]
fn methods_become_calls_of_builtins() {
    let cases = [
        ("'{}'.format(1)\n", "__method_of_text(\"format\", '{}', 1)\n"),
        (
            "a.b['c'](1).split().format ( x )\n",
            "__method_of_text(\"format\", __method_of_text(\"split\", a.b['c'](1), ) ,  x )\n",
        ),
        ("x = (a\n  .elems())\n", "x = (__method_of_text(\"elems\", a\n  , ))\n"),
        ("return (a + b).update(c)\n", "return __method_update((a + b), c)\n"),
        ("not {}.update(c)\n", "not __method_update({}, c)\n"),
        (
            "f(a.upper(), b=c.find(','))\n",
            "f(__method_of_text(\"upper\", a, ), b=__method_of_text(\"find\", c, ','))\n",
        ),
        ("x.pop()\nx.pop(0)\n", "__method_pop(x, )\nx.pop(0)\n"),
        ("x.format\nx.format = 1\n.format()\nformat(1)\n", "x.format\nx.format = 1\n.format()\nformat(1)\n"),
        (
            "while x.split(): pass\n",
            "for __while__ in __forever__:\n if not ( __method_of_text(\"split\", x, )): break\n pass\n",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(rewrite(text), expected, "{text:?}");
    }
}

#[test]
fn index_reads_become_calls_of_builtins() {
    let cases = [
        ("x = y[0]\n", "x = __index__(y, (0))\n"),
        ("f(a.b[i + 1][j], c['key'])\n", "f(__index__(__index__(a.b, (i + 1)), (j)), c['key'])\n"),
        ("y[1:]; y[:n]; y[:]\n", "__slice__(y, 1, None); __slice__(y, None, n); __slice__(y, None, None)\n"),
        ("y[a:b:-1]\ny[::2]\n", "__slice__(y, a, b, -1)\n__slice__(y, None, None, 2)\n"),
        ("'abc'[0].upper()[1]\n", "__index__(__method_of_text(\"upper\", __index__('abc', (0)), ), (1))\n"),
        (
            "y[lambda: 1]\ny[f(a[0]):]\n",
            "__index__(y, (lambda: 1))\n__slice__(y, f(__index__(a, (0))), None)\n",
        ),
        // A target is not read.
        ("x[0] = y[1]\n", "x[0] = __index__(y, (1))\n"),
        ("x[0], y.z[1] = z\n", "x[0], y.z[1] = z\n"),
        ("if x[0] == 1: y[0] = x[1]\n", "if __index__(x, (0)) == 1: y[0] = __index__(x, (1))\n"),
        ("for x[0] in y[1]: pass\n", "for x[0] in __index__(y, (1)): pass\n"),
        ("return [1]\nx = [a, [b]]\ny[]\n[0]\n", "return [1]\nx = [a, [b]]\ny[]\n[0]\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(rewrite(text), expected, "{text:?}");
    }
}

#[test]
fn assignments_with_an_operator_are_expanded() {
    let cases = [
        ("x *= 2\n", "x = x * ( 2)\n"),
        ("x %= 1, 2 # why\n", "x = x % ( 1, 2) # why\n"),
        ("x[i].y <<= n; z = 1\n", "x[i].y = x[i].y << ( n); z = 1\n"),
        ("if a: x *= f(\n  b)", "if a: x = x * ( f(\n  b))"),
        ("x += y\n", "x += __addend__(x, ( y))\n"),
        ("x += 1\nx += 'a' # more\n", "x += 1\nx += 'a' # more\n"),
        ("f()[0] *= 2\nx -= y\nx == y\nx <= y\nx >= y\n", "f()[0] *= 2\nx -= y\nx == y\nx <= y\nx >= y\n"),
        ("f(a *= b)\nx *=\n", "f(a *= b)\nx *=\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(rewrite(text), expected, "{text:?}");
    }
}

#[test]
fn call_stars_accept_any_sequence_and_mapping() {
    let cases = [
        ("f(*a, **b)\n", "f(*__sequence__(a), **__mapping__(b))\n"),
        ("f(1, **dict(a=1), )\n", "f(1, **__mapping__(dict(a=1)), )\n"),
        ("f(**a.update())\n", "f(**__mapping__(__method_update(a, )))\n"),
        ("def f(*a, **b): pass\n", "def f(*a, **b): pass\n"),
        ("def f(a=g(*b), *c): pass\n", "def f(a=g(*__sequence__(b)), *c): pass\n"),
        ("f(lambda x, *a, **b: x, *c)\n", "f(lambda x, *a, **b: x, *__sequence__(c))\n"),
        ("x = a * b\ny = (a * b, *c)\n", "x = a * b\ny = (a * b, *c)\n"),
        ("f(*)\nf(**\n", "f(*)\nf(**\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(rewrite(text), expected, "{text:?}");
    }
}

#[test]
fn too_deep_nesting_is_found_before_parsing() {
    let problem =
        |text: String| Source::new("Tiltfile", text).problem().map(|problem| problem.message.clone());
    let deep = Some("nested too deep".to_owned());
    for piece in ["(", "not ", "-", "x.y", "f()", "1 if x else ", "lambda: ", "if x:\n", "elif x: pass\n"] {
        assert_eq!(
            problem(piece.repeat(2000)),
            if piece == "if x:\n" { None } else { deep.clone() },
            "{piece}"
        );
    }
    let long = (0..5000).map(|number| format!("'a{number}': f({number}) + x.y,\n")).collect::<String>();
    assert_eq!(problem(format!("x = {{{long}}}\n")), None);
    assert_eq!(problem("x = a + b\n".repeat(5000)), None);
}

#[test]
fn positions_map_to_the_users_text() {
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
fn mentioned_names_are_those_of_identifiers_and_strings() {
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
    fn tokens_cover_the_whole_text(text in prop_oneof![snippets(), any::<String>()]) {
        let mut at = 0;
        for token in token::tokens(&text) {
            prop_assert_eq!(token.start, at);
            at = token.end;
        }
        prop_assert_eq!(at, text.len());
    }

    #[test]
    fn every_position_maps_into_the_text(text in prop_oneof![snippets(), any::<String>()]) {
        let source = Source::new("Tiltfile", text.clone());
        let length = source.rewritten().len();
        for start in 0..=length {
            let (first, last) = source.original_range(start, length);
            prop_assert!(first <= last && last <= text.len());
            source.line_and_column(first);
        }
    }

    /// The user's text is kept in order: rewriting only inserts, and replaces tabs, `while` and `assert`.
    #[test]
    fn copied_segments_equal_the_users_text(text in snippets()) {
        let source = Source::new("Tiltfile", text.clone());
        for (index, segment) in source.segments.iter().enumerate() {
            if !segment.copied { continue }
            let end = source.segments.get(index + 1).map_or(source.rewritten().len(), |next| next.at);
            let spaced = |text: &str| text.replace('\t', " ");
            prop_assert_eq!(spaced(&source.rewritten()[segment.at..end]), spaced(&text[segment.original.clone()]));
        }
    }
}
