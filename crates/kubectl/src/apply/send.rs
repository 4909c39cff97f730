//! Applies one object: creates it, patches it or leaves it unchanged.

use lilt_client::object_api::{Api, ApiPath, PatchType};
use lilt_host::terminal;
use serde_json::Value;

use super::Apply;
use crate::Outcome;
use crate::delete::{options, wait_until_deleted};
use crate::documents::Document;
use crate::flags::Dry;
use crate::lookup::FoundObject;
use crate::merge::{changes, conflicts, three_way};
use crate::problem::Problem;
use crate::report::{Report, last_applied, with_last_applied};

/// The manager of server-side apply, unless another one is named.
const SERVER_SIDE_MANAGER: &str = "kubectl";
const CLIENT_SIDE_MANAGER: &str = "kubectl-client-side-apply";

impl Apply {
    pub(super) async fn send(&self, api: &mut Api, document: &Document, report: &mut Report) -> Outcome {
        if self.server_side {
            return self.server_side(api, document, report).await;
        }
        let wanted = with_last_applied(&document.object);
        let name = document.required_name()?;
        let dry = self.dry_run.dry_run;
        let current = api.find_object(&ApiPath::one(document.kind, name)).await?;
        let Some(current) = current else {
            let place = self.parameters(ApiPath::all(document.kind));
            let made = if dry == Dry::Client { wanted } else { api.create(&place, &wanted).await? };
            return report.print(&made, "created", dry);
        };
        let applied = last_applied(&current);
        if applied.is_none() {
            terminal::aside(&format!(
                "Warning: resource {}/{name} is missing the kubectl.kubernetes.io/last-applied-configuration annotation \
                 which is required by apply. It will be patched automatically.",
                document.kind.plural
            ));
        }
        let applied = applied.unwrap_or_default();
        self.check_conflicts(&applied, document, &current)?;
        let patch = three_way(&applied, &wanted, &current);
        if !changes(&patch, &current) {
            return report.print(&current, "unchanged", dry);
        }
        let changed = self.change(api, document, &current, &wanted, &patch).await?;
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        let same = dry == Dry::Not && version(&changed) == version(&current);
        report.print(&changed, if same { "unchanged" } else { "configured" }, dry)
    }

    fn check_conflicts(&self, applied: &Value, document: &Document, current: &Value) -> Outcome {
        if self.overwrite.0 {
            return Ok(());
        }
        let found = conflicts(applied, &document.object, current);
        if found.is_empty() {
            return Ok(());
        }
        Err(Problem::message(format!(
            "{:?}: somebody else has changed {} since it was applied, and --overwrite is false",
            document.source,
            found.join(", ")
        )))
    }

    async fn change(
        &self,
        api: &mut Api,
        document: &Document,
        current: &Value,
        wanted: &Value,
        patch: &Value,
    ) -> Result<Value, Problem> {
        if self.dry_run.dry_run == Dry::Client {
            let mut changed = current.clone();
            json_patch::merge(&mut changed, patch);
            return Ok(changed);
        }
        let place = self.parameters(ApiPath::one(document.kind, document.name()));
        match api.patch(&place, PatchType::Merge, patch).await {
            Err(error) if self.force && (error.is_refusal("Invalid") || error.is_refusal("Conflict")) => {
                self.recreate(api, document, current, wanted).await
            }
            changed => Ok(changed?),
        }
    }

    async fn recreate(
        &self,
        api: &mut Api,
        document: &Document,
        current: &Value,
        wanted: &Value,
    ) -> Result<Value, Problem> {
        let found = FoundObject { kind: document.kind, object: current.clone() };
        api.delete(&found.place(), &options(self.cascade, self.grace_period)).await?;
        wait_until_deleted(api, &found, self.timeout).await?;
        Ok(api.create(&self.parameters(ApiPath::all(document.kind)), wanted).await?)
    }

    async fn server_side(&self, api: &mut Api, document: &Document, report: &mut Report) -> Outcome {
        let manager = match self.field_manager.as_str() {
            CLIENT_SIDE_MANAGER => SERVER_SIDE_MANAGER,
            named => named,
        };
        let dry = self.dry_run.dry_run;
        let place = ApiPath::one(document.kind, document.required_name()?)
            .subresource(self.subresource.as_deref())
            .with_query("fieldManager", manager)
            .with_query("force", self.force_conflicts.to_string())
            .with_query("fieldValidation", self.validate.validate.parameter())
            .with_query("dryRun", dry.parameter());
        let applied = api.patch(&place, PatchType::Apply, &document.object).await?;
        report.print(&applied, "serverside-applied", dry)
    }

    fn parameters(&self, place: ApiPath) -> ApiPath {
        place
            .with_query("fieldManager", &self.field_manager)
            .with_query("fieldValidation", self.validate.validate.parameter())
            .with_query("dryRun", self.dry_run.dry_run.parameter())
    }
}
