//! Points in time as data. Only `host` reads the clock.

use std::fmt;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Microseconds since 1970, serialized as Kubernetes' `MicroTime` (`2026-11-15T19:51:53.000001Z`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(as = "String"))]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub const ZERO: Timestamp = Timestamp(0);

    /// Returns the time that passed since `earlier`; zero if that is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    #[must_use]
    pub fn plus(self, duration: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Formats as Kubernetes writes a `Time`: without fractions of a second.
    pub fn whole_seconds(self) -> String {
        self.truncated().to_string().replace(".000000Z", "Z")
    }

    /// Truncates to the whole second. Kubernetes reports most times so.
    #[must_use]
    pub fn truncated(self) -> Timestamp {
        Timestamp(self.0 - self.0.rem_euclid(1_000_000))
    }

    pub fn from_rfc3339(text: &str) -> Option<Timestamp> {
        text.parse::<jiff::Timestamp>().ok().map(|time| Timestamp(time.as_microsecond()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(time) => write!(f, "{time:.6}"),
            Err(_) => f.write_str("0001-01-01T00:00:00.000000Z"),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Timestamp::from_rfc3339(&text).ok_or_else(|| D::Error::custom(format!("not a time: {text}")))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "MicroTime".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "date-time"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_written_as_micro_time() {
        let time = Timestamp(1_763_236_313_000_001);
        assert_eq!(time.to_string(), "2025-11-15T19:51:53.000001Z");
        assert_eq!(Timestamp::from_rfc3339(&time.to_string()), Some(time));
    }
}
