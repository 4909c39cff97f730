//! No text makes a load panic or hang, without access to the system. The targets of fuzz/ test the same without end.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

#[path = "garbage/shut.rs"]
mod shut;

use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use shut::evaluate;

fn tiltfiles() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "docker_build('a', '.', dockerfile_contents='FROM b')\n",
        "docker_build('b', '.', dockerfile_contents='FROM a', live_update=[sync('.', '/')])\n",
        "k8s_yaml(blob('kind: Pod\\napiVersion: v1\\nmetadata: {name: p}\\nspec: {containers: [{image: a}]}'), True)\n",
        "k8s_yaml(blob('- 1\\n- [x'))\n",
        "k8s_resource('p', port_forwards=[1, '2:3'], objects=['x'])\n",
        "local_resource('l', 'x', resource_deps=['l', 'p'])\n",
        "while True:\n\tpass\n",
        "def f(x):\n\treturn f([x])\n",
        "f(1)\n",
        "load('Tiltfile', 'x')\n",
        "x = ",
        "[",
        ")",
        "'",
        "\n",
        "    ",
        "\t",
        "é",
        "x = decode_yaml('a: &a [*a]')\n",
        "print(encode_json({'a': [1, None, 2.5]}), os.environ, dir(config))\n",
        "sync('a', 1)\n",
        "probe()\n",
        "y = range(2000000000)\n",
        "z = 'a' * 1000\n",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Tokens of Tiltfiles in any order.
fn token_soup() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "x",
        "y",
        "f",
        "print",
        "local",
        "local_resource",
        "docker_build",
        "k8s_yaml",
        "k8s_resource",
        "blob",
        "sync",
        "run",
        "config",
        "os",
        "v1alpha1",
        "struct",
        "load_dynamic",
        "decode_yaml",
        "encode_json",
        "None",
        "True",
        "'a'",
        "''",
        "'%s'",
        "0",
        "-1",
        "1.5",
        "99999999999999999999",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        ".",
        "=",
        "==",
        "<",
        "+",
        "-",
        "*",
        "//",
        "%",
        "|",
        " in ",
        " not ",
        " if ",
        " else ",
        " for x in ",
        "lambda x: ",
        "def f(x):",
        "return ",
        "while ",
        "break",
        "continue",
        "pass",
        "load(",
        "**",
        "\n",
        "\n\n",
        "\n    ",
        "\n\t",
        "# c\n",
        "é",
    ]);
    prop::collection::vec(token, 0..50).prop_map(|tokens| tokens.concat())
}

/// The Tiltfiles of the other tests.
static FIXTURES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let texts: Vec<String> =
        paths.iter().filter_map(|path| std::fs::read_to_string(path.join("Tiltfile")).ok()).collect();
    assert!(texts.len() > 100, "only {} fixtures", texts.len());
    texts
});

#[derive(Clone, Debug)]
enum Mutation {
    /// Removes some characters.
    Remove(Index, u8),
    Insert(Index, &'static str),
    /// Repeats a line at another position.
    Repeat(Index, Index),
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let sign = prop::sample::select(vec![
        "(", ")", "[", "]", "{", "}", "'", "\"", ",", ":", "\n", "\t", "\\", "None", "[]", "{}", "-1", "''",
        "**{}", "0", "é", "%",
    ]);
    let mutation = prop_oneof![
        (any::<Index>(), 1..9_u8).prop_map(|(at, count)| Mutation::Remove(at, count)),
        (any::<Index>(), sign).prop_map(|(at, sign)| Mutation::Insert(at, sign)),
        (any::<Index>(), any::<Index>()).prop_map(|(line, at)| Mutation::Repeat(line, at)),
    ];
    prop::collection::vec(mutation, 1..6)
}

fn mutate(text: &str, mutations: &[Mutation]) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for mutation in mutations {
        match mutation {
            Mutation::Remove(at, count) if !letters.is_empty() => {
                let at = at.index(letters.len());
                letters.drain(at..(at + usize::from(*count)).min(letters.len()));
            }
            Mutation::Remove(..) => {}
            Mutation::Insert(at, sign) => {
                let at = at.index(letters.len() + 1);
                letters.splice(at..at, sign.chars());
            }
            Mutation::Repeat(line, at) => {
                let text: String = letters.iter().collect();
                let mut lines: Vec<&str> = text.lines().collect();
                if !lines.is_empty() {
                    let line = lines[line.index(lines.len())];
                    lines.insert(at.index(lines.len() + 1), line);
                }
                letters = lines.join("\n").chars().collect();
            }
        }
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_text_loads_without_panic(text in prop_oneof![4 => tiltfiles(), 1 => any::<String>()]) {
        evaluate(text);
    }

    #[test]
    fn any_token_sequence_loads_without_panic(text in token_soup()) {
        evaluate(text);
    }

    #[test]
    fn mutated_fixtures_load_without_panic(fixture in any::<Index>(), mutations in mutations()) {
        evaluate(mutate(&FIXTURES[fixture.index(FIXTURES.len())], &mutations));
    }
}
