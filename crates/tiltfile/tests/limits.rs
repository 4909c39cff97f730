//! No Tiltfile crashes lilt or makes it hang: exceeding a limit is an error, and a cancelled load ends.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use lilt_model::{Class, Failure};
use lilt_tiltfile::{LoadRequest, load};
use support::TestSystem;

fn failure_of(text: &str, cancelled: &(dyn Fn() -> bool + Sync)) -> Failure {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("Tiltfile");
    fs::write(&path, text).unwrap();
    let request = LoadRequest { path, subcommand: "up".into(), ..LoadRequest::default() };
    load(&request, &TestSystem::default(), cancelled, &mut |_| {}).project.unwrap_err()
}

#[test]
fn too_deeply_nested_code_is_an_error() {
    let cases = [
        format!("x = {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("x = {}1", "1 + ".repeat(100_000)),
        format!("x = {}1", "not ".repeat(100_000)),
        format!("x = {}1", "1 if 0 else ".repeat(100_000)),
        format!("x = {}1", "lambda: ".repeat(100_000)),
        format!("x = y{}", ".replace('a', 'b')".repeat(100_000)),
        format!("if 0: pass\n{}", "elif 0: pass\n".repeat(100_000)),
        (0..500).map(|depth| format!("{}if 1:\n", " ".repeat(depth))).collect(),
    ];
    for text in cases {
        let failure = failure_of(&text, &|| false);
        assert_eq!(failure.message, "nested too deep", "{}", &text[..40]);
        assert_eq!(failure.class(), Class::User);
        assert!(failure.location.is_some());
    }
}

#[test]
fn too_deeply_nested_values_are_an_error() {
    let grow = "for _ in range(20000): x = ";
    let too_deep = "comparison exceeded maximum recursion depth";
    for (text, message) in [
        (format!("x = []\n{grow}[x]\nprint(x)\n"), "the value of x is nested too deep"),
        (format!("x = {{}}\n{grow}{{1: x}}\nstr(x)\n"), "the value of x is nested too deep"),
        (format!("x = ()\n{grow}(x,)\n"), "the value of x is nested too deep"),
        (format!("x = struct()\n{grow}struct(a=x)\nx == struct(a=x)\n"), too_deep),
        (format!("x = []\n{grow}[x]\nx == [x]\n"), too_deep),
        (format!("x = {{}}\n{grow}{{1: x}}\nx != {{1: x}}\n"), too_deep),
        (format!("x = []\n{grow}[x]\nencode_json(x)\n"), "encode_json: the value is nested too deep"),
        (
            format!("x = {{}}\n{grow}{{'a': x}}\nencode_yaml(x)\n"),
            "encode_yaml: the value is nested too deep",
        ),
    ] {
        assert_eq!(failure_of(&text, &|| false).message, message, "{text}");
    }
}

#[test]
fn excessive_memory_is_an_error() {
    let too_much = "the Tiltfile needs too much memory";
    for (text, message) in [
        ("x = [0] * 2000000000\n", "excessive repeat (1 * 2000000000 elements)"),
        ("x = 2000000000 * 'ab'\n", "excessive repeat (2 * 2000000000 elements)"),
        ("x = 'a' * 10000000000\n", "repeat count 10000000000 too large"),
        ("x = [1]\nx *= 2000000000\n", "excessive repeat (1 * 2000000000 elements)"),
        ("x = {'a': (1, 2)}\nx['a'] *= 2000000000\n", "excessive repeat (2 * 2000000000 elements)"),
        ("x = 'a'\nfor _ in range(100): x += x\n", too_much),
        ("x = 'a'\nfor _ in range(100): x = x + x\n", too_much),
        ("x = ('a' * 1000) * 1000\nx.replace('', x)\n", too_much),
        ("x = ('a' * 1000) * 1000\nx.join([x] * 1000)\n", too_much),
        ("x = ('a' * 1000) * 1000\n('%s' * 1000) % tuple([x] * 1000)\n", too_much),
        ("x = ('a' * 1000) * 1000\n('{0}' * 1000).format(x)\n", too_much),
    ] {
        let failure = failure_of(text, &|| false);
        assert_eq!(failure.message, message, "{text}");
        assert_eq!(failure.class(), Class::User);
    }
}

#[test]
fn excessive_numbers_are_an_error() {
    for (text, message) in [
        ("1 << 1000000000\n", "shift count too large: 1000000000"),
        ("x = 10\nwhile True: x *= x\n", "the product is too large a number"),
        ("x = 10\nwhile True: x = x * x\n", "the product is too large a number"),
    ] {
        assert_eq!(failure_of(text, &|| false).message, message, "{text}");
    }
}

#[test]
fn shared_values_are_not_written_without_limit() {
    let grow = "x = 'a' * 1000\nfor _ in range(60): x = [x, x]\n";
    let printed = failure_of(&format!("{grow}print(x)\n"), &|| false);
    assert_eq!(printed.message, "the Tiltfile needs too much memory");
    let wrong = failure_of(&format!("{grow}docker_build(x, '.')\n"), &|| false);
    let compared =
        failure_of(&format!("{grow}y = list(x)\nfor _ in range(60): y = [y, y]\nx == y\n"), &|| false);
    assert_eq!(compared.message, "comparison exceeded maximum recursion depth");
    assert_eq!(wrong.class(), Class::User);
}

#[test]
fn every_loop_ends_when_the_load_is_cancelled() {
    for text in [
        "while True: pass\n",
        "def f():\n  while 1 < 2:\n    x = 'a' * 10\nf()\n",
        "x = [y for _ in range(2000000000) for y in range(2000000000)]\n",
        "x = {y: 1 for y in range(2000000000)}\n",
        "def f(x): return 1 if x == 0 else f(x - 1) + f(x - 1)\nf(1000)\n",
        "for _ in range(2000000000): '{} %s'.format(1) % 2\n",
        "def f(x):\n  while True: pass\nsorted([1, 2], key=f)\n",
        "x = []\nwhile True: x = [x]\n",
        "max(range(1000000000000000))\n",
        "all(range(1, 1000000000000000))\n",
        "list(range(1000000000000000))\n",
        "tuple(range(1000000000000000))\n",
        "set(range(1000000000000000))\n",
        "sorted(range(1000000000000000))\n",
        "reversed(range(1000000000000000))\n",
        "enumerate(range(1000000000000000))\n",
        "zip(range(1000000000000000), range(1000000000000000))\n",
        "x = []\nx.extend(range(1000000000000000))\n",
        "x = []\nx += range(1000000000000000)\n",
        "x = set()\nx.update(range(1000000000000000))\n",
        "def f(*numbers): pass\nf(*range(1000000000000000))\n",
    ] {
        // Checked a few times before it is cancelled: the code must already be running.
        let looks = AtomicUsize::new(0);
        let failure = failure_of(text, &|| looks.fetch_add(1, Ordering::Relaxed) > 3);
        assert!(failure.message.contains("cancelled"), "{text}: {failure}");
    }
}
