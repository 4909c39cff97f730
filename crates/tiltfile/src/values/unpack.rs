//! From values to plain data, and the error for a value of the wrong type.

use lilt_model::Failure;
use starlark::values::list::ListRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Value, ValueLike};

use super::Blob;
use super::text::excerpt;
use crate::failure::raise;

/// Returns the error for a value of the wrong type.
pub(crate) fn wrong(function: &str, name: &str, wanted: &str, found: Value<'_>) -> starlark::Error {
    let shown = excerpt(found);
    let found = with_article(found);
    raise(Failure::user(format!("{function}: {name} must be {wanted}, not {found}: {shown}")))
}

/// A string or a blob.
pub(crate) fn as_text(value: Value<'_>) -> Option<String> {
    value
        .unpack_str()
        .map(str::to_owned)
        .or_else(|| value.downcast_ref::<Blob>().map(|blob| blob.text.clone()))
}

pub(crate) fn sequence<'v>(value: Value<'v>) -> Option<Vec<Value<'v>>> {
    let list = ListRef::from_value(value).map(|list| list.content().to_vec());
    list.or_else(|| TupleRef::from_value(value).map(|tuple| tuple.content().to_vec()))
}

fn with_article(value: Value<'_>) -> String {
    match value.get_type() {
        "string" => "a string".into(),
        "int" => "an int".into(),
        other => format!("a {other}"),
    }
}
