//! Applies one object.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, DynamicObject};
use lilt_model::kubernetes::ObjectRef;
use lilt_model::settings::ServerSideApply;
use lilt_model::{Failure, Uid};
use serde_json::Value;
use tokio::time::Instant;

use super::pausable_timeout::PausableTimeout;
use super::{Applied, ApplyOptions, Remark, content, deployer, pause, rejection};
use crate::connect::Cluster;
use crate::delete::not_deleted;
use crate::error::{causes_of_status, code, status};
use crate::fingerprint;
use crate::inject::has_pod_template;
use crate::kinds::Kind;

/// An object with this annotation is created if it is missing and otherwise not changed.
pub(crate) const CREATE_ONCE: &str = "lilt.dev/create-once";
/// How long a deletion before a recreation may take, in addition to the object's grace period.
const DELETION_TIMEOUT: Duration = Duration::from_secs(30);
/// How many fields of a difference a message lists.
pub(super) const MAX_LISTED_FIELDS: usize = 10;

pub(super) struct Target<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) object: ObjectRef,
    pub(super) api: Api<DynamicObject>,
    pub(super) kind: Kind,
}

/// How one object is written.
#[derive(Clone, Copy)]
pub(super) struct WriteOptions {
    pub(super) merge: ServerSideApply,
    pub(super) overwrite: bool,
    /// Changes nothing; the response is the object as it would be.
    pub(super) dry: bool,
}

