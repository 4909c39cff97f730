//! The level in lines that are JSON objects, as programs with structured logs write them.
//!
//! Every line of output is checked, so that most lines must be excluded cheaply: other lines by their first byte, and
//! objects without warnings and errors by one search.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use lilt_model::log::Level;
use regex::Regex;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Members with the level. The page shows the same ones as the level.
const KEYS: [&str; 4] = ["level", "severity", "lvl", "levelname"];

/// Prefixes of names of error levels: `error`, `ERR`, `critical`, `emergency` …
const ERRORS: [&str; 7] = ["err", "fatal", "crit", "panic", "dpanic", "alert", "emerg"];
const WARNINGS: &str = "warn";

/// Matches in every line with a warning or an error.
static MAY_BE_BAD: LazyLock<Regex> = LazyLock::new(|| {
    let (keys, errors) = (KEYS.join("|"), ERRORS.join("|"));
    let expression = format!("(?i)\"(?:{keys})\"\\s*:\\s*(?:\"(?:{WARNINGS}|{errors})|[456]0\\b)");
    Regex::new(&expression).expect("invariant: it is made of plain words")
});

/// Returns the level of a line: info, unless the line is a JSON object with another level.
pub(super) fn level(line: &str) -> Level {
    if !line.starts_with('{') || !line.trim_end().ends_with('}') || !MAY_BE_BAD.is_match(line) {
        return Level::Info;
    }
    serde_json::from_str::<ObjectLevel>(line).map_or(Level::Info, |object| object.0)
}

/// The level among the members of an object, ignoring nested objects.
struct ObjectLevel(Level);

impl<'de> Deserialize<'de> for ObjectLevel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LevelVisitor)
    }
}

struct LevelVisitor;

impl<'de> Visitor<'de> for LevelVisitor {
    type Value = ObjectLevel;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    /// Reads to the end, because invalid JSON has no level. The first level counts.
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<ObjectLevel, A::Error> {
        let mut level = None;
        while let Some(key) = members.next_key::<Cow<'de, str>>()? {
            if level.is_none() && KEYS.iter().any(|known| key.eq_ignore_ascii_case(known)) {
                level = Some(parse_level(&members.next_value::<Value>()?));
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(ObjectLevel(level.unwrap_or(Level::Info)))
    }
}

fn parse_level(value: &Value) -> Level {
    match value {
        // Numbers as in pino and bunyan.
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
    fn json_objects_have_the_level_of_their_member() {
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
    fn other_lines_are_info() {
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
