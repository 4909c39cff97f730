//! What resources deploy or run, in the result of a load.

use lilt_model::command::Command;
use lilt_model::compose::{ComposeConfig, ComposeResource};
use lilt_model::kubernetes::{CustomDeploy, DiscoveryStrategy, Forward, KubernetesResource, PodReadiness};
use lilt_model::locator::ImageLocator;
use lilt_model::probe::{Probe, ProbeAction};
use lilt_model::resource::{Link, LocalResource, Resource};
use lilt_model::settings::ServerSideApply;
use lilt_model::{ImageName, Timestamp};
use serde_json::{Value, json};

use super::fields::{Fields, Node, ignores, list_or_null, path, paths, sanitized};
use super::{Context, command, environment, link};
use crate::yaml;

/// Sidecars whose logs nobody asked for.
const QUIET_CONTAINERS: [&str; 4] = ["istio-init", "istio-proxy", "linkerd-proxy", "linkerd-init"];

pub(super) fn kubernetes(resource: &Resource, body: &KubernetesResource, context: Context<'_>) -> Node {
    let deploy = body.custom_deploy.as_ref();
    let strategy = body.discovery_strategy.map_or("", |strategy| match strategy {
        DiscoveryStrategy::Default => "default",
        DiscoveryStrategy::SelectorsOnly => "selectors-only",
    });
    let selectors: Vec<Value> =
        body.extra_pod_selectors.iter().map(|labels| json!({"matchLabels": labels})).collect();
    let discovery = if selectors.is_empty() { Value::Null } else { json!({"extraSelectors": selectors}) };
    let restart_on = || json!({"fileWatches": [sanitized(&format!("{}:apply", resource.name))]});
    let by_command = |part: fn(&CustomDeploy) -> Node| deploy.map_or(Node::NULL, part);
    let watched = deploy.map(|deploy| context.own(&deploy.files.ignores)).unwrap_or_default();
    Fields::new()
        .put_unless_empty("yaml", objects(&body.objects))
        .put_unless_empty("imageMaps", image_maps(&body.image_deps))
        .put_unless_empty("imageLocators", body.image_locators.iter().map(locator).collect::<Node>())
        .put(
            "timeout",
            lilt_model::duration::display(std::time::Duration::from_secs(body.apply_timeout_secs.into())),
        )
        .put_unless_empty("kubernetesDiscoveryTemplateSpec", discovery)
        .put_unless_empty("portForwardTemplateSpec", forwards(&body.forwards))
        .put(
            "podLogStreamTemplateSpec",
            json!({"sinceTime": seconds(context.started), "ignoreContainers": QUIET_CONTAINERS}),
        )
        .put_unless_empty("discoveryStrategy", strategy)
        .put_unless_empty("applyCmd", by_command(|deploy| apply_command(&deploy.apply)))
        .put_unless_empty("restartOn", deploy.map_or(Value::Null, |_| restart_on()))
        .put_unless_empty("deleteCmd", by_command(|deploy| apply_command(&deploy.delete)))
        .put("cluster", "default")
        .put_unless_empty("serverSideApply", context.settings.server_side_apply == ServerSideApply::Always)
        .put("Name", resource.name.as_str())
        .put("PodReadinessMode", readiness(body.pod_readiness))
        .put("Links", links(&resource.links))
        .put("FileWatchIgnores", list_or_null(ignores(watched)))
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
        .put("FileWatchIgnores", list_or_null(ignores(context.own(&body.files.ignores))))
        .put("AllowParallel", body.allow_parallel || body.update.is_none())
        .put("ReadinessProbe", body.readiness_probe.as_ref().map_or(Node::NULL, probe))
        .put("ServeCmdDisableSource", Value::Null)
        .finish()
}

