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

/// Objects that are kept applied to the cluster, from YAML or by a command. They go with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesApply {
    /// What is wanted.
    pub spec: KubernetesApplySpec,
    /// What is so. The session writes it.
    pub status: KubernetesApplyStatus,
}

impl ApiKind for KubernetesApply {
    const PLURAL: &'static str = "kubernetesapplys";
    const SHORT_NAMES: &'static [&'static str] = &["ka", "kapp"];
}

/// What is applied: yaml or applyCmd.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesApplySpec {
    /// The objects, as YAML.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub yaml: String,
    /// Names of ImageMap objects. Their images are used, and a new build of one starts this anew.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_maps: Vec<String>,
    /// Where kinds that Kubernetes itself does not have keep images.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub image_locators: Vec<KubernetesImageLocator>,
    /// How long one apply may take, such as 30s.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub timeout: Option<Duration>,
    /// How pods are found besides by what made them.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub kubernetes_discovery_template_spec: Option<KubernetesDiscoveryTemplateSpec>,
    /// Which ports lead to its newest pod.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub port_forward_template_spec: Option<PortForwardTemplateSpec>,
    /// Which logs of its pods are shown.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub pod_log_stream_template_spec: Option<PodLogStreamTemplateSpec>,
    /// How pods are found: default, by what made them; selectors-only, by labels alone.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub discovery_strategy: String,
    /// Values that switch the object off. As long as one is missing it is off, too.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_source: Option<DisableSource>,
    /// Deploys, and prints the objects that it applied as YAML. Images are in $TILT_IMAGE_0 and so on.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub apply_cmd: Option<KubernetesApplyCmd>,
    /// What starts it anew.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub restart_on: Option<RestartOnSpec>,
    /// Deletes what applyCmd deployed; without one its objects are deleted.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub delete_cmd: Option<KubernetesApplyCmd>,
    /// The name of the Cluster object; without one it is "default".
    #[serde(default, skip_serializing_if = "is_empty")]
    pub cluster: String,
    /// Whether the API server merges, and not the client.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub server_side_apply: bool,
}

/// Where objects keep images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesImageLocator {
    /// Which objects.
    pub object_selector: ObjectSelector,
    /// JSONPath to the image.
    pub path: String,
    /// Set where the path leads to an object with name and tag.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub object: Option<KubernetesImageObjectDescriptor>,
}

/// An image in two fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesImageObjectDescriptor {
    /// The field with the name.
    pub repo_field: String,
    /// The field with the tag.
    pub tag_field: String,
}

/// Which objects: each expression must be found in them; without one everything will do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectSelector {
    /// For the apiVersion.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub api_version_regexp: String,
    /// For the kind.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub kind_regexp: String,
    /// For the name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name_regexp: String,
    /// For the namespace.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub namespace_regexp: String,
}

/// How pods are found besides by what made them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesDiscoveryTemplateSpec {
    /// Pods with these labels count, too.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub extra_selectors: Vec<LabelSelector>,
}

/// A command of the user's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesApplyCmd {
    /// The command, word by word; no shell is put around it.
    pub args: Vec<String>,
    /// The folder that the command runs in. Relative ones count from the Tiltfile's folder.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub dir: String,
    /// Variables for the command, each as NAME=value, on top of the session's own.
    #[schemars(skip_serializing_if = "is_empty")]
    #[serde(serialize_with = "null_if_empty")]
    #[schemars(with = "Vec<String>")]
    pub env: Vec<String>,
}

/// What was applied last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesApplyStatus {
    /// Why it was not applied, or what it waits for.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub error: String,
    /// When the last apply began.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_apply_start_time: Option<Timestamp>,
    /// When the last apply ended.
    #[schemars(skip_serializing_if = "is_empty")]
    #[cfg_attr(feature = "ts", ts(optional = nullable))]
    pub last_apply_time: Option<Timestamp>,
    /// The objects as the cluster has them, without their status.
    #[serde(rename = "resultYAML", default, skip_serializing_if = "is_empty")]
    pub result_yaml: String,
    /// Another one if anything that was applied is another.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub applied_input_hash: String,
    /// JobComplete, if the job had run before and is done.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub conditions: Vec<Condition>,
    /// Whether the object is switched off, and by what.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub disable_status: Option<DisableStatus>,
}

impl KubernetesApplySpec {
    /// Returns what a resource applies.
    ///
    /// `yaml` is the text of its objects. `started` is when the session began: older log lines of pods are left out.
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
    /// Returns the command. `folder` is what relative paths are relative to.
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
