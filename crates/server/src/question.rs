//! Which lines of log somebody asks for, in the query of an address: the same for scripts, `lilt logs` and the page.

use axum::extract::Query;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use lilt_api::UIResource;
use lilt_model::log::{Level, Source};
use lilt_model::nearest::nearest;
use lilt_model::{ResourceName, SpanId, Timestamp};
use lilt_store::{Field, Filter, Pattern, Reader};

/// Why a question is not answered.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) StatusCode, pub(crate) String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, format!("{}\n", self.1)).into_response()
    }
}

pub(crate) fn malformed(words: String) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, words)
}

pub(crate) fn not_understood(name: &str, value: &str) -> Refusal {
    malformed(format!("{name}={value} is not understood"))
}

pub(crate) fn no_such_parameter(name: &str) -> Refusal {
    malformed(format!("there is no parameter {name:?}"))
}

/// `resource=a&resource=b&source=build&level=warn&since=TIME&match=REGEX&text=WORDS&span=pod:default:web-1&field=path=value`,
/// all of them optional. False: this parameter does not say which lines.
pub(crate) fn narrow(filter: &mut Filter, name: &str, value: &str) -> Result<bool, Refusal> {
    let wrong = || not_understood(name, value);
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

/// A filter alone, from the text of a query.
pub(crate) fn filter(query: &str) -> Result<Filter, Refusal> {
    let wrong = || malformed(format!("{query:?} is no query"));
    let address: Uri = format!("/?{query}").parse().map_err(|_| wrong())?;
    let parameters = Query::<Vec<(String, String)>>::try_from_uri(&address).map_err(|_| wrong())?;
    let mut filter = Filter::default();
    for (name, value) in &parameters.0 {
        if !narrow(&mut filter, name, value)? {
            return Err(no_such_parameter(name));
        }
    }
    Ok(filter)
}

/// A name that is not known is most likely mistyped, unless the Tiltfile that may declare it is still being loaded.
pub(crate) fn check(reader: &Reader, name: &ResourceName) -> Result<(), Refusal> {
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
    Err(Refusal(StatusCode::NOT_FOUND, format!("there is no resource named \"{name}\"\nhint: {hint}")))
}

/// Looking for lines may take its time, and files. A panic there is one here.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Response> {
    tokio::task::spawn_blocking(work).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}
