//! Translates errors of the interpreter to those of Tilt, or to similar ones where Tilt's need unavailable details.
//!
//! The interpreter's errors are texts; one that is not recognized is passed on unchanged.

use lilt_model::Failure;

use super::{SourceSpan, cancelled, too_much_memory};
use crate::registry;
use crate::source::defined_name;
use lilt_model::nearest::nearest;

/// `call` is the builtin that was called at the place, if it was one.
pub(super) fn translate(
    kind: &starlark::ErrorKind,
    message: &str,
    call: Option<&str>,
    span: Option<&SourceSpan>,
) -> Failure {
    use starlark::ErrorKind::*;
    let message = message.strip_prefix("error: ").unwrap_or(message).trim_end();
    match kind {
        Fail(_) => Failure::user(message.strip_prefix("fail: ").unwrap_or(message)),
        StackOverflow(_) => {
            Failure::user("too many nested calls").hint("does a function call itself without end?")
        }
        Internal(_) => Failure::internal(message),
        Scope(_) => unknown_name(message),
        Function(_) => arguments(message, call),
        Parser(_) if message.starts_with("Cannot parse") => number(message),
        Parser(_) => broken_syntax(message.strip_prefix("Parse error: ").unwrap_or(message)),
        _ => value(message, call, span),
    }
}

/// Returns the texts between backticks, in order.
fn quoted(message: &str) -> impl Iterator<Item = &str> {
    message.split('`').skip(1).step_by(2)
}

/// Prefixes a message with the name of the builtin.
fn by(call: Option<&str>, message: impl std::fmt::Display) -> Failure {
    Failure::user(match call {
        Some(call) => format!("{call}: {message}"),
        None => message.to_string(),
    })
}

fn value(message: &str, call: Option<&str>, span: Option<&SourceSpan>) -> Failure {
    let mut names = quoted(message);
    let (first, second, third) = (
        names.next().unwrap_or_default(),
        names.next().unwrap_or_default(),
        names.next().unwrap_or_default(),
    );
    let begins = |start: &str| message.starts_with(start);
    if begins("Operation") && message.contains("not supported for types") {
        return binary(first, second, third, call, span);
    }
    if begins("Operation") && message.contains("not supported on type") {
        // A call with constant arguments is evaluated at compile time, without a call stack.
        let call = call.or(span.filter(|span| span.text().starts_with("len(")).map(|_| "len"));
        return unary(first, second, call);
    }
    if begins("Object of type") {
        let failure = Failure::user(format!("{first} has no .{second} field or method"));
        return if third.is_empty() { failure } else { failure.hint(format!("did you mean .{third}?")) };
    }
    if begins("Expected `int`, but got `") {
        return Failure::user(format!(
            "index: got {}, want int",
            second.split(' ').next().unwrap_or_default()
        ));
    }
    if message.ends_with("is not a valid type annotation") {
        return Failure::user("unknown binary op: | is for numbers, dicts and sets");
    }
    if begins("Type of parameter") {
        return wrong_type(message, call);
    }
    if begins("Index `") {
        let step = span.is_some_and(|span| span.text().replace(' ', "").ends_with(":0]"));
        let problem = match step {
            true => "zero is not a valid slice step".to_owned(),
            // A negative index may have been resolved already.
            false if first.starts_with('-') && call.is_none() => "index out of range".to_owned(),
            false => format!("index {first} out of range"),
        };
        return by(call, problem);
    }
    if begins("Key `") && message.contains("not found in dictionary") {
        return by(call, "missing key");
    }
    if begins("Key `") {
        return Failure::user(format!("key {first} not in dict"));
    }
    if begins("Unpacked ") {
        return unpacked(message);
    }
    if begins("Value of type") {
        return by(call.filter(|call| *call == "set"), format!("unhashable type: {first}"));
    }
    if begins("Local variable") {
        let global = span.is_some_and(|span| {
            span.source.is_on_unindented_line(span.start) || span.source.binds_at_top_only(first)
        });
        let kind = if global { "global" } else { "local" };
        return Failure::user(format!("{kind} variable {first} referenced before assignment"));
    }
    if message.to_lowercase().contains("by zero") {
        return by_zero(message, span);
    }
    short(message, first, second, call)
}

fn by_zero(message: &str, span: Option<&SourceSpan>) -> Failure {
    let has = |operator: &str| span.is_some_and(|span| span.text().contains(operator));
    Failure::user(match message {
        _ if message.starts_with("Floor") || has("//") => "floored division by zero",
        _ if message.starts_with("Modulo") => "integer modulo by zero",
        _ if has("%") => "floating-point modulo by zero",
        _ => "floating-point division by zero",
    })
}

