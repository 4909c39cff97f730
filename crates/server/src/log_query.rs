//! Parses filters of log lines from the query of a URL, for scripts, `lilt logs` and the page alike.

use axum::extract::Query;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use lilt_api::UIResource;
use lilt_model::log::{Level, Source};
use lilt_model::nearest::nearest;
use lilt_model::{ResourceName, SpanId, Timestamp};
use lilt_store::{Field, Filter, Pattern, Reader};

/// Why a request is refused: status and message.
#[derive(Debug)]
pub(crate) struct QueryError(pub(crate) StatusCode, pub(crate) String);

impl IntoResponse for QueryError {
    fn into_response(self) -> Response {
        (self.0, format!("{}\n", self.1)).into_response()
    }
}

pub(crate) fn malformed(words: String) -> QueryError {
    QueryError(StatusCode::BAD_REQUEST, words)
}

pub(crate) fn invalid_parameter(name: &str, value: &str) -> QueryError {
    malformed(format!("{name}={value} is not understood"))
}

pub(crate) fn unknown_parameter(name: &str) -> QueryError {
    malformed(format!("there is no parameter {name:?}"))
}

/// Adds a parameter of a query to a filter. Returns false if it is not a parameter of filters.
///
/// The parameters, all optional:
/// `resource=a&resource=b&source=build&level=warn&since=TIME&match=REGEX&text=WORDS&span=pod:default:web-1&field=path=value`.
pub(crate) fn add_parameter(filter: &mut Filter, name: &str, value: &str) -> Result<bool, QueryError> {
    let wrong = || invalid_parameter(name, value);
    match name {
        "resource" => filter.resources.push(ResourceName::new(value)),
        "source" => {
            filter.source = match value {
                "all" => None,
                "build" => Some(Source::Build),
                "runtime" => Some(Source::Runtime),
                _ => return Err(wrong()),
            }
        }
        "level" => {
            let level = Level::ALL.into_iter().find(|level| level.as_str() == value);
            filter.levels.push(level.ok_or_else(wrong)?);
        }
        "since" => filter.since = Some(Timestamp::from_rfc3339(value).ok_or_else(wrong)?),
        "match" => filter.text = Some(Pattern::regex(value).map_err(|error| malformed(error.0))?),
        "text" => filter.text = Some(Pattern::words(value).map_err(|error| malformed(error.0))?),
        "span" => filter.span = Some(SpanId::new(value)),
        "field" => filter.fields.push(Field::parse(value).ok_or_else(wrong)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Parses a query that has only parameters of filters.
pub(crate) fn filter(query: &str) -> Result<Filter, QueryError> {
    let wrong = || malformed(format!("{query:?} is no query"));
    let address: Uri = format!("/?{query}").parse().map_err(|_| wrong())?;
    let parameters = Query::<Vec<(String, String)>>::try_from_uri(&address).map_err(|_| wrong())?;
    let mut filter = Filter::default();
    for (name, value) in &parameters.0 {
        if !add_parameter(&mut filter, name, value)? {
            return Err(unknown_parameter(name));
        }
    }
    Ok(filter)
}

/// Checks that a resource exists, unless the Tiltfile that may declare it is still loading.
pub(crate) fn check_resource(reader: &Reader, name: &ResourceName) -> Result<(), QueryError> {
    let loaded =
        |tiltfile: &UIResource| tiltfile.status.build_history.iter().any(|load| load.error.is_empty());
    if name.is_tiltfile()
        || reader.resource(name.as_str()).is_some()
        || reader.logs().knows(name)
        || !reader.resource(ResourceName::tiltfile().as_str()).is_some_and(|it| loaded(&it))
    {
        return Ok(());
    }
    let resources = reader.changes_since(0).resources;
    let mut known: Vec<&str> = resources.iter().map(|it| it.metadata.name.as_str()).collect();
    known.sort_unstable();
    let hint = match nearest(name.as_str(), known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are: {}", known.join(", ")),
    };
    Err(QueryError(StatusCode::NOT_FOUND, format!("there is no resource named \"{name}\"\nhint: {hint}")))
}

/// Runs work that reads log files on a thread for blocking work. A panic of it is an internal server error.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Response> {
    tokio::task::spawn_blocking(work).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}