pub(super) fn compose(resource: &Resource, body: &ComposeResource) -> Node {
    let project = &body.project;
    let mut files = Vec::new();
    let mut texts = Vec::new();
    for config in &project.configs {
        match config {
            ComposeConfig::File(file) => files.push(path(file)),
            ComposeConfig::Text(text) => texts.push(text.as_str()),
        }
    }
    let project = Fields::new()
        .put_unless_empty("configPaths", files)
        .put_unless_empty("projectPath", path(&project.directory))
        .put_unless_empty("yaml", texts.join("\n---\n"))
        .put_unless_empty("name", project.name.as_str())
        .put_unless_empty("envFile", project.env_file.as_deref().map(path).unwrap_or_default())
        .put_unless_empty("profiles", project.profiles.clone())
        .put_unless_empty("wait", project.wait)
        .finish();
    let spec = Fields::new()
        .put("service", body.service.as_str())
        .put("project", project)
        .put_unless_empty("imageMaps", image_maps(&body.image_deps))
        .finish();
    Fields::new()
        .put("Spec", spec)
        .put("Name", resource.name.as_str())
        .put("ServiceYAML", text(&body.config))
        .put("Links", links(&resource.links))
        .finish()
}

/// Without what the cluster says about them.
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

/// What cannot be written as YAML is YAML as JSON.
fn text(value: &Value) -> String {
    yaml::encode(value).unwrap_or_else(|_| value.to_string())
}

fn image_maps(names: &[ImageName]) -> Vec<String> {
    names.iter().map(|name| sanitized(name.as_str())).collect()
}

fn locator(locator: &ImageLocator) -> Node {
    let selector = &locator.selector;
    let selector = Fields::new()
        .put_unless_empty("apiVersionRegexp", selector.api_version.as_str())
        .put_unless_empty("kindRegexp", selector.kind.as_str())
        .put_unless_empty("nameRegexp", selector.name.as_str())
        .put_unless_empty("namespaceRegexp", selector.namespace.as_str())
        .finish();
    let object = locator
        .object
        .as_ref()
        .map_or(Value::Null, |object| json!({"repoField": object.repo_field, "tagField": object.tag_field}));
    Fields::new()
        .put("objectSelector", selector)
        .put("path", locator.path.as_str())
        .put_unless_empty("object", object)
        .finish()
}

fn forwards(forwards: &[Forward]) -> Node {
    let write = |forward: &Forward| {
        let host = if forward.host.is_empty() { "localhost" } else { &forward.host };
        Fields::new()
            .put_unless_empty("localPort", forward.local_port)
            .put("containerPort", forward.container_port)
            .put("host", host)
            .put_unless_empty("name", forward.name.as_str())
            .put_unless_empty("path", forward.path.as_str())
            .finish()
    };
    match forwards {
        [] => Node::NULL,
        forwards => Fields::new().put("forwards", forwards.iter().map(write).collect::<Node>()).finish(),
    }
}

fn apply_command(command: &Command) -> Node {
    Fields::new()
        .put("args", command.argv.clone())
        .put("dir", path(&command.dir))
        .put("env", list_or_null(environment(command)))
        .finish()
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

fn probe(probe: &Probe) -> Node {
    let fields = match &probe.action {
        ProbeAction::Exec { command } => {
            Fields::new().put("exec", Fields::new().put_unless_empty("command", command.clone()).finish())
        }
        ProbeAction::HttpGet { port, host, scheme, path, .. } => {
            let action = Fields::new()
                .put_unless_empty("path", path.as_str())
                .put("port", *port)
                .put_unless_empty("host", host.as_str())
                .put_unless_empty("scheme", scheme.as_str());
            Fields::new().put("httpGet", action.finish())
        }
        ProbeAction::TcpSocket { port, host } => Fields::new().put(
            "tcpSocket",
            Fields::new().put("port", *port).put_unless_empty("host", host.as_str()).finish(),
        ),
    };
    fields
        .put_unless_empty("initialDelaySeconds", probe.initial_delay_secs)
        .put_unless_empty("timeoutSeconds", probe.timeout_secs)
        .put_unless_empty("periodSeconds", probe.period_secs)
        .put_unless_empty("successThreshold", probe.success_threshold)
        .put_unless_empty("failureThreshold", probe.failure_threshold)
        .finish()
}

/// Kubernetes' `Time` has no fractions.
fn seconds(time: Timestamp) -> String {
    let text = time.to_string();
    match text.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => text,
    }
}
