//! `KubernetesApply`.

use std::path::Path;

use lilt_model::ResourceName;
use lilt_model::Timestamp;
use lilt_model::command::Command;
use lilt_model::kubernetes::{DiscoveryStrategy, KubernetesResource};
use lilt_model::locator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cmd::{environment, parse_command};
use super::convert::{image_map_names, path_text, sanitize_name};
use super::disable::{DisableSource, DisableStatus};
use super::kinds::ApiKind;
use super::meta::{Condition, LabelSelector};
use super::pod_log_stream::PodLogStreamTemplateSpec;
use super::port_forward::PortForwardTemplateSpec;
use super::time::{Duration, Time};
use super::triggers::RestartOnSpec;
use super::{is_empty, null_if_empty};

/// Objects applied to a cluster, from YAML or by a command. Deleted when this object is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesApply {
    /// The desired state.
    pub spec: KubernetesApplySpec,
    /// The observed state, set by the session.
    pub status: KubernetesApplyStatus,
}

impl ApiKind for KubernetesApply {
    const PLURAL: &'static str = "kubernetesapplys";
    const SHORT_NAMES: &'static [&'static str] = &["ka", "kapp"];
}

/// The objects to apply. Exactly one of `yaml` and `applyCmd` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesApplySpec {
    /// Objects to apply, as YAML.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub yaml: String,
    /// Names of ImageMap objects: the images to inject. A new build of one re-applies.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_maps: Vec<String>,
    /// Locates image fields in custom resources.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_locators: Vec<KubernetesImageLocator>,
    /// Timeout of one apply. Defaults to `30s`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub timeout: Option<Duration>,
    /// Selectors for pods that are not found by owner.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub kubernetes_discovery_template_spec: Option<KubernetesDiscoveryTemplateSpec>,
    /// Port forwards to its newest pod.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub port_forward_template_spec: Option<PortForwardTemplateSpec>,
    /// Logs of its pods to stream.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_log_stream_template_spec: Option<PodLogStreamTemplateSpec>,
    /// How pods are found: `default` (by owner) or `selectors-only` (only by label).
    #[serde(default, skip_serializing_if = "is_empty")]
    pub discovery_strategy: String,
    /// ConfigMap values that disable the object. It stays disabled while one is missing.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_source: Option<DisableSource>,
    /// Command that applies objects and prints them as YAML. Images are in `$TILT_IMAGE_0` and so on.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub apply_cmd: Option<KubernetesApplyCmd>,
    /// Triggers that re-apply.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub restart_on: Option<RestartOnSpec>,
    /// Command that deletes what `applyCmd` applied. Defaults to deleting its objects.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub delete_cmd: Option<KubernetesApplyCmd>,
    /// Name of the Cluster object. Defaults to `default`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cluster: String,
    /// Use server-side apply.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub server_side_apply: bool,
}

/// Location of an image in objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesImageLocator {
    /// Objects that the path applies to.
    pub object_selector: ObjectSelector,
    /// JSONPath of the image.
    pub path: String,
    /// Set if the path selects an object with separate fields for name and tag.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub object: Option<KubernetesImageObjectDescriptor>,
}

/// Fields of an object that contains an image reference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesImageObjectDescriptor {
    /// Name of the field with the image name.
    pub repo_field: String,
    /// Name of the field with the tag.
    pub tag_field: String,
}

/// Selects objects by unanchored regular expressions; an empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectSelector {
    /// Regular expression for the API version.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub api_version_regexp: String,
    /// Regular expression for the kind.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub kind_regexp: String,
    /// Regular expression for the name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name_regexp: String,
    /// Regular expression for the namespace.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub namespace_regexp: String,
}

/// Selectors for pods that are not found by owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesDiscoveryTemplateSpec {
    /// Label selectors of additional pods.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub extra_selectors: Vec<LabelSelector>,
}

/// A command that applies or deletes objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesApplyCmd {
    /// Command and arguments. They are not run in a shell.
    pub args: Vec<String>,
    /// Working directory, relative to the Tiltfile's directory. Defaults to that directory.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub dir: String,
    /// Environment variables as `NAME=value`, in addition to those of the session.
    #[schemars(skip_serializing_if = "is_empty")]
    #[serde(serialize_with = "null_if_empty")]
    #[schemars(with = "Vec<String>")]
    pub env: Vec<String>,
}