/// Translates messages that are recognized by a part of them.
fn short(message: &str, first: &str, second: &str, call: Option<&str>) -> Failure {
    let begins = |start: &str| message.starts_with(start);
    match message {
        _ if message.to_lowercase().contains("cancelled") => cancelled(),
        "Immutable" => Failure::user("this value cannot be changed")
            .hint("strings and tuples never change, and values of a loaded file are read only"),
        _ if begins("This operation mutates") => {
            by(call, "a list or dict cannot be changed while it is iterated")
                .hint("iterate over a copy: list(…)")
        }
        _ if begins("Cannot import private symbol") || begins("Module symbol") => {
            Failure::user(format!("{first} is private to its file: names that begin with _ cannot be loaded"))
        }
        _ if begins("Module has no symbol") => {
            let failure = Failure::user(format!("the loaded file has no {first}"));
            if second.is_empty() { failure } else { failure.hint(format!("did you mean {second}?")) }
        }
        _ if begins("Dictionary key repeated") => Failure::user(format!("duplicate key: {first}")),
        _ if begins("Cannot .popitem()") => Failure::user("popitem: empty dict"),
        _ if begins("Negative left shift") || begins("Negative right shift") => {
            Failure::user("negative shift count")
        }
        _ if message.contains("is not a valid base") => {
            Failure::user("int: base must be an integer >= 2 && <= 36")
        }
        _ if begins("int() cannot convert non-string") => {
            Failure::user("int: can't convert non-string with explicit base")
        }
        _ if message.ends_with("cannot be represented as exact integer") => {
            let what = if first.eq_ignore_ascii_case("nan") { "NaN" } else { "infinity" };
            Failure::user(format!("int: cannot convert float {what} to integer"))
        }
        _ if message.ends_with("is not a valid number: invalid float literal") => {
            let text = message.split('"').nth(1).unwrap_or_default();
            Failure::user(format!("invalid float literal: {text}"))
        }
        _ if begins("Element ") && call == Some("index") => Failure::user("index: value not in list"),
        _ if begins("Element ") => by(call, "element not found"),
        _ if begins("Substring ") => by(call, "substring not found"),
        _ if message.ends_with("expect a non empty iterable") => by(call, "argument is an empty sequence"),
        _ if message.contains("` not found in `set(") => by(call, "missing key"),
        _ if begins("Empty separator") => by(call, "empty separator"),
        "Too many recursion levels" => Failure::user("the value is nested too deep"),
        _ if message.to_lowercase().contains("memory limit") || message.to_lowercase().contains("heap") => {
            too_much_memory()
        }
        _ => Failure::user(message),
    }
}

fn binary(
    operation: &str,
    left: &str,
    right: &str,
    call: Option<&str>,
    span: Option<&SourceSpan>,
) -> Failure {
    match operation {
        "compare" | "cmp()" | "<>" => match call {
            Some("sorted") => Failure::user(format!("{left} < {right} not implemented")),
            Some("min") => by(call, format!("{right} < {left} not implemented")),
            Some("max") => by(call, format!("{right} > {left} not implemented")),
            _ => {
                let operator = span.map_or("<", comparison);
                Failure::user(format!("{left} {operator} {right} not implemented"))
            }
        },
        "[]" => Failure::user(format!("unhandled index operation {left}[{right}]")),
        _ => Failure::user(format!("unknown binary op: {left} {operation} {right}")),
    }
}

fn unary(operation: &str, kind: &str, call: Option<&str>) -> Failure {
    match (operation, call) {
        ("(iter)", Some("min" | "max")) => by(call, format!("{kind} value is not iterable")),
        ("(iter)", Some(_)) => by(call, format!("got {kind}, want iterable")),
        ("(iter)", None) => {
            let failure = Failure::user(format!("{kind} value is not iterable"));
            if kind == "string" { failure.hint("its characters are text.elems()") } else { failure }
        }
        ("len()", Some("len")) => by(call, format!("value of type {kind} has no len")),
        ("len()", _) => Failure::user(format!("got {kind} in sequence assignment")),
        ("call()", _) => Failure::user(format!("invalid call of non-function ({kind})")),
        ("+" | "-" | "~", _) => Failure::user(format!("unknown unary op: {operation} {kind}")),
        ("slice()" | "[::]", _) => Failure::user(format!("invalid slice operand {kind}")),
        ("[]=" | "[] =" | "set_at", _) => {
            Failure::user(format!("{kind} value does not support item assignment"))
        }
        _ => match operation.strip_prefix('.') {
            Some(field) if field.ends_with('=') => {
                let field = field.trim_end_matches('=');
                Failure::user(format!("can't assign to .{field} field of {kind}"))
            }
            Some(field) => by(call, format!("{kind} has no .{field} field or method")),
            None => Failure::user(format!("operation {operation} not supported on {kind}")),
        },
    }
}

/// `Type of parameter `x` doesn't match, expected `int`, actual `string (repr: "a")``.
fn wrong_type(message: &str, call: Option<&str>) -> Failure {
    let rest = message.split_once("expected `").map_or("", |(_, rest)| rest);
    let (expected, rest) = rest.split_once("`, actual `").unwrap_or((rest, ""));
    let expected = expected
        .replace(" | ", " or ")
        .replace("tuple[str, ...]", "tuple of string")
        .replace("str", "string");
    let expected = expected.replace("stringing", "string");
    let (actual, given) = rest.split_once(" (repr: ").unwrap_or((rest, ""));
    let given = given.trim_end_matches('`').trim_end_matches(')');
    let given: String = given.chars().take(60).collect();
    let shown = if given.is_empty() { String::new() } else { format!(": {given}") };
    match (call, expected.as_str()) {
        (Some("join"), _) => Failure::user(format!("join: in list, want string, got {actual}")),
        (None, "string") => {
            Failure::user(format!("'in <string>' requires string as left operand, not {actual}"))
        }
        (None, "int") => Failure::user(format!("index: got {actual}, want int")),
        _ => by(call, format!("got {actual}, want {expected}{shown}")),
    }
}

