//! Creating and changing objects: the new state is computed here, and the session decides.

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use lilt_api::Content;
use lilt_api::check::{Fault, check, prune};
use lilt_api::kinds::Kind;
use lilt_store::{Action, Key, Refusal, Snapshot, WriteRequest};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::Api;
use super::apply::{
    FieldManager, Operation, apply_configuration, manager_or_user_agent, record_changes, required_manager,
};
use super::delete::keep_owned_when_finalized;
use super::patch::{PatchType, apply_patch};
use super::rules::{fill, violations};
use super::status_error::{Cause, StatusError, json_response};

/// How often a change that names no version is retried after a conflict.
pub(super) const ATTEMPTS: usize = 16;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WriteQuery {
    dry_run: Option<String>,
    field_validation: Option<String>,
    field_manager: Option<String>,
    force: Option<String>,
    pub(super) propagation_policy: Option<String>,
}

/// The half of an object that a request writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// All but the status.
    Main,
    Status,
}

/// The context of a request to write.
pub(crate) struct Write<'r> {
    pub(crate) api: &'r Api,
    pub(crate) kind: &'static Kind,
    pub(crate) query: &'r WriteQuery,
    /// The name by which the client identifies itself.
    pub(crate) user_agent: &'r str,
}

/// A response with warnings.
struct Written {
    code: StatusCode,
    text: String,
    warnings: Vec<String>,
}

impl From<Written> for Response {
    fn from(written: Written) -> Response {
        let mut response = json_response(written.code, written.text);
        for warning in written.warnings {
            let quoted = warning.replace(['\\', '"', '\n', '\r'], " ");
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
                response.headers_mut().append(header::WARNING, value);
            }
        }
        response
    }
}

