//! The level that a program tells of its own line, where the line is a JSON object as structured logs have them.
//!
//! Every line of output comes by here, so that what cannot be one is passed over by its first byte, and what says nothing
//! bad by one search.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use lilt_model::log::Level;
use regex::Regex;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Members by which programs tell it; the page shows the same ones as the level.
const KEYS: [&str; 4] = ["level", "severity", "lvl", "levelname"];

/// How words for errors begin: `error`, `ERR`, `critical`, `emergency` …
const ERRORS: [&str; 7] = ["err", "fatal", "crit", "panic", "dpanic", "alert", "emerg"];
const WARNINGS: &str = "warn";

/// What a line must have somewhere to tell of something bad.
static BAD: LazyLock<Regex> = LazyLock::new(|| {
    let (keys, errors) = (KEYS.join("|"), ERRORS.join("|"));
    let expression = format!("(?i)\"(?:{keys})\"\\s*:\\s*(?:\"(?:{WARNINGS}|{errors})|[456]0\\b)");
    Regex::new(&expression).expect("invariant: it is made of plain words")
});

/// Info, unless the line is a whole JSON object that says otherwise.
pub(super) fn level(line: &str) -> Level {
    if !line.starts_with('{') || !line.trim_end().ends_with('}') || !BAD.is_match(line) {
        return Level::Info;
    }
    serde_json::from_str::<Told>(line).map_or(Level::Info, |told| told.0)
}

/// What an object says of itself, not one within it.
struct Told(Level);

impl<'de> Deserialize<'de> for Told {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Told;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    /// To the end, because what is no JSON says nothing; the first level counts.
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Told, A::Error> {
        let mut told = None;
        while let Some(key) = members.next_key::<Cow<'de, str>>()? {
            if told.is_none() && KEYS.iter().any(|known| key.eq_ignore_ascii_case(known)) {
                told = Some(of_value(&members.next_value::<Value>()?));
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Told(told.unwrap_or(Level::Info)))
    }
}

fn of_value(value: &Value) -> Level {
    match value {
        // As pino and bunyan count.
        Value::Number(number) => match number.as_u64() {
            Some(40) => Level::Warn,
            Some(50 | 60) => Level::Error,
            _ => Level::Info,
        },
        Value::String(word) => {
            let begins = |wanted: &str| {
                word.get(..wanted.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(wanted))
            };
            match () {
                () if begins(WARNINGS) => Level::Warn,
                () if ERRORS.into_iter().any(begins) => Level::Error,
                () => Level::Info,
            }
        }
        _ => Level::Info,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structured_lines_tell_their_level() {
        for line in [
            r#"{"level":"error","msg":"no"}"#,
            r#"{"msg":"no", "LEVEL" : "ERROR"} "#,
            r#"{"severity":"CRITICAL"}"#,
            r#"{"lvl":"fatal"}"#,
            r#"{"levelname":"Emergency"}"#,
            r#"{"level":50,"msg":"no"}"#,
            r#"{"level":"error","level":"info"}"#,
        ] {
            assert_eq!(level(line), Level::Error, "{line}");
        }
        for line in [r#"{"level":"warn"}"#, r#"{"severity":"WARNING"}"#, r#"{"level":40}"#] {
            assert_eq!(level(line), Level::Warn, "{line}");
        }
    }

    #[test]
    fn all_else_tells_nothing() {
        for line in [
            "",
            "{",
            "error",
            r#"level=error {"level":"error"}"#,
            r#"{"level":"info","msg":"\"level\":\"error\""}"#,
            r#"{"level":"info","cause":{"level":"error"}}"#,
            r#"{"cause":{"level":"error"}}"#,
            r#"{"level":"error" and more}"#,
            r#"{"level":"terror"}"#,
            r#"{"level":400}"#,
            r#"{"levels":"error"}"#,
        ] {
            assert_eq!(level(line), Level::Info, "{line}");
        }
    }
}
