//! Creating, changing and deleting objects: what is to become of one is worked out here, the session decides.

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use lilt_api::check::{Fault, check, prune};
use lilt_api::kinds::Kind;
use lilt_store::{Action, Key, Refusal, Snapshot, WriteRequest};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::Api;
use super::apply::{Identity, Operation, applied, manager, manager_or_program, updated};
use super::delete::is_finalized;
use super::failure::{Cause, Failure, json_response};
use super::patch::{Form, patched};
use super::rules::{fill, violations};

/// How often a change that names no version is tried again after somebody else was faster.
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

/// Which half of an object a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// All but the status.
    Main,
    Status,
}

/// A request to write, and what it may do.
pub(crate) struct Write<'r> {
    pub(crate) api: &'r Api,
    pub(crate) kind: &'static Kind,
    pub(crate) query: &'r WriteQuery,
    /// The program that sent it, as it calls itself.
    pub(crate) agent: &'r str,
}

/// An answer with the warnings that belong to it.
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
    pub(crate) async fn create(&self, body: &Bytes) -> Result<Response, Failure> {
        let (object, warnings) = self.new_object(shaped(read_body(body)?)?)?;
        let object = updated(&Value::Null, object, &self.identity(Half::Main), (self.api.clock)());
        self.create_ready(object, warnings).await
    }

    fn new_object(&self, mut object: Value) -> Result<(Value, Vec<String>), Failure> {
        self.name_it(&mut object)?;
        self.ready(object, None)
    }

    /// Who writes, if not by server-side apply.
    fn identity(&self, half: Half) -> Identity {
        let manager = manager_or_program(self.query.field_manager.as_deref(), self.agent);
        Identity::new(manager, Operation::Update, half)
    }

    async fn create_ready(&self, object: Value, warnings: Vec<String>) -> Result<Response, Failure> {
        let name = name_of(&object);
        let written = if self.is_dry_run()? {
            if self.current(&name).is_some() {
                return Err(Failure::exists(self.kind, &name));
            }
            object.to_string()
        } else {
            self.send(&name, Action::Create { object }).await?.text().to_string()
        };
        Ok(Written { code: StatusCode::CREATED, text: written, warnings }.into())
    }

    pub(crate) async fn replace(&self, name: &str, half: Half, body: &Bytes) -> Result<Response, Failure> {
        let given = read_body(body)?;
        let who = Some(self.identity(half));
        self.change(name, half, who, |_| Ok(given.clone())).await
    }

    pub(crate) async fn patch(
        &self,
        name: &str,
        half: Half,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response, Failure> {
        let content =
            headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let form = Form::of(content).ok_or_else(|| Failure::unsupported_media(content))?;
        let change = read_body(body)?;
        if form != Form::Apply {
            let who = Some(self.identity(half));
            return self.change(name, half, who, |object| patched(form, object, change.clone())).await;
        }
        let change = shaped(change)?;
        let manager = manager(self.query.field_manager.as_deref())?;
        let who = Identity::new(manager, Operation::Apply, half);
        let force = super::read::is_yes(self.query.force.as_deref());
        if self.current(name).is_none() && half == Half::Main {
            return self.apply_new(name, &change, &who).await;
        }
        self.change(name, half, None, |object| {
            let result = applied(object, &change, &who, force, (self.api.clock)());
            result.map_err(|conflicts| Failure::conflict(self.kind, name, &conflicts.words()))
        })
        .await
    }

    /// Server-side apply makes what is not there.
    async fn apply_new(
        &self,
        name: &str,
        configuration: &Value,
        who: &Identity,
    ) -> Result<Response, Failure> {
        let empty = json!({"metadata": {"name": name}});
        let object = applied(&empty, configuration, who, true, (self.api.clock)());
        let mut object =
            object.map_err(|conflicts| Failure::conflict(self.kind, name, &conflicts.words()))?;
        object["metadata"]["name"] = json!(name);
        let (object, warnings) = self.new_object(object)?;
        self.create_ready(object, warnings).await
    }

    /// Makes a change to what is there now. One that names no version is made again when somebody else was faster. What
    /// became another belongs to `who`; none: the change says itself who owns what.
    async fn change(
        &self,
        name: &str,
        half: Half,
        who: Option<Identity>,
        change: impl Fn(&Value) -> Result<Value, Failure>,
    ) -> Result<Response, Failure> {
        let dry_run = self.is_dry_run()?;
        for _ in 0..ATTEMPTS {
            let current = self.current(name).ok_or_else(|| Failure::not_found(self.kind, name))?;
            let before: Value = serde_json::from_str(current.text()).unwrap_or_default();
            let wanted = shaped(change(&before)?)?;
            let version = given_version(&wanted);
            let pinned =
                version.as_ref().is_some_and(|version| *version != before["metadata"]["resourceVersion"]);
            if pinned {
                return Err(Failure::outdated(self.kind, name));
            }
            let (object, warnings) = self.ready(joined(&before, wanted, half), Some(name))?;
            let object = match &who {
                Some(who) => updated(&before, object, who, (self.api.clock)()),
                None => object,
            };
            // What changes nothing is not written: the version stays, and nobody is told.
            if dry_run || object == before {
                return Ok(Written { code: StatusCode::OK, text: object.to_string(), warnings }.into());
            }
            let action = match is_finalized(&object) {
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
        Err(Failure::outdated(self.kind, name))
    }

    pub(super) fn current(&self, name: &str) -> Option<Snapshot> {
        self.api.reader.get(&Key::new(self.kind.name, name))
    }

    pub(super) fn is_dry_run(&self) -> Result<bool, Failure> {
        match self.query.dry_run.as_deref() {
            None | Some("") => Ok(false),
            Some("All") => Ok(true),
            Some(other) => {
                Err(Failure::bad_request(format!("dryRun: {other:?} is not supported, only \"All\" is")))
            }
        }
    }

    pub(super) async fn send(&self, name: &str, action: Action) -> Result<Snapshot, Failure> {
        let (reply, answer) = oneshot::channel();
        let request = WriteRequest { key: Key::new(self.kind.name, name), action, reply };
        self.api.writes.send(request).await.map_err(|_| Failure::ending())?;
        match answer.await.unwrap_or(Err(Refusal::Ending)) {
            Ok(stored) => Ok(stored),
            Err(Refusal::Exists) => Err(Failure::exists(self.kind, name)),
            Err(Refusal::Missing) => Err(Failure::not_found(self.kind, name)),
            Err(Refusal::Conflict) => Err(Failure::outdated(self.kind, name)),
            Err(Refusal::Forbidden(why)) => Err(Failure::forbidden(self.kind, name, &why)),
            Err(Refusal::Invalid { field, value, why }) => {
                Err(Failure::invalid(self.kind, name, &[Cause::invalid(field, &json!(value), &why)]))
            }
            Err(Refusal::Ending) => Err(Failure::ending()),
        }
    }

    /// Gives a name to an object that asks for one.
    fn name_it(&self, object: &mut Value) -> Result<(), Failure> {
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
            return Err(Failure::bad_request("resourceVersion should not be set on objects to be created"));
        }
        Ok(())
    }

    /// Checks an object and fills in what is assumed; with the warnings that the client is to be told.
    fn ready(&self, mut object: Value, name: Option<&str>) -> Result<(Value, Vec<String>), Failure> {
        self.check_identity(&object, name)?;
        let found = check(self.kind, &object);
        let (unknown, wrong): (Vec<_>, Vec<_>) = found.into_iter().partition(|it| it.fault == Fault::Unknown);
        if let Some(first) = wrong.first() {
            let message = format!(
                "{} in version \"v1alpha1\" cannot be handled as a {}: {first}",
                self.kind.name, self.kind.name
            );
            return Err(Failure::bad_request(message));
        }
        let words: Vec<String> = unknown.iter().map(ToString::to_string).collect();
        let warnings = match self.query.field_validation.as_deref().unwrap_or("Warn") {
            "Strict" if !words.is_empty() => {
                return Err(Failure::bad_request(format!("strict decoding error: {}", words.join(", "))));
            }
            "Ignore" => Vec::new(),
            _ => words,
        };
        prune(self.kind, &mut object);
        drop_empty(&mut object);
        object["apiVersion"] = json!("tilt.dev/v1alpha1");
        object["kind"] = json!(self.kind.name);
        fill(self.kind, &mut object);
        let causes = violations(self.kind, &object);
        if !causes.is_empty() {
            return Err(Failure::invalid(self.kind, &name_of(&object), &causes));
        }
        Ok((object, warnings))
    }

    /// The document must be of the kind, group and name that the address says.
    fn check_identity(&self, object: &Value, name: Option<&str>) -> Result<(), Failure> {
        let said = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
        if !matches!(said("apiVersion"), "" | "tilt.dev/v1alpha1")
            || !["", self.kind.name].contains(&said("kind"))
        {
            let message = format!(
                "the object is a {} of {}, and not a {} of tilt.dev/v1alpha1",
                said("kind"),
                said("apiVersion"),
                self.kind.name
            );
            return Err(Failure::bad_request(message));
        }
        match name {
            Some(name) if name_of(object) != name => {
                let message = format!(
                    "the name of the object ({}) is not that of the address ({name})",
                    name_of(object)
                );
                Err(Failure::bad_request(message))
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn read_body(body: &Bytes) -> Result<Value, Failure> {
    serde_json::from_slice(body)
        .map_err(|error| Failure::bad_request(format!("the body is no JSON: {error}")))
}

/// Refuses what is no object, or has no metadata to write into.
fn shaped(object: Value) -> Result<Value, Failure> {
    let is_map = |value: &Value| value.is_object() || value.is_null();
    match object.as_object() {
        None => Err(Failure::bad_request("the body is no object")),
        Some(members) if !members.get("metadata").is_none_or(is_map) => {
            Err(Failure::bad_request("metadata is no object"))
        }
        Some(_) => Ok(object),
    }
}

/// No labels are no field: so it is in Kubernetes, and those who compare see no difference.
fn drop_empty(object: &mut Value) {
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

fn given_version(object: &Value) -> Option<Value> {
    object
        .pointer("/metadata/resourceVersion")
        .filter(|version| version.as_str().is_some_and(|it| !it.is_empty()))
        .cloned()
}

/// The half that was asked for from what is wanted, the other one from what was there; what the server gives stays.
fn joined(before: &Value, wanted: Value, half: Half) -> Value {
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
