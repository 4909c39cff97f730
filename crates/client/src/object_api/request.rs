//! Requests to the object API, and what its responses mean.

use std::path::Path;

use http::{Method, Response, StatusCode, header};
use lilt_api::kinds::Kind;
use serde_json::Value;

use super::connection::{ApiRequest, Connection, ResponseStream};
use super::error::{ApiError, Refusal};
use crate::sessions::Connect;

const JSON: &str = "application/json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// The form in which objects are returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectForm {
    Whole,
    /// Rows for people.
    Table,
}

/// The form of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    fn content_type(self) -> &'static str {
        match self {
            PatchType::Json => "application/json-patch+json",
            PatchType::Merge => "application/merge-patch+json",
            PatchType::Strategic => "application/strategic-merge-patch+json",
            PatchType::Apply => "application/apply-patch+yaml",
        }
    }
}

/// The path of objects in the API, with its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiPath {
    path: String,
    query: Vec<(&'static str, String)>,
}

impl ApiPath {
    /// The path of all objects of a kind.
    pub fn all(kind: &Kind) -> Self {
        Self { path: format!("/apis/tilt.dev/v1alpha1/{}", kind.plural), query: Vec::new() }
    }

    /// The path of one object.
    pub fn one(kind: &Kind, name: &str) -> Self {
        let mut path = Self::all(kind);
        path.path.push('/');
        path.path.push_str(&percent_encode(name));
        path
    }

    /// The path of a part, such as `status`.
    #[must_use]
    pub fn subresource(mut self, name: Option<&str>) -> Self {
        if let Some(name) = name {
            self.path.push('/');
            self.path.push_str(&percent_encode(name));
        }
        self
    }

    /// Adds a parameter of the query, unless it is empty.
    #[must_use]
    pub fn with_query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        if !value.is_empty() {
            self.query.push((name, value));
        }
        self
    }

    fn path_and_query(&self) -> String {
        let words: Vec<String> =
            self.query.iter().map(|(name, value)| format!("{name}={}", percent_encode(value))).collect();
        if words.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, words.join("&")) }
    }
}

fn percent_encode(text: &str) -> String {
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

/// The object API of a session.
pub struct Api {
    connection: Connection,
    /// Gets the warnings of the server.
    warn: fn(&str),
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

impl Api {
    /// The API of the session that a command means. Nothing is sent yet. `warn` gets what the server warns of.
    pub fn find(connect: &Connect, warn: fn(&str)) -> Result<Api, ApiError> {
        Ok(Api { connection: Connection::to_session(connect)?, warn })
    }

    /// The API of the session of a context in a kubeconfig, such as `tilt-10350`. Nothing is sent yet.
    pub fn in_context(file: &Path, name: &str, warn: fn(&str)) -> Result<Api, ApiError> {
        Ok(Api { connection: Connection::in_context(file, name)?, warn })
    }

    pub async fn get(&mut self, path: &ApiPath, form: ObjectForm) -> Result<Value, ApiError> {
        let accept = match form {
            ObjectForm::Whole => JSON,
            ObjectForm::Table => TABLE,
        };
        self.send_for_json(Method::GET, path.path_and_query(), accept, JSON, Vec::new()).await
    }

    /// Returns one object; none if it does not exist.
    pub async fn find_object(&mut self, path: &ApiPath) -> Result<Option<Value>, ApiError> {
        match self.get(path, ObjectForm::Whole).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub async fn create(&mut self, path: &ApiPath, object: &Value) -> Result<Value, ApiError> {
        self.send_for_json(Method::POST, path.path_and_query(), JSON, JSON, object.to_string().into_bytes())
            .await
    }

    pub async fn patch(
        &mut self,
        path: &ApiPath,
        patch_type: PatchType,
        change: &Value,
    ) -> Result<Value, ApiError> {
        let body = change.to_string().into_bytes();
        self.send_for_json(Method::PATCH, path.path_and_query(), JSON, patch_type.content_type(), body).await
    }

    pub async fn delete(&mut self, path: &ApiPath, options: &Value) -> Result<Value, ApiError> {
        self.send_for_json(
            Method::DELETE,
            path.path_and_query(),
            JSON,
            JSON,
            options.to_string().into_bytes(),
        )
        .await
    }

    /// Returns the unchanged response to a request for a path.
    pub async fn raw(&mut self, method: Method, path: &str) -> Result<Vec<u8>, ApiError> {
        if !path.starts_with('/') {
            return Err(ApiError::Malformed(format!(
                "--raw takes a path that begins with a slash, not {path:?}"
            )));
        }
        self.send(method, path.to_owned(), JSON, JSON, Vec::new()).await
    }

    /// Streams the changes of objects, one JSON document per line: from the `resourceVersion` of the query on, or after all
    /// present objects if it has none.
    pub async fn watch(&self, path: &ApiPath, form: ObjectForm) -> Result<ResponseStream, ApiError> {
        let accept = match form {
            ObjectForm::Whole => JSON,
            ObjectForm::Table => TABLE,
        };
        let path = path.clone().with_query("watch", "true").path_and_query();
        let request = ApiRequest { method: Method::GET, path, accept, content_type: JSON, body: Vec::new() };
        let response = self.connection.open_stream(&request).await?;
        let code = response.status();
        let mut stream = response.into_body();
        if code.is_success() {
            return Ok(stream);
        }
        let mut body = Vec::new();
        while let Some(piece) = stream.next_chunk().await? {
            body.extend_from_slice(&piece);
        }
        Err(refusal(code, &body))
    }

    async fn send_for_json(
        &mut self,
        method: Method,
        path: String,
        accept: &'static str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<Value, ApiError> {
        let requested = path.clone();
        let bytes = self.send(method, path, accept, content_type, body).await?;
        serde_json::from_slice(&bytes).map_err(|error| {
            ApiError::Malformed(format!("what the session answers to {requested} is no JSON: {error}"))
        })
    }

    async fn send(
        &mut self,
        method: Method,
        path: String,
        accept: &'static str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, ApiError> {
        let response = self.connection.send(&ApiRequest { method, path, accept, content_type, body }).await?;
        if !response.status().is_success() {
            return Err(refusal(response.status(), response.body()));
        }
        self.pass_warnings(&response);
        Ok(response.into_body().to_vec())
    }

    /// Passes on what the server warns of: `299 - "unknown field …"`.
    fn pass_warnings<T>(&self, response: &Response<T>) {
        for warning in response.headers().get_all(header::WARNING) {
            let text = warning.to_str().unwrap_or_default();
            (self.warn)(text.split_once('"').map_or(text, |(_, words)| words.trim_end_matches('"')));
        }
    }
}

fn refusal(code: StatusCode, body: &[u8]) -> ApiError {
    ApiError::Refused(Box::new(Refusal::read(code.as_u16(), body)))
}

#[cfg(test)]
mod tests {
    use lilt_api::kinds::kinds;

    use super::*;

    #[test]
    fn names_and_selectors_are_encoded() {
        let kind = kinds().called("tiltfile").expect("a kind");
        let path = ApiPath::one(kind, "(Tiltfile)")
            .subresource(Some("status"))
            .with_query("labelSelector", "a in (b, c)");
        let address =
            "/apis/tilt.dev/v1alpha1/tiltfiles/%28Tiltfile%29/status?labelSelector=a%20in%20%28b%2C%20c%29";
        assert_eq!(path.with_query("dryRun", "").path_and_query(), address);
    }
}
