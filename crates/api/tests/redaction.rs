//! Redaction of specifications: structure stays, whatever the values of Secrets are.

use lilt_api::{
    CmdImageSpec, DockerComposeServiceSpec, DockerImageSpec, ImageMapSpec, KubernetesApplySpec,
    LiveUpdateSpec,
};
use lilt_model::command::Command;
use lilt_model::compose::{ComposeConfig, ComposeProject, ComposeResource};
use lilt_model::files::FileSet;
use lilt_model::image::{CustomBuild, CustomOutput, DockerBuild, ImageTarget, LiveUpdate, Run, Sync};
use lilt_model::kubernetes::{CustomDeploy, Forward, KubernetesResource};
use lilt_model::locator::{ImageLocator, ImageObject, ObjectSelector};
use lilt_model::secret::{Redactor, Secret, redact_values};
use lilt_model::{ImageName, ResourceName, Timestamp};
use serde_json::{Value, json};

/// A Tiltfile in which everything has the same name, which is also the value of a Secret.
#[test]
fn names_equal_to_a_secret_stay_in_all_specs() {
    let name = || "postgres".to_owned();
    let secret =
        Secret { name: name(), key: name(), value: name().into_bytes(), encoded: "cG9zdGdyZXM=".into() };
    let redactor = Redactor::new(&[secret]);
    let command =
        || Command { argv: vec!["run".into()], dir: "/postgres".into(), env: Vec::new(), unset: Vec::new() };
    let locator = ImageLocator {
        selector: ObjectSelector { api_version: name(), kind: name(), name: name(), namespace: name() },
        path: name(),
        object: Some(ImageObject { repo_field: name(), tag_field: name() }),
    };
    let kubernetes = KubernetesResource {
        cluster: "postgres".into(),
        image_deps: vec!["postgres".into()],
        image_locators: vec![locator],
        forwards: vec![Forward {
            host: name(),
            local_port: 1,
            container_port: 2,
            name: name(),
            path: name(),
        }],
        extra_pod_selectors: vec![[(name(), name())].into()],
        custom_deploy: Some(CustomDeploy { apply: command(), delete: command(), files: FileSet::default() }),
        ..KubernetesResource::default()
    };
    let project = ComposeProject {
        name: name(),
        directory: name().into(),
        configs: vec![
            ComposeConfig::File(name().into()),
            ComposeConfig::Text(
                "services:\n  postgres:\n    image: postgres\n    env_file: postgres\n".into(),
            ),
        ],
        env_file: Some(name().into()),
        profiles: vec![name()],
        wait: true,
    };
    let compose = ComposeResource {
        project,
        service: name(),
        image_deps: vec!["postgres".into()],
        ..ComposeResource::default()
    };
    let docker = DockerBuild {
        dockerfile: "FROM postgres\nCOPY postgres /postgres\n".into(),
        target: name(),
        platform: name(),
        network: name(),
        extra_tags: vec![name()],
        cache_from: vec![name()],
        extra_hosts: vec![name()],
        ssh: vec!["default".into()],
        secrets: vec!["id=x".into()],
        ..DockerBuild::default()
    };
    let custom = CustomBuild {
        command: command(),
        deps: vec![name().into()],
        tag: name(),
        output: CustomOutput::Remote,
        outputs_image_ref_to: Some(name().into()),
    };
    let update = LiveUpdate {
        base: "/postgres".into(),
        stop_paths: vec!["/postgres/postgres".into()],
        syncs: vec![Sync { local: "/postgres/a/postgres".into(), container: "/postgres".into() }],
        runs: vec![Run {
            argv: vec!["run".into()],
            triggers: vec!["/postgres/postgres".into()],
            echo_off: false,
        }],
        container_name: name(),
        ..LiveUpdate::default()
    };
    let needed: [ImageName; 1] = ["postgres".into()];
    let image = ImageTarget { name: "postgres".into(), ..ImageTarget::default() };
    let resource = ResourceName::from("postgres");
    let yaml = "kind: Pod\nmetadata:\n  name: postgres\n".to_owned();
    let specs = [
        json!(KubernetesApplySpec::new(&resource, &kubernetes, yaml, Timestamp::ZERO)),
        json!(DockerComposeServiceSpec::from(&compose)),
        json!(ImageMapSpec::from(&image)),
        json!(DockerImageSpec::new(&docker, &needed)),
        json!(CmdImageSpec::new(&custom, &needed)),
        json!(LiveUpdateSpec::from(&update)),
    ];
    for spec in specs {
        let redacted = redact_values("", spec.clone(), &redactor);
        let texts = |value: &Value| {
            let mut value = value.clone();
            // Encoded again if a value was redacted; its content is what counts.
            for pointer in ["/yaml", "/project/yaml"] {
                if let Some(text) = value.pointer_mut(pointer) {
                    *text = json!(lilt_model::yaml::documents(text.as_str().unwrap()).unwrap());
                }
            }
            value
        };
        assert_eq!(texts(&redacted), texts(&spec));
    }
}
