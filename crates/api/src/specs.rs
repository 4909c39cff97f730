//! The specifications of the objects that tell of images and of what is deployed: `KubernetesApply`, `ImageMap`,
//! `DockerImage`, `CmdImage`, `LiveUpdate` and `DockerComposeService`.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use crate::fields::{Fields, Node, ignores, list_or_null, path, sanitized};
use lilt_model::command::Command;
use lilt_model::compose::{ComposeConfig, ComposeResource};
use lilt_model::image::{CustomBuild, CustomOutput, DockerBuild, ImageTarget, LiveUpdate};
use lilt_model::kubernetes::{CustomDeploy, DiscoveryStrategy, Forward, KubernetesResource};
use lilt_model::locator::ImageLocator;
use lilt_model::names::{ImageName, ResourceName};
use lilt_model::time::Timestamp;

/// Sidecars whose logs nobody asked for.
pub const QUIET_CONTAINERS: [&str; 4] = ["istio-init", "istio-proxy", "linkerd-proxy", "linkerd-init"];

/// `yaml` is the text of its objects; `started` is when the session began, before which no log is read.
pub fn kubernetes_apply(
    resource: &ResourceName,
    body: &KubernetesResource,
    yaml: String,
    started: Timestamp,
) -> Fields {
    let deploy = body.custom_deploy.as_ref();
    let strategy = body.discovery_strategy.map_or("", |strategy| match strategy {
        DiscoveryStrategy::Default => "default",
        DiscoveryStrategy::SelectorsOnly => "selectors-only",
    });
    let selectors: Vec<Value> =
        body.extra_pod_selectors.iter().map(|labels| json!({"matchLabels": labels})).collect();
    let discovery = if selectors.is_empty() { Value::Null } else { json!({"extraSelectors": selectors}) };
    let restart_on = || json!({"fileWatches": [sanitized(&format!("{}:apply", resource))]});
    let by_command = |part: fn(&CustomDeploy) -> Node| deploy.map_or(Node::NULL, part);
    Fields::new()
        .put_unless_empty("yaml", yaml)
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
            json!({"sinceTime": started.whole_seconds(), "ignoreContainers": QUIET_CONTAINERS}),
        )
        .put_unless_empty("discoveryStrategy", strategy)
        .put_unless_empty("applyCmd", by_command(|deploy| apply_command(&deploy.apply)))
        .put_unless_empty("restartOn", deploy.map_or(Value::Null, |_| restart_on()))
        .put_unless_empty("deleteCmd", by_command(|deploy| apply_command(&deploy.delete)))
        .put("cluster", body.cluster.object_name())
}

/// A service, and the project it is of.
pub fn compose_service(body: &ComposeResource) -> Fields {
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
    Fields::new()
        .put("service", body.service.as_str())
        .put("project", project)
        .put_unless_empty("imageMaps", image_maps(&body.image_deps))
}

/// How an image is found in objects.
pub fn image_map(image: &ImageTarget) -> Fields {
    Fields::new()
        .put("selector", image.name.as_str())
        .put_unless_empty("matchExact", image.match_exact)
        .put_unless_empty("matchInEnvVars", image.match_in_env_vars)
        .put_unless_empty(
            "overrideCommand",
            image
                .entrypoint
                .as_ref()
                .filter(|words| !words.is_empty())
                .map_or(Value::Null, |words| json!({"command": words})),
        )
        .put_unless_empty(
            "overrideArgs",
            image.container_args.as_ref().map_or(Value::Null, |words| json!({"args": words})),
        )
}

pub fn docker_image(build: &DockerBuild, needed: &[ImageName]) -> Fields {
    let arguments: Vec<String> =
        build.build_args.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Fields::new()
        .put("ref", "")
        .put_unless_empty("dockerfileContents", build.dockerfile.as_str())
        .put_unless_empty("context", build.context.roots.first().map(|root| path(root)).unwrap_or_default())
        .put_unless_empty("contextIgnores", Node::List(ignores(&build.context.ignores)))
        .put_unless_empty("args", arguments)
        .put_unless_empty("target", build.target.as_str())
        .put_unless_empty("sshAgentConfigs", build.ssh.clone())
        .put_unless_empty("secrets", build.secrets.clone())
        .put_unless_empty("network", build.network.as_str())
        .put_unless_empty("pull", build.pull)
        .put_unless_empty("cacheFrom", build.cache_from.clone())
        .put_unless_empty("platform", build.platform.as_str())
        .put_unless_empty("extraTags", build.extra_tags.clone())
        .put_unless_empty("imageMaps", image_maps(needed))
        .put_unless_empty("extraHosts", build.extra_hosts.clone())
}

