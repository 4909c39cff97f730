//! How an update tells its story in the log. Scripts rely on these forms.

use lilt_engine::Cause;
use lilt_model::log::Level;
use lilt_model::{Class, Failure};
use lilt_store::Span;

/// The empty line and the headline with which every update begins.
pub(crate) fn begin(span: &mut Span, cause: &Cause) {
    span.headline(&cause.headline());
}

/// How an update that failed ends.
pub(crate) fn failed(span: &mut Span, failure: &Failure) {
    let words = match failure.class() {
        Class::User | Class::Environment => format!("ERROR: Build Failed: {failure}"),
        Class::Internal => format!("ERROR: {failure}"),
    };
    span.print(Level::Error, &words);
}
