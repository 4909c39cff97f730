//! The result of a load as the JSON that `tilt alpha tiltfile-result` prints, which scripts read.
//!
//! Pure. Names, their order and what is left out when empty are Tilt's. The values of Secrets are not in it; names, paths and keys
//! that equal one are.

mod deploy;
mod image;
mod link;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lilt_api::fields::{Fields, Node, list_or_null, path, paths, sanitized};
use lilt_api::specs::environment;
use lilt_model::command::Command;
use lilt_model::files::IgnoreRule;
use lilt_model::project::{Project, Settings};
use lilt_model::resource::{Body, Resource, TriggerMode};
use lilt_model::secret::{Redactor, Secret};
use lilt_model::settings::{CiSettings, FEATURES, Telemetry};
use lilt_model::{Failure, ResourceName, Timestamp};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::assemble::UNCATEGORIZED;
use crate::request::Loaded;

/// Returns the result. `started` is the time from which Kubernetes objects are watched.
pub fn tiltfile_result(loaded: &Loaded, started: Timestamp) -> Result<TiltfileResult<'_>, &Failure> {
    let project = loaded.project.as_ref()?;
    let global_rules = loaded.files.ignores.as_slice();
    let context = Context { global_rules, started, settings: &project.settings };
    Ok(TiltfileResult { loaded, project, context, redactor: Redactor::new(&project.secrets) })
}

/// Built while it is serialized: as a whole it would take many times the memory of the project.
#[derive(Debug)]
pub struct TiltfileResult<'l> {
    loaded: &'l Loaded,
    project: &'l Project,
    context: Context<'l>,
    redactor: Redactor,
}

impl Serialize for TiltfileResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("Manifests", &Manifests(self))?;
        for (name, value) in self.others() {
            fields.serialize_entry(name, &value.without_secrets(name, &self.redactor))?;
        }
        fields.end()
    }
}

struct Manifests<'r>(&'r TiltfileResult<'r>);

impl Serialize for Manifests<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let TiltfileResult { project, context, redactor, .. } = self.0;
        if project.resources.is_empty() {
            return serializer.serialize_unit();
        }
        let written = |resource| manifest(resource, *context).without_secrets("Manifests", redactor);
        serializer.collect_seq(project.resources.iter().map(written))
    }
}

impl TiltfileResult<'_> {
    /// All but the manifests.
    fn others(&self) -> [(&'static str, Node); 17] {
        let settings = self.context.settings;
        [
            ("EnabledManifests", list_or_null(enabled(self.project))),
            ("Tiltignore", tiltignore(self.context.global_rules, settings).into()),
            ("ConfigFiles", paths(&self.loaded.files.roots).into()),
            ("FeatureFlags", features(settings).into()),
            ("TeamID", settings.team.as_str().into()),
            ("TelemetrySettings", telemetry(settings.telemetry.as_ref())),
            ("Secrets", secrets(&self.project.secrets).into()),
            ("Error", Node::NULL),
            ("DockerPruneSettings", docker_prune(settings).into()),
            ("AnalyticsOpt", analytics(settings).into()),
            ("VersionSettings", json!({"CheckUpdates": settings.check_updates}).into()),
            ("UpdateSettings", update_settings(settings)),
            ("WatchSettings", watch_settings(settings)),
            ("DefaultRegistry", registry(settings)),
            ("ObjectSet", objects(&self.project.api_objects).into()),
            ("Hashes", hashes(self.loaded).into()),
            ("CISettings", ci(&settings.ci)),
        ]
    }
}

/// What all resources share.
#[derive(Clone, Copy, Debug)]
struct Context<'p> {
    /// Rules at the end of each resource's own; Tilt's result has them separately.
    global_rules: &'p [IgnoreRule],
    started: Timestamp,
    settings: &'p Settings,
}

impl Context<'_> {
    fn without_global_rules<'r>(&self, rules: &'r [IgnoreRule]) -> &'r [IgnoreRule] {
        rules.strip_suffix(self.global_rules).unwrap_or(rules)
    }
}