pub fn cmd_image(build: &CustomBuild, needed: &[ImageName]) -> Fields {
    let output = match build.output {
        CustomOutput::LocalDocker => "local-docker",
        CustomOutput::LocalDockerAndRemote => "local-docker-and-remote",
        CustomOutput::Remote => "remote",
    };
    Fields::new()
        .put("ref", "")
        .put_unless_empty("args", build.command.argv.clone())
        .put_unless_empty("dir", path(&build.command.dir))
        .put_unless_empty("env", environment(&build.command))
        .put_unless_empty("imageMaps", image_maps(needed))
        .put("outputMode", output)
        .put_unless_empty("outputTag", build.tag.as_str())
        .put_unless_empty(
            "outputsImageRefTo",
            build.outputs_image_ref_to.as_deref().map(path).unwrap_or_default(),
        )
}

pub fn live_update(update: &LiveUpdate) -> Node {
    let from_base = |paths: &[PathBuf]| -> Vec<Value> {
        paths.iter().map(|path| relative(&update.base, path).into()).collect()
    };
    let selector = match update.container_name.as_str() {
        "" => json!({}),
        name => json!({"kubernetes": {"discoveryName": "", "containerName": name}}),
    };
    let syncs: Vec<Value> = update
        .syncs
        .iter()
        .map(
            |sync| json!({"localPath": relative(&update.base, &sync.local), "containerPath": sync.container}),
        )
        .collect();
    let execs: Vec<Value> = update
        .runs
        .iter()
        .map(|run| {
            json!({
                "args": run.argv,
                "triggerPaths": list_or_null(from_base(&run.triggers)),
                "echoOff": run.echo_off,
            })
        })
        .collect();
    let fields = Fields::new()
        .put("basePath", path(&update.base))
        .put("selector", selector)
        .put_unless_empty("stopPaths", from_base(&update.stop_paths))
        .put_unless_empty("syncs", syncs)
        .put_unless_empty("execs", execs)
        .put_unless_empty("restart", if update.restart { "always" } else { "" });
    let fields = if update.initial_sync { fields.put("initialSync", json!({})) } else { fields };
    fields.finish()
}

/// The way from one directory to a path, by the text alone.
fn relative(base: &Path, target: &Path) -> String {
    let shared = base.components().zip(target.components()).take_while(|(one, other)| one == other).count();
    let up = base.components().skip(shared).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(target.components().skip(shared)).collect();
    if way.as_os_str().is_empty() { ".".to_owned() } else { path(&way) }
}

pub fn image_maps(names: &[ImageName]) -> Vec<String> {
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

pub fn forwards(forwards: &[Forward]) -> Node {
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

/// Variables as the API writes them.
pub fn environment(command: &Command) -> Vec<String> {
    command.env.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lilt_model::compose::ComposeProject;
    use lilt_model::files::FileSet;
    use lilt_model::image::{Run, Sync};
    use lilt_model::kubernetes::KubernetesResource;
    use lilt_model::locator::{ImageObject, ObjectSelector};
    use lilt_model::secret::{Redactor, Secret};

    /// A Tiltfile in which everything has the same name, which is also the value of a Secret.
    #[test]
    fn names_equal_to_a_secret_stay_in_all_specs() {
        let name = || "postgres".to_owned();
        let secret =
            Secret { name: name(), key: name(), value: name().into_bytes(), encoded: "cG9zdGdyZXM=".into() };
        let redactor = Redactor::new(&[secret]);
        let command = || Command {
            argv: vec!["run".into()],
            dir: "/postgres".into(),
            env: Vec::new(),
            unset: Vec::new(),
        };
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
            custom_deploy: Some(CustomDeploy {
                apply: command(),
                delete: command(),
                files: FileSet::default(),
            }),
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
        let build = || -> Vec<(&str, Node)> {
            vec![
                (
                    "KubernetesApply",
                    kubernetes_apply(&resource, &kubernetes, yaml.clone(), Timestamp::ZERO).finish(),
                ),
                ("DockerComposeService", compose_service(&compose).finish()),
                ("ImageMap", image_map(&image).finish()),
                ("DockerImage", docker_image(&docker, &needed).finish()),
                ("CmdImage", cmd_image(&custom, &needed).finish()),
                ("LiveUpdate", live_update(&update)),
            ]
        };
        for ((kind, spec), (_, plain)) in build().into_iter().zip(build()) {
            let (redacted, plain) = (spec.without_secrets("", &redactor).value(), plain.value());
            let texts = |value: &Value| {
                let mut value = value.clone();
                // Written anew if a value was redacted; its content is what counts.
                for pointer in ["/yaml", "/project/yaml"] {
                    if let Some(text) = value.pointer_mut(pointer) {
                        *text = json!(lilt_model::yaml::documents(text.as_str().unwrap()).unwrap());
                    }
                }
                value
            };
            assert_eq!(texts(&redacted), texts(&plain), "{kind}");
        }
    }

    #[test]
    fn finds_the_way_between_paths() {
        for (base, target, expected) in
            [("/a/b", "/a/b/c/d", "c/d"), ("/a/b", "/a/x", "../x"), ("/a", "/a", "."), ("/a/b", "/", "../..")]
        {
            assert_eq!(relative(Path::new(base), Path::new(target)), expected);
        }
    }
}
