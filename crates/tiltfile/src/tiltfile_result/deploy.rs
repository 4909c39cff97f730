//! The deploy targets of resources in the result of a load.

use lilt_api::fields::{Fields, Node, ignores, list_or_null, path, paths};
use lilt_api::probe_text as probe;
use lilt_api::specs::{self, environment};
use lilt_model::compose::ComposeResource;
use lilt_model::kubernetes::{KubernetesResource, PodReadiness};
use lilt_model::resource::{Link, LocalResource, Resource};
use lilt_model::settings::ServerSideApply;
use serde_json::{Value, json};

use super::{Context, command, link};
use lilt_model::yaml;

pub(super) fn kubernetes(resource: &Resource, body: &KubernetesResource, context: Context<'_>) -> Node {
    let watched =
        body.custom_deploy.as_ref().map(|deploy| context.without_global_rules(&deploy.files.ignores));
    specs::kubernetes_apply(&resource.name, body, objects(&body.objects), context.started)
        .put_unless_empty("serverSideApply", context.settings.server_side_apply == ServerSideApply::Always)
        .put("Name", resource.name.as_str())
        .put("PodReadinessMode", readiness(body.pod_readiness))
        .put("Links", links(&resource.links))
        .put("FileWatchIgnores", list_or_null(ignores(watched.unwrap_or_default())))
        .finish()
}

pub(super) fn local(resource: &Resource, body: &LocalResource, context: Context<'_>) -> Node {
    let update = body.update.as_ref().map_or(Node::NULL, |update| {
        Fields::new()
            .put_unless_empty("args", update.argv.clone())
            .put_unless_empty("dir", path(&update.dir))
            .put_unless_empty("env", environment(update))
            .finish()
    });
    Fields::new()
        .put("UpdateCmdSpec", update)
        .put("Name", resource.name.as_str())
        .put("ServeCmd", command(body.serve.as_ref()))
        .put("Links", links(&resource.links))
        .put("Deps", list_or_null(paths(&body.files.roots)))
        .put("FileWatchIgnores", list_or_null(ignores(context.without_global_rules(&body.files.ignores))))
        .put("AllowParallel", body.allow_parallel || body.update.is_none())
        .put("ReadinessProbe", body.readiness_probe.as_ref().map_or(Node::NULL, probe::written))
        .put("ServeCmdDisableSource", Value::Null)
        .finish()
}

pub(super) fn compose(resource: &Resource, body: &ComposeResource) -> Node {
    Fields::new()
        .put("Spec", specs::compose_service(body).finish())
        .put("Name", resource.name.as_str())
        .put("ServiceYAML", text(&body.config))
        .put("Links", links(&resource.links))
        .finish()
}

/// Returns the objects as YAML, without their status.
fn objects(objects: &[Value]) -> String {
    let said = |object: &Value| {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.shift_remove("status");
        }
        text(&object)
    };
    objects.iter().map(said).collect::<Vec<_>>().join("\n---\n")
}

/// Encodes as YAML, or else as JSON, which is YAML, too.
fn text(value: &Value) -> String {
    yaml::encode(value).unwrap_or_else(|_| value.to_string())
}

fn readiness(mode: PodReadiness) -> &'static str {
    match mode {
        PodReadiness::Wait => "wait",
        PodReadiness::Ignore => "ignore",
        PodReadiness::Succeeded => "succeeded",
    }
}

fn links(links: &[Link]) -> Node {
    list_or_null(links.iter().map(|it| json!({"URL": link::parts(&it.url), "Name": it.name})))
}
