//! The result of a load as the JSON that `tilt alpha tiltfile-result` prints, which scripts read.
//!
//! Pure. Names, their order and what is left out when empty are Tilt's. The values of Secrets are not in it; names, paths and keys
//! that equal one are.

mod deploy;
mod image;
mod link;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lilt_api::kinds::kinds;
use lilt_api::{RegistryHosting, SessionCISpec, environment, sanitize_name};
use lilt_model::command::Command;
use lilt_model::files::IgnoreRule;
use lilt_model::project::{Project, Settings};
use lilt_model::resource::{Body, Resource, TriggerMode};
use lilt_model::secret::{Redactor, Secret, redact_values};
use lilt_model::settings::{CiSettings, FEATURES, Telemetry};
use lilt_model::{Failure, ResourceName, Timestamp};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::request::Loaded;
use deploy::DeployTarget;
use image::ImageTargetEntry;

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
        if let Value::Object(summary) = redact_values("", json!(self.summary()), &self.redactor) {
            for (name, value) in &summary {
                fields.serialize_entry(name, value)?;
            }
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
        let redacted = |resource| RedactedManifest { manifest: manifest(resource, *context), redactor };
        serializer.collect_seq(project.resources.iter().map(redacted))
    }
}

/// Written field by field without an intermediate value, unless there is something to redact.
struct RedactedManifest<'r> {
    manifest: Manifest<'r>,
    redactor: &'r Redactor,
}

impl Serialize for RedactedManifest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.redactor.is_empty() {
            true => self.manifest.serialize(serializer),
            false => redact_values("Manifests", json!(self.manifest), self.redactor).serialize(serializer),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Manifest<'r> {
    name: &'r str,
    image_targets: Option<Vec<ImageTargetEntry>>,
    deploy_target: DeployTarget,
    trigger_mode: u8,
    resource_dependencies: Option<Vec<&'r str>>,
    source_tiltfile: &'static str,
    labels: Map<String, Value>,
}

/// All but the manifests.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Summary<'r> {
    enabled_manifests: Option<Vec<&'r str>>,
    tiltignore: IgnoreFile<'r>,
    config_files: Vec<String>,
    feature_flags: Map<String, Value>,
    #[serde(rename = "TeamID")]
    team_id: &'r str,
    telemetry_settings: TelemetrySettings,
    secrets: Map<String, Value>,
    error: Option<()>,
    docker_prune_settings: Value,
    analytics_opt: u8,
    version_settings: Value,
    update_settings: UpdateSettings<'r>,
    watch_settings: WatchSettings<'r>,
    default_registry: Option<RegistryHosting>,
    object_set: Value,
    hashes: Value,
    #[serde(rename = "CISettings")]
    ci_settings: SessionCISpec,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct IgnoreFile<'r> {
    local_path: String,
    source: String,
    patterns: Option<&'r [String]>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct CommandEntry {
    argv: Option<Vec<String>>,
    dir: String,
    env: Option<Vec<String>>,
    echo_off: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct TelemetrySettings {
    cmd: CommandEntry,
    workdir: String,
    /// In nanoseconds.
    period: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct UpdateSettings<'r> {
    suppress_unused_image_warnings: Option<Vec<&'r str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct WatchSettings<'r> {
    ignores: Option<Vec<IgnoreFile<'r>>>,
}

impl TiltfileResult<'_> {
    fn summary(&self) -> Summary<'_> {
        let settings = self.context.settings;
        let unused_images = settings.suppress_unused_image_warnings.iter().map(String::as_str);
        let watch_ignores = settings.watch_ignores.iter();
        Summary {
            enabled_manifests: list_or_null(enabled(self.project)),
            tiltignore: tiltignore(self.context.global_rules, settings),
            config_files: self.loaded.files.roots.iter().map(|path| path.display().to_string()).collect(),
            feature_flags: features(settings),
            team_id: &settings.team,
            telemetry_settings: telemetry(settings.telemetry.as_ref()),
            secrets: secrets(&self.project.secrets),
            error: None,
            docker_prune_settings: docker_prune(settings),
            analytics_opt: analytics(settings),
            version_settings: json!({"CheckUpdates": settings.check_updates}),
            update_settings: UpdateSettings { suppress_unused_image_warnings: list_or_null(unused_images) },
            watch_settings: WatchSettings {
                ignores: list_or_null(
                    watch_ignores.map(|rule| ignore_file(rule, "watch_settings()".to_owned())),
                ),
            },
            default_registry: settings.default_registry.as_ref().map(RegistryHosting::from),
            object_set: objects(&self.project.api_objects),
            hashes: hashes(self.loaded),
            ci_settings: SessionCISpec::new(&settings.ci, settings.ci.timeout.unwrap_or(CiSettings::TIMEOUT)),
        }
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

/// Returns a list as Go writes it: null if nothing was ever put into it.
fn list_or_null<T>(items: impl IntoIterator<Item = T>) -> Option<Vec<T>> {
    let list: Vec<T> = items.into_iter().collect();
    (!list.is_empty()).then_some(list)
}

fn manifest<'r>(resource: &'r Resource, context: Context<'_>) -> Manifest<'r> {
    let image_targets = match &resource.body {
        // They have no images.
        Body::Local(_) => None,
        Body::Kubernetes(_) if resource.name.is_uncategorized() => None,
        Body::Kubernetes(body) => Some(image::targets(&resource.name, &body.images, context)),
        Body::Compose(body) => Some(image::targets(&resource.name, &body.images, context)),
    };
    Manifest {
        name: resource.name.as_str(),
        image_targets,
        deploy_target: DeployTarget::new(resource, context),
        trigger_mode: trigger_mode(resource),
        resource_dependencies: list_or_null(resource.resource_deps.iter().map(ResourceName::as_str)),
        source_tiltfile: "",
        labels: resource.labels.iter().map(|label| (label.clone(), label.as_str().into())).collect(),
    }
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

fn tiltignore<'r>(global_rules: &'r [IgnoreRule], settings: &Settings) -> IgnoreFile<'r> {
    match global_rules.strip_suffix(settings.watch_ignores.as_slice()) {
        Some([rule, ..]) => ignore_file(rule, rule.base.join(".tiltignore").display().to_string()),
        _ => IgnoreFile { local_path: String::new(), source: String::new(), patterns: None },
    }
}