fn manifest(resource: &Resource, context: Context<'_>) -> Node {
    let images = match &resource.body {
        // They have no images.
        Body::Local(_) => Node::NULL,
        Body::Kubernetes(_) if resource.name.as_str() == UNCATEGORIZED => Node::NULL,
        Body::Kubernetes(body) => image::targets(&resource.name, &body.images, context),
        Body::Compose(body) => image::targets(&resource.name, &body.images, context),
    };
    let target = match &resource.body {
        Body::Local(body) => deploy::local(resource, body, context),
        Body::Kubernetes(body) => deploy::kubernetes(resource, body, context),
        Body::Compose(body) => deploy::compose(resource, body),
    };
    let dependencies = resource.resource_deps.iter().map(ResourceName::as_str);
    let labels: Map<String, Value> =
        resource.labels.iter().map(|label| (label.clone(), label.as_str().into())).collect();
    Fields::new()
        .put("Name", resource.name.as_str())
        .put("ImageTargets", images)
        .put("DeployTarget", target)
        .put("TriggerMode", trigger_mode(resource))
        .put("ResourceDependencies", list_or_null(dependencies))
        .put("SourceTiltfile", "")
        .put("Labels", labels)
        .finish()
}

fn trigger_mode(resource: &Resource) -> u8 {
    match (resource.trigger_mode, resource.auto_init) {
        (TriggerMode::Auto, true) => 0,
        (TriggerMode::Manual, true) => 1,
        (TriggerMode::Manual, false) => 2,
        (TriggerMode::Auto, false) => 3,
    }
}

fn enabled(project: &Project) -> impl Iterator<Item = &str> {
    let names = project.resources.iter().map(|resource| &resource.name);
    names.filter(|name| project.is_enabled(name)).map(ResourceName::as_str)
}

fn tiltignore(global_rules: &[IgnoreRule], settings: &Settings) -> Value {
    match global_rules.strip_suffix(settings.watch_ignores.as_slice()) {
        Some([rule, ..]) => ignore_file(rule, &path(&rule.base.join(".tiltignore"))),
        _ => json!({"LocalPath": "", "Source": "", "Patterns": null}),
    }
}

fn ignore_file(rule: &IgnoreRule, source: &str) -> Value {
    json!({"LocalPath": path(&rule.base), "Source": source, "Patterns": rule.patterns})
}

fn features(settings: &Settings) -> Value {
    let value = |name: &str, default: bool| settings.features.get(name).copied().unwrap_or(default);
    let features =
        FEATURES.iter().map(|feature| (feature.name.to_owned(), value(feature.name, feature.enabled)));
    Value::Object(features.map(|(name, on)| (name, on.into())).collect())
}

fn command(command: Option<&Command>) -> Node {
    Fields::new()
        .put("Argv", command.map(|command| command.argv.clone()))
        .put("Dir", command.map(|command| path(&command.dir)).unwrap_or_default())
        .put("Env", list_or_null(command.map(environment).unwrap_or_default()))
        .put("EchoOff", false)
        .finish()
}

fn telemetry(telemetry: Option<&Telemetry>) -> Node {
    Fields::new()
        .put("Cmd", command(telemetry.map(|telemetry| &telemetry.command)))
        .put("Workdir", telemetry.map(|telemetry| path(&telemetry.directory)).unwrap_or_default())
        .put("Period", nanoseconds(telemetry.map_or(Telemetry::PERIOD, |telemetry| telemetry.period)))
        .finish()
}

/// Lists the secrets without their values: the output gets into logs and bug reports.
fn secrets(secrets: &[Secret]) -> Value {
    let mut fields = Map::new();
    for secret in secrets {
        let replacement = secret.replacement();
        let bytes = STANDARD.encode(&replacement);
        let entry = json!({
            "Name": secret.name,
            "Key": secret.key,
            "Value": bytes,
            "ValueEncoded": bytes,
            "Replacement": bytes,
        });
        fields.insert(replacement, entry);
    }
    Value::Object(fields)
}

