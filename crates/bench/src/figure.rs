//! A measured figure: one row of the table.

use std::fmt;

use crate::samples::Samples;

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Microseconds,
    Milliseconds,
    Seconds,
    /// Millions of bytes.
    Megabytes,
    /// Clock ticks of the kernel, usually hundredths of a second.
    Ticks,
    Times,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Microseconds => "µs",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::Megabytes => "MB",
            Unit::Ticks => "ticks",
            Unit::Times => "times",
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// The stable key in the JSON output.
    pub(crate) key: String,
    pub(crate) work: String,
    pub(crate) unit: Unit,
    /// The limit of the median; none: for information.
    pub(crate) limit: Option<f64>,
    pub(crate) samples: Samples,
}

impl Figure {
    pub(crate) fn new(
        key: impl Into<String>,
        work: impl Into<String>,
        unit: Unit,
        samples: impl Into<Samples>,
    ) -> Self {
        Self { key: key.into(), work: work.into(), unit, limit: None, samples: samples.into() }
    }

    pub(crate) fn at_most(self, limit: f64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    pub(crate) fn is_met(&self) -> Option<bool> {
        self.limit.map(|limit| self.samples.median() <= limit)
    }
}