fn ignore_file(rule: &IgnoreRule, source: String) -> IgnoreFile<'_> {
    IgnoreFile { local_path: rule.base.display().to_string(), source, patterns: Some(&rule.patterns) }
}

fn features(settings: &Settings) -> Map<String, Value> {
    let value = |name: &str, default: bool| settings.features.get(name).copied().unwrap_or(default);
    let features =
        FEATURES.iter().map(|feature| (feature.name.to_owned(), value(feature.name, feature.enabled)));
    features.map(|(name, on)| (name, on.into())).collect()
}

impl CommandEntry {
    fn new(command: Option<&Command>) -> Self {
        Self {
            argv: command.map(|command| command.argv.clone()),
            dir: command.map(|command| command.dir.display().to_string()).unwrap_or_default(),
            env: list_or_null(command.map(environment).unwrap_or_default()),
            echo_off: false,
        }
    }
}

fn telemetry(telemetry: Option<&Telemetry>) -> TelemetrySettings {
    let directory = telemetry.map(|telemetry| telemetry.directory.display().to_string());
    TelemetrySettings {
        cmd: CommandEntry::new(telemetry.map(|telemetry| &telemetry.command)),
        workdir: directory.unwrap_or_default(),
        period: nanoseconds(telemetry.map_or(Telemetry::PERIOD, |telemetry| telemetry.period)),
    }
}

/// Lists the secrets without their values: the output gets into logs and bug reports.
fn secrets(secrets: &[Secret]) -> Map<String, Value> {
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
    fields
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

/// Returns the objects by kind, then by name.
fn objects(objects: &[Value]) -> Value {
    let mut of_kinds: Map<String, Value> = Map::new();
    for object in objects {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let plural = kinds().named(text("/kind")).map_or("", |kind| kind.plural);
        let mut metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
        if let Some(fields) = metadata.as_object_mut() {
            fields.entry("creationTimestamp").or_insert(Value::Null);
        }
        let spec = object.get("spec").cloned().unwrap_or_else(|| json!({}));
        let written = json!({"metadata": metadata, "spec": spec, "status": {}});
        let of_kind =
            of_kinds.entry(format!("tilt.dev/v1alpha1, Resource={plural}")).or_insert_with(|| json!({}));
        of_kind[text("/metadata/name")] = written;
    }
    of_kinds.sort_keys();
    of_kinds.values_mut().filter_map(Value::as_object_mut).for_each(Map::sort_keys);
    Value::Object(of_kinds)
}

fn hashes(loaded: &Loaded) -> Value {
    json!({"TiltfileSHA256": loaded.hashes.tiltfile, "AllFilesSHA256": loaded.hashes.all_files})
}

fn nanoseconds(length: std::time::Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the name of an API object that belongs to an image of a resource.
fn object_name(resource: &str, image: &str) -> String {
    sanitize_name(&format!("{resource}:{}", sanitize_name(image)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_api_objects_have_no_slashes() {
        assert_eq!(object_name("web", "gcr.io/team/web"), "web:gcr.io_team_web");
    }
}