impl Target<'_> {
    /// Returns the result without an apply if the object is known and unchanged.
    ///
    /// Jobs are always read, because their completion is not in their metadata.
    pub(super) async fn unchanged(
        &self,
        object: &ObjectRef,
        body: &Value,
        options: &ApplyOptions<'_>,
    ) -> Option<Applied> {
        let known = options.known.get(object).filter(|_| object.kind != "Job")?;
        let manifest = fingerprint::digest(body);
        if options.overwrite || known.manifest != manifest {
            return None;
        }
        let listed = match options.bulk {
            true => self.cluster.listed(&self.kind, &self.object.namespace, &self.object.name).await,
            false => None,
        };
        let (uid, fingerprint) = match listed {
            Some(listed) => listed,
            None => {
                let meta = self.metadata().await?;
                (Uid::new(meta.uid.as_deref().unwrap_or_default()), fingerprint::fingerprint(&meta))
            }
        };
        (fingerprint == known.fingerprint).then(|| Applied {
            object: self.object.clone(),
            fingerprint,
            manifest,
            changed: false,
            recreated: false,
            complete: false,
            content: content::applied(body, &self.object, &uid),
            uid,
            remarks: Vec::new(),
            other_deployer: None,
        })
    }

    pub(super) async fn apply(
        &self,
        body: &Value,
        options: &ApplyOptions<'_>,
        limit: &PausableTimeout,
    ) -> Result<Applied, Failure> {
        let before = self.metadata().await;
        if is_create_once(body)
            && let Some(before) = &before
        {
            return self.keep_existing(body, before, options).await;
        }
        let mut remarks = Vec::new();
        let write = WriteOptions { merge: options.merge, overwrite: options.overwrite, dry: false };
        let mut recreated = false;
        let mut after = match self.write(body, before.as_ref(), write, &mut remarks).await {
            Ok(object) => object,
            Err(error) if is_immutable(&error) && before.is_some() && !self.deletion_loses_data() => {
                recreated = true;
                remarks.push(Remark::note(format!(
                    "{} is deleted and made anew: {}",
                    self.object,
                    first_line(&causes_of_status(&error))
                )));
                self.delete_and_wait(limit).await?;
                self.write(body, None, write, &mut remarks).await.map_err(|error| self.refused(&error))?
            }
            Err(error) => return Err(self.refused(&error)),
        };
        // The object was being deleted when it was applied.
        if after.metadata.deletion_timestamp.is_some() {
            recreated = true;
            self.wait_deleted(after.metadata.uid.as_deref(), limit).await?;
            let again = self.write(body, None, write, &mut remarks).await;
            after = again.map_err(|error| self.refused(&error))?;
        }
        // The resource version also changes with the status.
        let is_as_before = before.as_ref().is_some_and(|before| {
            fingerprint::fingerprint(before) == fingerprint::fingerprint(&after.metadata)
        });
        let changed = recreated || !is_as_before;
        let mut other_deployer = None;
        if let Some(own) = options.deployer.filter(|_| has_pod_template(body)) {
            other_deployer = before.as_ref().and_then(|meta| deployer::other(meta, own));
            if changed {
                let noted = self.record_deployer(before.as_ref().filter(|_| !recreated), own).await;
                after.metadata = noted.unwrap_or(after.metadata);
            }
        }
        Ok(Applied {
            changed,
            recreated,
            other_deployer,
            complete: is_complete(&after),
            remarks,
            content: content::returned(&after),
            ..self.applied(body, &after.metadata)
        })
    }

    fn applied(&self, body: &Value, meta: &ObjectMeta) -> Applied {
        let uid = Uid::new(meta.uid.as_deref().unwrap_or_default());
        Applied {
            object: self.object.clone(),
            content: content::applied(body, &self.object, &uid),
            uid,
            fingerprint: fingerprint::fingerprint(meta),
            manifest: fingerprint::digest(body),
            changed: false,
            recreated: false,
            complete: false,
            remarks: Vec::new(),
            other_deployer: None,
        }
    }

    /// Leaves an existing create-once object unchanged and reports its differences.
    async fn keep_existing(
        &self,
        body: &Value,
        before: &ObjectMeta,
        options: &ApplyOptions<'_>,
    ) -> Result<Applied, Failure> {
        let differences = self.differences(body, options.merge).await?;
        let mut remarks = Vec::new();
        if !differences.is_empty() {
            let mut listed_fields: Vec<String> =
                differences.iter().take(MAX_LISTED_FIELDS).map(ToString::to_string).collect();
            if differences.len() > MAX_LISTED_FIELDS {
                listed_fields.push(format!("and {} more", differences.len() - MAX_LISTED_FIELDS));
            }
            remarks.push(Remark::warning(format!(
                "{} is left as it is in the cluster ({CREATE_ONCE}); the YAML would change: {}",
                self.object,
                listed_fields.join("; ")
            )));
        }
        Ok(Applied { remarks, ..self.applied(body, before) })
    }

    /// Whether deleting the object loses more than its manifest recreates: data, or all objects of a kind.
    pub(super) fn deletion_loses_data(&self) -> bool {
        const HOLDERS: [&str; 4] =
            ["PersistentVolumeClaim", "PersistentVolume", "CustomResourceDefinition", "Namespace"];
        HOLDERS.contains(&self.object.kind.as_str())
    }

    /// Writes the object, with one or several requests.
    pub(super) async fn write(
        &self,
        body: &Value,
        before: Option<&ObjectMeta>,
        options: WriteOptions,
        remarks: &mut Vec<Remark>,
    ) -> kube::Result<DynamicObject> {
        match options.merge {
            ServerSideApply::Never => self.write_client_side(body, options, remarks).await,
            ServerSideApply::Always => self.write_server_side(body, before, options, remarks).await,
            ServerSideApply::Auto => match self.write_server_side(body, before, options, remarks).await {
                Err(error) if is_untypable(&error) => {
                    remarks.push(Remark::warning(format!(
                        "{} is merged on this machine, because the API server cannot: {}",
                        self.object,
                        first_line(&causes_of_status(&error))
                    )));
                    self.write_client_side(body, options, remarks).await
                }
                result => result,
            },
        }
    }

    /// Returns none also if the metadata cannot be read: the object then counts as changed.
    pub(super) async fn metadata(&self) -> Option<ObjectMeta> {
        self.api.get_metadata_opt(&self.object.name).await.ok().flatten().map(|object| object.metadata)
    }

    async fn delete_and_wait(&self, limit: &PausableTimeout) -> Result<(), Failure> {
        let current =
            self.api.get_metadata_opt(&self.object.name).await.map_err(|error| self.refused(&error))?;
        let uid = current.and_then(|object| object.metadata.uid);
        match self.api.delete(&self.object.name, &DeleteParams::background()).await {
            Ok(_) => {}
            Err(error) if code(&error) == Some(404) => {}
            Err(error) => return Err(self.refused(&error)),
        }
        self.wait_deleted(uid.as_deref(), limit).await
    }

    /// Waits for the end of a deletion. The pods decide how long that takes, so the timeout of the apply is paused.
    async fn wait_deleted(&self, uid: Option<&str>, limit: &PausableTimeout) -> Result<(), Failure> {
        let remaining = limit.pause();
        let since = Instant::now();
        loop {
            let current =
                self.api.get_metadata_opt(&self.object.name).await.map_err(|error| self.refused(&error))?;
            let Some(leaving) = current.filter(|object| object.metadata.uid.as_deref() == uid) else { break };
            let grace = leaving.metadata.deletion_grace_period_seconds.unwrap_or(0);
            let timeout = DELETION_TIMEOUT + Duration::from_secs(u64::try_from(grace).unwrap_or(0));
            if since.elapsed() > timeout {
                let finalizers = leaving.metadata.finalizers.unwrap_or_default();
                return Err(not_deleted(&self.object, timeout, &finalizers));
            }
            pause().await;
        }
        limit.resume(remaining);
        Ok(())
    }

    /// Waits until the names of a CRD are accepted: it is not served before.
    pub(super) async fn wait_established(&self) -> Result<(), Failure> {
        loop {
            let definition = self.api.get(&self.object.name).await.map_err(|error| self.refused(&error))?;
            let conditions = definition.data.pointer("/status/conditions").and_then(Value::as_array);
            let established = conditions.is_some_and(|conditions| {
                conditions
                    .iter()
                    .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
            });
            if established {
                return Ok(());
            }
            pause().await;
        }
    }

    pub(super) fn refused(&self, error: &kube::Error) -> Failure {
        match (code(error), status(error)) {
            (Some(403), Some(status)) if rejection::is_quota(status) => {
                rejection::quota(&self.object, status)
            }
            (Some(403), _) if !is_immutable(error) => {
                self.cluster.forbidden(&format!("to apply {}", self.object), error)
            }
            (_, Some(status)) if is_immutable(error) && self.deletion_loses_data() => {
                rejection::not_replaceable(&self.object, status)
            }
            (Some(404), _) => {
                self.cluster.kinds.forget(&self.kind);
                rejection::missing(&self.object, causes_of_status(error))
            }
            (Some(401) | None, _) | (_, None) => self.cluster.failure("applying", error),
            (_, Some(status)) => rejection::rejected(&self.object, status),
        }
    }
}

pub fn is_create_once(object: &Value) -> bool {
    let annotations = object.pointer("/metadata/annotations");
    annotations.and_then(|it| it.get(CREATE_ONCE)).and_then(Value::as_str) == Some("true")
}

fn is_complete(object: &DynamicObject) -> bool {
    let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
    let met = |condition: &Value| condition["type"] == "Complete" && condition["status"] == "True";
    conditions.is_some_and(|conditions| conditions.iter().any(met))
}

/// Detects a change of an immutable field, for which the API server has no code. A superset of Tilt's check.
pub(super) fn is_immutable(error: &kube::Error) -> bool {
    const WORDS: [&str; 3] = ["field is immutable", "Forbidden:", "may not change once set"];
    status(error)
        .is_some_and(|status| status.code == 422 && WORDS.iter().any(|words| status.message.contains(words)))
}

/// Whether server-side apply cannot handle an object that client-side apply can: a list with duplicate names, an
/// unknown field.
fn is_untypable(error: &kube::Error) -> bool {
    status(error).is_some_and(|status| {
        ["duplicate entries for key", "field not declared in schema"]
            .iter()
            .any(|words| status.message.contains(words))
    })
}

pub(super) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
