//! Compares the YAML reader with Tilt's: reads what `examples/go_yaml/main.go` writes, prints each file that the two
//! read differently, and the totals. Fails if there is such a file.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program for developers, run by a script"
)]

use std::io::{self, BufRead as _};
use std::path::PathBuf;
use std::process::ExitCode;

use lilt_model::yaml;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Expected {
    path: PathBuf,
    documents: Vec<Value>,
    #[serde(default)]
    error: String,
}

#[derive(Default)]
struct Totals {
    same: usize,
    both_refuse: usize,
    /// Parsed by only one of the two.
    refused_here: usize,
    refused_by_go: usize,
    different: usize,
}

fn main() -> io::Result<ExitCode> {
    let mut totals = Totals::default();
    for line in io::stdin().lock().lines() {
        let expected: Expected = serde_json::from_str(&line?)?;
        let content = std::fs::read(&expected.path)?;
        let found = yaml::documents(&yaml::decode(&content));
        let found = found.map(|documents| documents.into_iter().map(with_bits).collect::<Vec<_>>());
        let path = expected.path.display();
        match (found, expected.error.is_empty()) {
            (Ok(found), true) if found == expected.documents => totals.same += 1,
            (Ok(found), true) => {
                totals.different += 1;
                println!("{path}: different: {}", first_difference(&found, &expected.documents));
            }
            (Ok(_), false) => {
                totals.refused_by_go += 1;
                println!("{path}: refused by Go only: {}", expected.error.replace('\n', " "));
            }
            (Err(error), true) => {
                totals.refused_here += 1;
                println!("{path}: refused by lilt only: {error}");
            }
            (Err(_), false) => totals.both_refuse += 1,
        }
    }
    let Totals { same, both_refuse, refused_here, refused_by_go, different } = totals;
    println!(
        "{same} files are the same, both refuse {both_refuse}, only lilt refuses {refused_here}, only Go refuses \
         {refused_by_go}, {different} are different"
    );
    Ok(if refused_here + different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Replaces floats by their bits, since their texts may differ.
fn with_bits(value: Value) -> Value {
    match value {
        Value::Number(number) if number.as_i64().is_none() => {
            Value::String(format!("float {:016x}", number.as_f64().unwrap_or(f64::NAN).to_bits()))
        }
        Value::Array(items) => items.into_iter().map(with_bits).collect(),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(key, value)| (key, with_bits(value))).collect())
        }
        other => other,
    }
}

fn first_difference(found: &[Value], expected: &[Value]) -> String {
    if found.len() != expected.len() {
        return format!("{} documents, Go has {}", found.len(), expected.len());
    }
    let pairs = found.iter().zip(expected).enumerate();
    let mut differences =
        pairs.filter_map(|(at, (found, expected))| difference(&format!("[{at}]"), found, expected));
    differences.next().unwrap_or_default()
}

/// Returns the first place where two values differ, with both.
fn difference(path: &str, found: &Value, expected: &Value) -> Option<String> {
    match (found, expected) {
        _ if found == expected => None,
        (Value::Object(a), Value::Object(b))
            if a.keys().all(|key| b.contains_key(key)) && a.len() == b.len() =>
        {
            a.iter().find_map(|(key, value)| difference(&format!("{path}.{key}"), value, &b[key]))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(at, (a, b))| difference(&format!("{path}[{at}]"), a, b))
        }
        _ => {
            let short = |value: &Value| value.to_string().chars().take(200).collect::<String>();
            Some(format!("{path}: {}, Go has {}", short(found), short(expected)))
        }
    }
}
