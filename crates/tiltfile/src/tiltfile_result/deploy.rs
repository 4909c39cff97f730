//! The deploy targets of resources in the result of a load.

use lilt_api::{CmdSpec, DockerComposeServiceSpec, IgnoreDef, KubernetesApplySpec, Probe, ignore_defs};
use lilt_model::compose::ComposeResource;
use lilt_model::kubernetes::{KubernetesResource, PodReadiness};
use lilt_model::resource::{Body, Link, LocalResource, Resource};
use lilt_model::settings::ServerSideApply;
use lilt_model::yaml;
use serde::Serialize;
use serde_json::Value;

use super::{CommandEntry, Context, link, list_or_null};

/// What a resource deploys, with the fields of Tilt's targets.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum DeployTarget {
    Kubernetes(Box<KubernetesTarget>),
    Local(Box<LocalTarget>),
    Compose(Box<ComposeTarget>),
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct KubernetesTarget {
    #[serde(flatten)]
    spec: KubernetesApplySpec,
    name: String,
    pod_readiness_mode: &'static str,
    links: Option<Vec<LinkEntry>>,
    file_watch_ignores: Option<Vec<IgnoreDef>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct LocalTarget {
    update_cmd_spec: Option<CmdSpec>,
    name: String,
    serve_cmd: CommandEntry,
    links: Option<Vec<LinkEntry>>,
    deps: Option<Vec<String>>,
    file_watch_ignores: Option<Vec<IgnoreDef>>,
    allow_parallel: bool,
    readiness_probe: Option<Probe>,
    serve_cmd_disable_source: Option<()>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ComposeTarget {
    spec: DockerComposeServiceSpec,
    name: String,
    #[serde(rename = "ServiceYAML")]
    service_yaml: String,
    links: Option<Vec<LinkEntry>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct LinkEntry {
    #[serde(rename = "URL")]
    url: Value,
    name: String,
}

impl DeployTarget {
    pub(super) fn new(resource: &Resource, context: Context<'_>) -> Self {
        match &resource.body {
            Body::Kubernetes(body) => Self::Kubernetes(Box::new(kubernetes(resource, body, context))),
            Body::Local(body) => Self::Local(Box::new(local(resource, body, context))),
            Body::Compose(body) => Self::Compose(Box::new(compose(resource, body))),
        }
    }
}

fn kubernetes(resource: &Resource, body: &KubernetesResource, context: Context<'_>) -> KubernetesTarget {
    let deploy_files = body.custom_deploy.as_ref().map(|deploy| &deploy.files);
    let ignores = deploy_files.map(|files| context.without_global_rules(&files.ignores));
    let yaml = objects(&body.objects);
    KubernetesTarget {
        spec: KubernetesApplySpec {
            server_side_apply: context.settings.server_side_apply == ServerSideApply::Always,
            ..KubernetesApplySpec::new(&resource.name, body, yaml, context.started)
        },
        name: resource.name.to_string(),
        pod_readiness_mode: readiness(body.pod_readiness),
        links: links(&resource.links),
        file_watch_ignores: list_or_null(ignore_defs(ignores.unwrap_or_default())),
    }
}

fn local(resource: &Resource, body: &LocalResource, context: Context<'_>) -> LocalTarget {
    let ignores = context.without_global_rules(&body.files.ignores);
    LocalTarget {
        update_cmd_spec: body.update.as_ref().map(CmdSpec::from),
        name: resource.name.to_string(),
        serve_cmd: CommandEntry::new(body.serve.as_ref()),
        links: links(&resource.links),
        deps: list_or_null(body.files.roots.iter().map(|path| path.display().to_string())),
        file_watch_ignores: list_or_null(ignore_defs(ignores)),
        allow_parallel: body.allow_parallel || body.update.is_none(),
        readiness_probe: body.readiness_probe.as_ref().map(Probe::from),
        serve_cmd_disable_source: None,
    }
}

fn compose(resource: &Resource, body: &ComposeResource) -> ComposeTarget {
    ComposeTarget {
        spec: DockerComposeServiceSpec::from(body),
        name: resource.name.to_string(),
        service_yaml: text(&body.config),
        links: links(&resource.links),
    }
}

/// Returns the objects as YAML, without their status.
fn objects(objects: &[Value]) -> String {
    let without_status = |object: &Value| {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.shift_remove("status");
        }
        text(&object)
    };
    objects.iter().map(without_status).collect::<Vec<_>>().join("\n---\n")
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

fn links(links: &[Link]) -> Option<Vec<LinkEntry>> {
    list_or_null(links.iter().map(|it| LinkEntry { url: link::parts(&it.url), name: it.name.clone() }))
}
