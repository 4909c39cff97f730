//! Images in the result of a load.

use std::path::{Component, Path, PathBuf};

use lilt_model::ResourceName;
use lilt_model::image::{
    ComposeBuild, CustomBuild, CustomOutput, DockerBuild, ImageBuild, ImageTarget, LiveUpdate,
};
use serde_json::{Value, json};

use super::fields::{Fields, Node, ignores, list_or_null, path, paths, sanitized};
use super::{Context, environment, object_name};

pub(super) fn targets(resource: &ResourceName, images: &[ImageTarget], context: Context<'_>) -> Node {
    images.iter().map(|image| target(resource, image, context)).collect()
}

fn target(resource: &ResourceName, image: &ImageTarget, context: Context<'_>) -> Node {
    let update = image.live_update.as_ref();
    let updates = update.is_some_and(|update| !update.syncs.is_empty() || !update.runs.is_empty());
    let name = object_name(resource.as_str(), image.name.as_str());
    let name_if = |wanted: bool| if wanted { name.clone() } else { String::new() };
    let is_docker = matches!(image.build, ImageBuild::Docker(_));
    let is_command = matches!(image.build, ImageBuild::Custom(_) | ImageBuild::LiveUpdateOnly);
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
        .put("LiveUpdateName", name_if(updates))
        .put(
            "LiveUpdateSpec",
            update.map_or_else(|| json!({"basePath": "", "selector": {}}).into(), live_update),
        )
        .put("LiveUpdateReconciler", updates)
        .put("DockerImageName", name_if(is_docker))
        .put("CmdImageName", name_if(is_command))
        .put("BuildDetails", build(image))
        .put("IsLiveUpdateOnly", image.build == ImageBuild::LiveUpdateOnly)
        .put("FileWatchIgnores", list_or_null(ignores(context.own(&image.files.ignores))))
        .finish()
}

fn build(image: &ImageTarget) -> Node {
    let needed: Vec<String> = image.depends_on.iter().map(|name| sanitized(name.as_str())).collect();
    match &image.build {
        ImageBuild::Docker(build) => docker(build, needed),
        ImageBuild::Custom(build) => custom(build, needed),
        ImageBuild::Compose(ComposeBuild { service, context }) => {
            json!({"Service": service, "Context": context.as_deref().map(path).unwrap_or_default()}).into()
        }
        // In Tilt, a command that does nothing.
        ImageBuild::LiveUpdateOnly => json!({
            "ref": "",
            "args": ["sh", "-c", ":"],
            "outputMode": "local-docker",
            "Deps": paths(&image.files.roots),
        })
        .into(),
    }
}

fn docker(build: &DockerBuild, needed: Vec<String>) -> Node {
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
        .put_unless_empty("imageMaps", needed)
        .put_unless_empty("extraHosts", build.extra_hosts.clone())
        .finish()
}

fn custom(build: &CustomBuild, needed: Vec<String>) -> Node {
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
        .put_unless_empty("imageMaps", needed)
        .put("outputMode", output)
        .put_unless_empty("outputTag", build.tag.as_str())
        .put_unless_empty(
            "outputsImageRefTo",
            build.outputs_image_ref_to.as_deref().map(path).unwrap_or_default(),
        )
        .put("Deps", list_or_null(paths(&build.deps)))
        .finish()
}

fn live_update(update: &LiveUpdate) -> Node {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_way_between_paths() {
        for (base, target, expected) in
            [("/a/b", "/a/b/c/d", "c/d"), ("/a/b", "/a/x", "../x"), ("/a", "/a", "."), ("/a/b", "/", "../..")]
        {
            assert_eq!(relative(Path::new(base), Path::new(target)), expected);
        }
    }
}