fn unpacked(message: &str) -> Failure {
    let numbers: Vec<usize> = message.split(' ').filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        [got, wanted] => {
            let how = if got > wanted { "many" } else { "few" };
            Failure::user(format!("too {how} values to unpack (got {got}, want {wanted})"))
        }
        _ => Failure::user(message),
    }
}

fn number(message: &str) -> Failure {
    let text = quoted(message).next().unwrap_or_default();
    let base = message.rsplit(' ').next().unwrap_or_default();
    Failure::user(format!("int: invalid literal with base {base}: {text}"))
}

/// Returns the operator of a comparison: the first one outside of brackets and quotes.
fn comparison(span: &SourceSpan) -> &'static str {
    let (mut depth, mut quote) = (0_usize, None);
    let text = span.text();
    for (at, character) in text.char_indices() {
        match character {
            _ if quote.is_some() => quote = quote.filter(|open| *open != character),
            '\'' | '"' => quote = Some(character),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '<' | '>' if depth == 0 => {
                return ["<=", ">=", "<", ">"]
                    .into_iter()
                    .find(|operator| text[at..].starts_with(operator))
                    .unwrap_or("<");
            }
            _ => {}
        }
    }
    "<"
}

fn unknown_name(message: &str) -> Failure {
    let mut names = quoted(message);
    let Some(name) = names.next() else { return Failure::user(message) };
    let failure = Failure::user(format!("undefined: {name}"));
    let known = registry::global_names();
    let offered = names.next().filter(|near| !crate::source::is_internal(near));
    match offered.or_else(|| nearest(name, known.iter().map(String::as_str))) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure,
    }
}

/// Translates the error of a call with wrong arguments.
fn arguments(message: &str, call: Option<&str>) -> Failure {
    let named: Vec<&str> = quoted(message).collect();
    let function = message.rsplit("call to ").next().unwrap_or_default().trim().trim_matches('`');
    // Functions of the Tiltfile are named as such, unlike builtins.
    let shown = defined_name(function).map_or(function.to_owned(), |name| format!("function {name}"));
    if message.starts_with("Missing") {
        let (Some(parameter), Some(function)) = (named.first(), named.get(1)) else {
            return Failure::user(message);
        };
        return match defined_name(function) {
            Some(name) => Failure::user(format!("function {name} missing argument {parameter}")),
            None => Failure::user(format!("{function} needs the argument {parameter}")),
        };
    }
    if message.contains("extra named parameter") {
        return unknown_argument(&named, function, &shown);
    }
    if let Some(count) = message.strip_prefix("Found ").and_then(|rest| rest.split(' ').next()) {
        return Failure::user(format!("{shown} got {count} positional argument(s) too many"));
    }
    if message.contains("occurs more than once") {
        let name = named.first().copied().unwrap_or_default();
        return Failure::user(format!("got multiple values for parameter \"{name}\""));
    }
    if let Some(counts) = message.strip_prefix("Wrong number of positional arguments, expected ") {
        let (wanted, got) = counts.split_once(", got ").unwrap_or((counts, "others"));
        return by(call, format!("got {got} arguments, want {wanted}"));
    }
    Failure::user(message)
}

fn unknown_argument(given: &[&str], function: &str, shown: &str) -> Failure {
    let failure = Failure::user(format!("{shown} has no argument {}", given.join(", ")));
    let Some(parameters) = registry::parameters(function) else { return failure };
    let hint = match given.first().and_then(|name| nearest(name, parameters.iter().map(String::as_str))) {
        Some(near) => format!("did you mean {near}?"),
        None if parameters.is_empty() => return failure,
        None => format!("it takes {}", parameters.join(", ")),
    };
    failure.hint(hint)
}

fn broken_syntax(message: &str) -> Failure {
    if let Some(digits) = message.strip_prefix("integer cannot have leading 0, got `0") {
        let digits = digits.trim_end_matches('`');
        return Failure::user(format!("obsolete form of octal literal; use 0o{digits}"));
    }
    let failure = Failure::user(format!("syntax error: {message}"));
    let expects = |symbol: &str| message.contains(&format!("expected symbol '{symbol}'"));
    match [')', ']', '}'].into_iter().find(|bracket| expects(&bracket.to_string())) {
        Some(bracket) => {
            failure.hint(format!("is a comma or a closing {bracket} missing before this place?"))
        }
        None if expects(":") => failure.hint("is the colon at the end of the line before the block missing?"),
        None => {
            failure.hint("look at this place and the line before it: brackets, quotes, commas, indentation")
        }
    }
}