impl Write<'_> {
    pub(crate) async fn create(&self, body: &Bytes) -> Result<Response, StatusError> {
        let (object, warnings) = self.new_object(require_object(read_body(body)?)?)?;
        let object =
            record_changes(&Value::Null, object, &self.field_manager(Half::Main), (self.api.clock)());
        self.create_validated(object, warnings).await
    }

    fn new_object(&self, mut object: Value) -> Result<(Value, Vec<String>), StatusError> {
        self.generate_name(&mut object)?;
        self.validate(object, None)
    }

    /// The manager that writes, if not by server-side apply.
    fn field_manager(&self, half: Half) -> FieldManager {
        let manager = manager_or_user_agent(self.query.field_manager.as_deref(), self.user_agent);
        FieldManager::new(manager, Operation::Update, half)
    }

    async fn create_validated(&self, object: Value, warnings: Vec<String>) -> Result<Response, StatusError> {
        let name = name_of(&object);
        let written = if self.is_dry_run()? {
            if self.current(&name).is_some() {
                return Err(StatusError::exists(self.kind, &name));
            }
            object.to_string()
        } else {
            self.send(&name, Action::Create { object }).await?.text().to_string()
        };
        Ok(Written { code: StatusCode::CREATED, text: written, warnings }.into())
    }

    pub(crate) async fn replace(
        &self,
        name: &str,
        half: Half,
        body: &Bytes,
    ) -> Result<Response, StatusError> {
        let given = read_body(body)?;
        let manager = Some(self.field_manager(half));
        self.change(name, half, manager, |_| Ok(given.clone())).await
    }

    pub(crate) async fn patch(
        &self,
        name: &str,
        half: Half,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response, StatusError> {
        let content =
            headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let patch_type = PatchType::of(content).ok_or_else(|| StatusError::unsupported_media(content))?;
        let change = read_body(body)?;
        if patch_type != PatchType::Apply {
            let manager = Some(self.field_manager(half));
            return self
                .change(name, half, manager, |object| apply_patch(patch_type, object, change.clone()))
                .await;
        }
        let change = require_object(change)?;
        let manager = required_manager(self.query.field_manager.as_deref())?;
        let manager = FieldManager::new(manager, Operation::Apply, half);
        let force = super::read::is_true(self.query.force.as_deref());
        if self.current(name).is_none() && half == Half::Main {
            return self.apply_new(name, &change, &manager).await;
        }
        self.change(name, half, None, |object| {
            let result = apply_configuration(object, &change, &manager, force, (self.api.clock)());
            result.map_err(|conflicts| StatusError::conflict(self.kind, name, &conflicts.message()))
        })
        .await
    }

    /// Creates the object of a server-side apply.
    async fn apply_new(
        &self,
        name: &str,
        configuration: &Value,
        manager: &FieldManager,
    ) -> Result<Response, StatusError> {
        let empty = json!({"metadata": {"name": name}});
        let object = apply_configuration(&empty, configuration, manager, true, (self.api.clock)());
        let mut object =
            object.map_err(|conflicts| StatusError::conflict(self.kind, name, &conflicts.message()))?;
        object["metadata"]["name"] = json!(name);
        let (object, warnings) = self.new_object(object)?;
        self.create_validated(object, warnings).await
    }

    /// Changes the current object. A change that names no version is retried after a conflict. Changed fields belong to
    /// `manager`; without one the change sets the owners itself.
    async fn change(
        &self,
        name: &str,
        half: Half,
        manager: Option<FieldManager>,
        change: impl Fn(&Value) -> Result<Value, StatusError>,
    ) -> Result<Response, StatusError> {
        let dry_run = self.is_dry_run()?;
        for _ in 0..ATTEMPTS {
            let current = self.current(name).ok_or_else(|| StatusError::not_found(self.kind, name))?;
            let before: Value = serde_json::from_str(current.text()).unwrap_or_default();
            let wanted = require_object(change(&before)?)?;
            let version = requested_version(&wanted);
            let pinned =
                version.as_ref().is_some_and(|version| *version != before["metadata"]["resourceVersion"]);
            if pinned {
                return Err(StatusError::outdated(self.kind, name));
            }
            let (object, warnings) = self.validate(merge_half(&before, wanted, half), Some(name))?;
            let object = match &manager {
                Some(manager) => record_changes(&before, object, manager, (self.api.clock)()),
                None => object,
            };
            // An equal object is not written: the version stays, and watchers get no event.
            if dry_run || object == before {
                return Ok(Written { code: StatusCode::OK, text: object.to_string(), warnings }.into());
            }
            let action = match keep_owned_when_finalized(&object) {
                Some(keep_owned) => Action::Delete { version: current.version, keep_owned },
                None => Action::Replace { version: current.version, object },
            };
            match self.send(name, action).await {
                Ok(stored) => {
                    return Ok(
                        Written { code: StatusCode::OK, text: stored.text().to_string(), warnings }.into()
                    );
                }
                Err(failure) if failure.reason == "Conflict" => {}
                Err(failure) => return Err(failure),
            }
        }
        Err(StatusError::outdated(self.kind, name))
    }

    pub(super) fn current(&self, name: &str) -> Option<Snapshot> {
        self.api.reader.get(&Key::new(self.kind.kind, name))
    }

    pub(super) fn is_dry_run(&self) -> Result<bool, StatusError> {
        match self.query.dry_run.as_deref() {
            None | Some("") => Ok(false),
            Some("All") => Ok(true),
            Some(other) => {
                Err(StatusError::bad_request(format!("dryRun: {other:?} is not supported, only \"All\" is")))
            }
        }
    }

    pub(super) async fn send(&self, name: &str, action: Action) -> Result<Snapshot, StatusError> {
        let (reply, answer) = oneshot::channel();
        let request = WriteRequest { key: Key::new(self.kind.kind, name), action, reply };
        self.api.writes.send(request).await.map_err(|_| StatusError::ending())?;
        match answer.await.unwrap_or(Err(Refusal::Ending)) {
            Ok(stored) => Ok(stored),
            Err(Refusal::Exists) => Err(StatusError::exists(self.kind, name)),
            Err(Refusal::Missing) => Err(StatusError::not_found(self.kind, name)),
            Err(Refusal::Conflict) => Err(StatusError::outdated(self.kind, name)),
            Err(Refusal::Forbidden(why)) => Err(StatusError::forbidden(self.kind, name, &why)),
            Err(Refusal::Invalid { field, value, why }) => {
                Err(StatusError::invalid(self.kind, name, &[Cause::invalid(field, &json!(value), &why)]))
            }
            Err(Refusal::Ending) => Err(StatusError::ending()),
        }
    }

    /// Generates the name of an object that has only a prefix.
    fn generate_name(&self, object: &mut Value) -> Result<(), StatusError> {
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        let Some(metadata) = metadata else { return Ok(()) };
        let named = metadata.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
        let prefix = metadata.get("generateName").and_then(Value::as_str).unwrap_or_default();
        if !named && !prefix.is_empty() {
            let name = format!("{prefix}{}", &crate::random_id()[..5]);
            metadata.insert("name".to_owned(), json!(name));
        }
        if metadata.get("resourceVersion").and_then(Value::as_str).is_some_and(|version| !version.is_empty())
        {
            return Err(StatusError::bad_request(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        Ok(())
    }

    /// Validates an object and fills in defaults. Returns it with warnings for the client.
    fn validate(&self, mut object: Value, name: Option<&str>) -> Result<(Value, Vec<String>), StatusError> {
        self.check_identity(&object, name)?;
        let found = check(self.kind, &object);
        let (unknown, invalid): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|it| it.fault == Fault::Unknown);
        if let Some(first) = invalid.first() {
            return Err(self.undecodable(first));
        }
        let messages: Vec<String> = unknown.iter().map(ToString::to_string).collect();
        let warnings = match self.query.field_validation.as_deref().unwrap_or("Warn") {
            "Strict" if !messages.is_empty() => {
                return Err(StatusError::bad_request(format!(
                    "strict decoding error: {}",
                    messages.join(", ")
                )));
            }
            "Ignore" => Vec::new(),
            _ => messages,
        };
        prune(self.kind, &mut object);
        remove_empty_metadata(&mut object);
        object["apiVersion"] = json!("tilt.dev/v1alpha1");
        object["kind"] = json!(self.kind.name);
        fill(self.kind, &mut object);
        let content = Content::parse(self.kind.kind, object.as_object().unwrap_or(&Map::new()))
            .map_err(|error| self.undecodable(&error))?;
        let causes = violations(&object, &content);
        if !causes.is_empty() {
            return Err(StatusError::invalid(self.kind, &name_of(&object), &causes));
        }
        Ok((object, warnings))
    }

    fn undecodable(&self, why: &dyn std::fmt::Display) -> StatusError {
        let kind = self.kind.name;
        let message = format!("{kind} in version \"v1alpha1\" cannot be handled as a {kind}: {why}");
        StatusError::bad_request(message)
    }

    /// Refuses an object of another kind, group or name than that of the path.
    fn check_identity(&self, object: &Value, name: Option<&str>) -> Result<(), StatusError> {
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
        if !matches!(text("apiVersion"), "" | "tilt.dev/v1alpha1")
            || !["", self.kind.name].contains(&text("kind"))
        {
            let message = format!(
                "the object is a {} of {}, and not a {} of tilt.dev/v1alpha1",
                text("kind"),
                text("apiVersion"),
                self.kind.name
            );
            return Err(StatusError::bad_request(message));
        }
        match name {
            Some(name) if name_of(object) != name => {
                let message = format!(
                    "the name of the object ({}) is not that of the address ({name})",
                    name_of(object)
                );
                Err(StatusError::bad_request(message))
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn read_body(body: &Bytes) -> Result<Value, StatusError> {
    serde_json::from_slice(body)
        .map_err(|error| StatusError::bad_request(format!("the body is no JSON: {error}")))
}

/// Refuses values that are not objects, or whose metadata is not an object.
fn require_object(object: Value) -> Result<Value, StatusError> {
    let is_map = |value: &Value| value.is_object() || value.is_null();
    match object.as_object() {
        None => Err(StatusError::bad_request("the body is no object")),
        Some(members) if !members.get("metadata").is_none_or(is_map) => {
            Err(StatusError::bad_request("metadata is no object"))
        }
        Some(_) => Ok(object),
    }
}

/// Removes empty labels and annotations, as Kubernetes does.
fn remove_empty_metadata(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    for field in ["labels", "annotations"] {
        if metadata.get(field).is_some_and(|value| value.is_null() || value == &json!({})) {
            metadata.remove(field);
        }
    }
}

fn name_of(object: &Value) -> String {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn requested_version(object: &Value) -> Option<Value> {
    object
        .pointer("/metadata/resourceVersion")
        .filter(|version| version.as_str().is_some_and(|it| !it.is_empty()))
        .cloned()
}

/// Combines the written half of `wanted` with the other half of `before`. Fields of the server are kept.
fn merge_half(before: &Value, wanted: Value, half: Half) -> Value {
    let mut object = match half {
        Half::Main => {
            let mut object = wanted;
            if let Value::Object(members) = &mut object {
                members.remove("status");
                members.extend(before.get("status").map(|status| ("status".to_owned(), status.clone())));
            }
            object
        }
        Half::Status => {
            let mut object = before.clone();
            object["status"] = wanted.get("status").cloned().unwrap_or_else(|| Value::Object(Map::new()));
            if let Some(managers) = wanted.pointer("/metadata/managedFields") {
                object["metadata"]["managedFields"] = managers.clone();
            }
            object
        }
    };
    if !object.is_object() {
        return object;
    }
    for field in ["uid", "creationTimestamp", "resourceVersion", "deletionTimestamp", "name"] {
        if let Some(value) = before["metadata"].get(field) {
            object["metadata"][field] = value.clone();
        }
    }
    object
}
