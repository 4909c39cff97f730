//! The log lines with which updates begin and fail. Scripts rely on their format.

use lilt_engine::Cause;
use lilt_model::log::Level;
use lilt_model::{Class, Failure};
use lilt_store::Span;

/// Prints the headline of an update.
pub(crate) fn begin(span: &mut Span, cause: &Cause) {
    span.headline(&cause.headline());
}

/// Prints the failure of an update.
pub(crate) fn failed(span: &mut Span, failure: &Failure) {
    let message = match failure.class() {
        Class::User | Class::Environment => format!("ERROR: Build Failed: {failure}"),
        Class::Internal => format!("ERROR: {failure}"),
    };
    span.print(Level::Error, &message);
}