/// The result of the last apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesApplyStatus {
    /// The error, or the reason why the apply is waiting; empty on success.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// Time when the last apply started.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_apply_start_time: Option<Timestamp>,
    /// Time when the last apply finished.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_apply_time: Option<Timestamp>,
    /// Applied objects as the cluster returned them, as YAML without status.
    #[serde(rename = "resultYAML", default, skip_serializing_if = "is_empty")]
    pub result_yaml: String,
    /// Hash of the applied inputs.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub applied_input_hash: String,
    /// `JobComplete` if the applied Job had already run to completion.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub conditions: Vec<Condition>,
    /// Whether and why the object is disabled.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_status: Option<DisableStatus>,
}

impl KubernetesApplySpec {
    /// Returns the specification for a resource of the Tiltfile.
    ///
    /// `yaml` contains its objects. Pod log lines from before `started`, the start of the session, are skipped.
    pub fn new(resource: &ResourceName, body: &KubernetesResource, yaml: String, started: Timestamp) -> Self {
        let deploy = body.custom_deploy.as_ref();
        let strategy = body.discovery_strategy.map_or("", |strategy| match strategy {
            DiscoveryStrategy::Default => "default",
            DiscoveryStrategy::SelectorsOnly => "selectors-only",
        });
        let extra_selectors: Vec<_> = body.extra_pod_selectors.iter().map(LabelSelector::from).collect();
        Self {
            yaml,
            image_maps: image_map_names(&body.image_deps),
            image_locators: body.image_locators.iter().map(KubernetesImageLocator::from).collect(),
            timeout: Some(Duration(std::time::Duration::from_secs(body.apply_timeout_secs.into()))),
            kubernetes_discovery_template_spec: (!extra_selectors.is_empty())
                .then_some(KubernetesDiscoveryTemplateSpec { extra_selectors }),
            port_forward_template_spec: PortForwardTemplateSpec::unless_empty(&body.forwards),
            pod_log_stream_template_spec: Some(PodLogStreamTemplateSpec {
                since_time: Some(Time(started)),
                ..PodLogStreamTemplateSpec::without_sidecars()
            }),
            discovery_strategy: strategy.to_owned(),
            apply_cmd: deploy.map(|deploy| KubernetesApplyCmd::from(&deploy.apply)),
            restart_on: deploy.map(|_| RestartOnSpec {
                file_watches: vec![sanitize_name(&format!("{resource}:apply"))],
                ui_buttons: Vec::new(),
            }),
            delete_cmd: deploy.map(|deploy| KubernetesApplyCmd::from(&deploy.delete)),
            cluster: body.cluster.object_name(),
            ..Self::default()
        }
    }
}

impl From<&Command> for KubernetesApplyCmd {
    fn from(command: &Command) -> Self {
        Self { args: command.argv.clone(), dir: path_text(&command.dir), env: environment(command) }
    }
}

impl KubernetesApplyCmd {
    /// Returns the command. Relative paths are resolved against `folder`.
    pub fn command(&self, folder: &Path) -> Command {
        parse_command(&self.args, &self.dir, &self.env, folder)
    }
}

impl From<&locator::ImageLocator> for KubernetesImageLocator {
    fn from(locator: &locator::ImageLocator) -> Self {
        let selector = locator.selector.clone();
        Self {
            object_selector: ObjectSelector {
                api_version_regexp: selector.api_version,
                kind_regexp: selector.kind,
                name_regexp: selector.name,
                namespace_regexp: selector.namespace,
            },
            path: locator.path.clone(),
            object: locator.object.clone().map(|object| KubernetesImageObjectDescriptor {
                repo_field: object.repo_field,
                tag_field: object.tag_field,
            }),
        }
    }
}

impl From<&KubernetesImageLocator> for locator::ImageLocator {
    fn from(locator: &KubernetesImageLocator) -> Self {
        let selector = locator.object_selector.clone();
        Self {
            selector: locator::ObjectSelector {
                api_version: selector.api_version_regexp,
                kind: selector.kind_regexp,
                name: selector.name_regexp,
                namespace: selector.namespace_regexp,
            },
            path: locator.path.clone(),
            object: locator.object.clone().map(|object| locator::ImageObject {
                repo_field: object.repo_field,
                tag_field: object.tag_field,
            }),
        }
    }
}
