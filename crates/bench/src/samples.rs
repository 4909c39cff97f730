//! Repeated measurements.

use std::time::Duration;

/// At least one number, sorted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn new(mut values: Vec<f64>) -> Self {
        assert!(!values.is_empty(), "nothing was measured");
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// Repeats a measurement `count` times.
    pub(crate) fn collect(count: usize, measure: impl FnMut(usize) -> f64) -> Self {
        Self::new((0..count).map(measure).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the value that `percent` percent of all do not exceed.
    fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0[rank - 1]
    }

    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }

    pub(crate) fn p95(&self) -> f64 {
        self.percentile(95)
    }

    pub(crate) fn min(&self) -> f64 {
        self.percentile(0)
    }
}

impl From<f64> for Samples {
    fn from(value: f64) -> Self {
        Self::new(vec![value])
    }
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let samples = Samples::new((1..=50).rev().map(f64::from).collect());
        assert_eq!((samples.min(), samples.median(), samples.p95()), (1.0, 25.0, 48.0));
        let one = Samples::from(7.0);
        assert_eq!((one.min(), one.median(), one.p95()), (7.0, 7.0, 7.0));
    }
}