fn docker_prune(settings: &Settings) -> Value {
    let prune = &settings.docker_prune;
    json!({
        "Enabled": prune.enabled,
        "MaxAge": prune.max_age_mins.saturating_mul(60_000_000_000),
        "NumBuilds": prune.num_builds,
        "Interval": prune.interval_hrs.saturating_mul(3_600_000_000_000),
        "KeepRecent": prune.keep_recent,
    })
}

fn analytics(settings: &Settings) -> u8 {
    match settings.analytics {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    }
}

fn update_settings(settings: &Settings) -> Node {
    let names = settings.suppress_unused_image_warnings.iter().map(String::as_str);
    Fields::new().put("SuppressUnusedImageWarnings", list_or_null(names)).finish()
}

fn watch_settings(settings: &Settings) -> Node {
    let rules = settings.watch_ignores.iter().map(|rule| ignore_file(rule, "watch_settings()"));
    Fields::new().put("Ignores", list_or_null(rules)).finish()
}

fn registry(settings: &Settings) -> Node {
    let Some(registry) = &settings.default_registry else { return Node::NULL };
    Fields::new()
        .put("host", registry.host.as_str())
        .put_unless_empty("hostFromContainerRuntime", registry.host_from_cluster.clone().unwrap_or_default())
        .put_unless_empty("singleName", registry.single_name.as_str())
        .finish()
}

/// Returns the objects by kind, then by name.
fn objects(objects: &[Value]) -> Value {
    let mut kinds: Map<String, Value> = Map::new();
    for object in objects {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let kind = format!("tilt.dev/v1alpha1, Resource={}", plural(text("/kind")));
        let mut metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
        if let Some(fields) = metadata.as_object_mut() {
            fields.entry("creationTimestamp").or_insert(Value::Null);
        }
        let spec = object.get("spec").cloned().unwrap_or_else(|| json!({}));
        let written = json!({"metadata": metadata, "spec": spec, "status": {}});
        let of_kind = kinds.entry(kind).or_insert_with(|| json!({}));
        of_kind[text("/metadata/name")] = written;
    }
    kinds.sort_keys();
    kinds.values_mut().filter_map(Value::as_object_mut).for_each(Map::sort_keys);
    Value::Object(kinds)
}

fn plural(kind: &str) -> String {
    let name = kind.to_lowercase();
    match name.strip_suffix("discovery") {
        Some(start) => format!("{start}discoveries"),
        None if name.ends_with("watch") => format!("{name}es"),
        None => format!("{name}s"),
    }
}

fn hashes(loaded: &Loaded) -> Value {
    json!({"TiltfileSHA256": loaded.hashes.tiltfile, "AllFilesSHA256": loaded.hashes.all_files})
}

fn ci(ci: &CiSettings) -> Node {
    let fields = ci.described(ci.timeout.unwrap_or(CiSettings::TIMEOUT));
    fields.fold(Fields::new(), |all, (name, length)| all.put(name, length)).finish()
}

fn nanoseconds(length: std::time::Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// The name of an API object that belongs to an image of a resource.
fn object_name(resource: &str, image: &str) -> String {
    sanitized(&format!("{resource}:{}", sanitized(image)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_plurals_equal_those_of_the_api() {
        let cases = [
            ("UIButton", "uibuttons"),
            ("FileWatch", "filewatches"),
            ("KubernetesDiscovery", "kubernetesdiscoveries"),
            ("KubernetesApply", "kubernetesapplys"),
        ];
        for (kind, expected) in cases {
            assert_eq!(plural(kind), expected);
        }
    }

    #[test]
    fn names_of_api_objects_have_no_slashes() {
        assert_eq!(object_name("web", "gcr.io/team/web"), "web:gcr.io_team_web");
    }
}
