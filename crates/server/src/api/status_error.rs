//! Errors as Kubernetes' `Status` objects, which clients distinguish by their reasons.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use lilt_api::kinds::Kind;
use serde_json::{Value, json};

/// Why a request to the API was refused.
#[derive(Clone, Debug)]
pub(crate) struct StatusError {
    pub(crate) code: StatusCode,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) details: Value,
}

impl StatusError {
    fn new(code: StatusCode, reason: &'static str, message: String) -> Self {
        Self { code, reason, message, details: Value::Null }
    }

    fn with_object(mut self, kind: &Kind, name: &str) -> Self {
        self.details = json!({"name": name, "group": "tilt.dev", "kind": kind.plural});
        self
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{}.tilt.dev \"{name}\" not found", kind.plural);
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with_object(kind, name)
    }

    /// No such kind, group or page.
    pub(crate) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource".to_owned();
        Self::new(StatusCode::NOT_FOUND, "NotFound", message)
    }

    pub(crate) fn exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{}.tilt.dev \"{name}\" already exists", kind.plural);
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).with_object(kind, name)
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {}.tilt.dev \"{name}\": {why}", kind.plural);
        Self::new(StatusCode::CONFLICT, "Conflict", message).with_object(kind, name)
    }

    pub(crate) fn outdated(kind: &Kind, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, why)
    }

    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("{}.tilt.dev \"{name}\" is forbidden: {why}", kind.plural);
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).with_object(kind, name)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message.into())
    }

    /// The fields that are wrong, each with its cause.
    pub(crate) fn invalid(kind: &Kind, name: &str, causes: &[Cause]) -> Self {
        let descriptions: Vec<String> = causes.iter().map(Cause::describe).collect();
        let description = match descriptions.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{}.tilt.dev \"{name}\" is invalid: {description}", kind.name);
        let mut error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message);
        let causes: Vec<Value> = causes.iter().map(Cause::to_json).collect();
        error.details = json!({"name": name, "group": "tilt.dev", "kind": kind.name, "causes": causes});
        error
    }

    pub(crate) fn unsupported_media(content: &str) -> Self {
        let message = format!("the body of the request was in an unknown format: {content:?}");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    pub(crate) fn too_large() -> Self {
        let message = "the body of the request is larger than 20 MB".to_owned();
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    pub(crate) fn expired(newest: u64) -> Self {
        let message =
            format!("too old resource version; the newest is {newest}: list again and watch from there");
        Self::new(StatusCode::GONE, "Expired", message)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized".to_owned())
    }

    pub(crate) fn not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource".to_owned();
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    pub(crate) fn ending() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "the session is ending".to_owned())
    }

    /// Returns the `Status` object.
    pub(crate) fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code.as_u16(),
        });
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}

impl IntoResponse for StatusError {
    fn into_response(self) -> Response {
        json_response(self.code, self.to_json().to_string())
    }
}

pub(crate) fn json_response(code: StatusCode, text: impl Into<axum::body::Body>) -> Response {
    let content = HeaderValue::from_static("application/json");
    (code, [(header::CONTENT_TYPE, content)], text.into()).into_response()
}

/// Why one field is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) reason: &'static str,
    pub(crate) field: String,
    pub(crate) message: String,
}

impl Cause {
    pub(crate) fn required(field: &str, why: &str) -> Self {
        let message = format!("Required value: {why}");
        Self { reason: "FieldValueRequired", field: field.to_owned(), message }
    }

    pub(crate) fn invalid(field: &str, value: &Value, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Self { reason: "FieldValueInvalid", field: field.to_owned(), message }
    }

    pub(crate) fn duplicate(field: &str, value: &Value) -> Self {
        let message = format!("Duplicate value: {value}");
        Self { reason: "FieldValueDuplicate", field: field.to_owned(), message }
    }

    pub(crate) fn unsupported(field: &str, value: &Value, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", supported.join(", "));
        Self { reason: "FieldValueNotSupported", field: field.to_owned(), message }
    }

    fn describe(&self) -> String {
        format!("{}: {}", self.field, self.message)
    }

    fn to_json(&self) -> Value {
        json!({"reason": self.reason, "message": self.message, "field": self.field})
    }
}
