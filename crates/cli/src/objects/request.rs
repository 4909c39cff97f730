//! Questions to the API, and what its answers mean.

use http::{Method, Response, StatusCode, header};
use lilt_model::api::kinds::Kind;
use serde_json::Value;

use super::connection::{Line, Question, Stream};
use super::problem::{Problem, Refusal};
use crate::instances::Connect;
use crate::terminal;

const JSON: &str = "application/json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// In which form objects are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Whole,
    /// Rows for people.
    Table,
}

/// In which form a change is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patch {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Patch {
    fn content_type(self) -> &'static str {
        match self {
            Patch::Json => "application/json-patch+json",
            Patch::Merge => "application/merge-patch+json",
            Patch::Strategic => "application/strategic-merge-patch+json",
            Patch::Apply => "application/apply-patch+yaml",
        }
    }
}

/// Where objects are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    path: String,
    query: Vec<(&'static str, String)>,
}

impl Place {
    /// All objects of a kind.
    pub(crate) fn all(kind: &Kind) -> Self {
        Self { path: format!("/apis/tilt.dev/v1alpha1/{}", kind.plural), query: Vec::new() }
    }

    pub(crate) fn one(kind: &Kind, name: &str) -> Self {
        let mut place = Self::all(kind);
        place.path.push('/');
        place.path.push_str(&encoded(name));
        place
    }

    /// A part of it, such as `status`.
    #[must_use]
    pub(crate) fn part(mut self, name: Option<&str>) -> Self {
        if let Some(name) = name {
            self.path.push('/');
            self.path.push_str(&encoded(name));
        }
        self
    }

    /// With a parameter; an empty one is left out.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        if !value.is_empty() {
            self.query.push((name, value));
        }
        self
    }

    fn address(&self) -> String {
        let words: Vec<String> =
            self.query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        if words.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, words.join("&")) }
    }
}

fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_plain(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The objects of a session.
pub(crate) struct Api {
    line: Line,
}

impl Api {
    pub(crate) fn find(connect: &Connect) -> Result<Api, Problem> {
        Ok(Api { line: Line::find(connect)? })
    }

    pub(crate) async fn get(&mut self, place: &Place, shape: Shape) -> Result<Value, Problem> {
        let accept = match shape {
            Shape::Whole => JSON,
            Shape::Table => TABLE,
        };
        self.ask(Method::GET, place.address(), accept, JSON, Vec::new()).await
    }

    /// One object, if it is there.
    pub(crate) async fn find_object(&mut self, place: &Place) -> Result<Option<Value>, Problem> {
        match self.get(place, Shape::Whole).await {
            Ok(object) => Ok(Some(object)),
            Err(problem) if problem.is_missing() => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    pub(crate) async fn create(&mut self, place: &Place, object: &Value) -> Result<Value, Problem> {
        self.ask(Method::POST, place.address(), JSON, JSON, object.to_string().into_bytes()).await
    }

    pub(crate) async fn patch(
        &mut self,
        place: &Place,
        form: Patch,
        change: &Value,
    ) -> Result<Value, Problem> {
        let body = change.to_string().into_bytes();
        self.ask(Method::PATCH, place.address(), JSON, form.content_type(), body).await
    }

    pub(crate) async fn delete(&mut self, place: &Place, options: &Value) -> Result<Value, Problem> {
        self.ask(Method::DELETE, place.address(), JSON, JSON, options.to_string().into_bytes()).await
    }

    /// Whatever stands at a path, as it is.
    pub(crate) async fn raw(&mut self, method: Method, path: &str) -> Result<Vec<u8>, Problem> {
        if !path.starts_with('/') {
            return Err(Problem::words(format!("--raw takes a path that begins with a slash, not {path:?}")));
        }
        self.bytes(method, path.to_owned(), JSON, JSON, Vec::new()).await
    }

    /// Changes from now on, or with all there is first if no version is given.
    pub(crate) async fn watch(&self, place: &Place, shape: Shape) -> Result<Stream, Problem> {
        let accept = match shape {
            Shape::Whole => JSON,
            Shape::Table => TABLE,
        };
        let path = place.clone().with("watch", "true").address();
        let question = Question { method: Method::GET, path, accept, content_type: JSON, body: Vec::new() };
        let response = self.line.follow(&question).await?;
        let code = response.status();
        let mut stream = response.into_body();
        if code.is_success() {
            return Ok(stream);
        }
        let mut body = Vec::new();
        while let Some(piece) = stream.next().await? {
            body.extend_from_slice(&piece);
        }
        Err(refused(code, &body))
    }

    async fn ask(
        &mut self,
        method: Method,
        path: String,
        accept: &'static str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<Value, Problem> {
        let told = path.clone();
        let bytes = self.bytes(method, path, accept, content_type, body).await?;
        serde_json::from_slice(&bytes).map_err(|error| {
            Problem::words(format!("what the session answers to {told} is no JSON: {error}"))
        })
    }

    async fn bytes(
        &mut self,
        method: Method,
        path: String,
        accept: &'static str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, Problem> {
        let response = self.line.ask(&Question { method, path, accept, content_type, body }).await?;
        if !response.status().is_success() {
            return Err(refused(response.status(), response.body()));
        }
        warn(&response);
        Ok(response.into_body().to_vec())
    }
}

fn refused(code: StatusCode, body: &[u8]) -> Problem {
    Problem::Refused(Box::new(Refusal::read(code.as_u16(), body)))
}

/// Passes on what the server warns of: `299 - "unknown field …"`.
fn warn<T>(response: &Response<T>) {
    for warning in response.headers().get_all(header::WARNING) {
        let text = warning.to_str().unwrap_or_default();
        let words = text.split_once('"').map_or(text, |(_, words)| words.trim_end_matches('"'));
        terminal::aside(&format!("Warning: {words}"));
    }
}

#[cfg(test)]
mod tests {
    use lilt_model::api::kinds::kinds;

    use super::*;

    #[test]
    fn names_and_selectors_are_encoded() {
        let kind = kinds().called("tiltfile").expect("a kind");
        let place = Place::one(kind, "(Tiltfile)").part(Some("status")).with("labelSelector", "a in (b, c)");
        let path =
            "/apis/tilt.dev/v1alpha1/tiltfiles/%28Tiltfile%29/status?labelSelector=a%20in%20%28b%2C%20c%29";
        assert_eq!(place.with("dryRun", "").address(), path);
    }
}
