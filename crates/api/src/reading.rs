//! What objects that were made from outside ask for, in lilt's own terms: [`super::specs`] the other way round.
//!
//! Paths count from the folder of the Tiltfile, as those in it do.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::object::Object;
use lilt_model::command::Command;
use lilt_model::files::{FileSet, IgnoreRule};
use lilt_model::image::{
    CustomBuild, CustomOutput, DockerBuild, ImageTarget, LiveUpdate, Run, Sync, clean_container_path,
};
use lilt_model::kubernetes::Forward;
use lilt_model::locator::{ImageLocator, ImageObject, ObjectSelector};
use lilt_model::names::ImageName;

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

fn texts(value: &Value, field: &str) -> Vec<String> {
    items(value, field).filter_map(Value::as_str).map(str::to_owned).collect()
}

fn items<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    value[field].as_array().into_iter().flatten()
}

fn is_set(value: &Value, field: &str) -> bool {
    value[field].as_bool().unwrap_or(false)
}

/// No path is the folder itself.
fn below(folder: &Path, path: &str) -> PathBuf {
    if path.is_empty() { folder.to_owned() } else { folder.join(path) }
}

/// `NAME=value`, or a name alone.
fn pairs(texts: &[String]) -> Vec<(String, String)> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (name.to_owned(), value.to_owned())
    };
    texts.iter().map(pair).collect()
}

/// `args`, `dir` and `env` of a command.
pub fn command(spec: &Value, folder: &Path) -> Command {
    let argv = texts(spec, "args");
    Command {
        argv,
        dir: below(folder, text(spec, "dir")),
        env: pairs(&texts(spec, "env")),
        unset: Vec::new(),
    }
}

/// The files below some paths, less what is ignored.
pub fn files(roots: &[String], ignores: Option<&Value>, folder: &Path) -> FileSet {
    let ignores = ignores.and_then(Value::as_array).into_iter().flatten();
    let rule = |ignore: &Value| IgnoreRule {
        base: below(folder, text(ignore, "basePath")),
        patterns: texts(ignore, "patterns"),
    };
    FileSet::new(roots.iter().map(|path| below(folder, path)).collect(), ignores.map(rule).collect())
}

/// How the image of an `ImageMap` is found in objects.
pub fn image_map(object: &Object) -> ImageTarget {
    let words = |pointer: &str| object.get(pointer).map(|_| object.texts(pointer));
    let is_set = |pointer: &str| object.get(pointer).and_then(Value::as_bool).unwrap_or(false);
    ImageTarget {
        name: ImageName::from(object.text("/spec/selector")),
        match_exact: is_set("/spec/matchExact"),
        match_in_env_vars: is_set("/spec/matchInEnvVars"),
        entrypoint: words("/spec/overrideCommand/command"),
        container_args: words("/spec/overrideArgs/args"),
        ..ImageTarget::default()
    }
}

pub fn docker_image(object: &Object, folder: &Path) -> DockerBuild {
    let none = Value::Null;
    let spec = object.get("/spec").unwrap_or(&none);
    DockerBuild {
        context: files(&[text(spec, "context").to_owned()], spec.get("contextIgnores"), folder),
        dockerfile: text(spec, "dockerfileContents").to_owned(),
        build_args: pairs(&texts(spec, "args")),
        target: text(spec, "target").to_owned(),
        platform: text(spec, "platform").to_owned(),
        network: text(spec, "network").to_owned(),
        extra_tags: texts(spec, "extraTags"),
        cache_from: texts(spec, "cacheFrom"),
        extra_hosts: texts(spec, "extraHosts"),
        pull: is_set(spec, "pull"),
        ssh: texts(spec, "sshAgentConfigs"),
        secrets: texts(spec, "secrets"),
        ..DockerBuild::default()
    }
}

pub fn cmd_image(object: &Object, folder: &Path) -> CustomBuild {
    let none = Value::Null;
    let spec = object.get("/spec").unwrap_or(&none);
    let output = match text(spec, "outputMode") {
        "local-docker-and-remote" => CustomOutput::LocalDockerAndRemote,
        "remote" => CustomOutput::Remote,
        _ => CustomOutput::LocalDocker,
    };
    let written = text(spec, "outputsImageRefTo");
    CustomBuild {
        command: command(spec, folder),
        deps: Vec::new(),
        tag: text(spec, "outputTag").to_owned(),
        output,
        outputs_image_ref_to: (!written.is_empty()).then(|| folder.join(written)),
    }
}

pub fn live_update(object: &Object, folder: &Path) -> LiveUpdate {
    let none = Value::Null;
    let spec = object.get("/spec").unwrap_or(&none);
    let base = below(folder, text(spec, "basePath"));
    let from_base = |path: &str| if path == "." { base.clone() } else { base.join(path) };
    let paths = |value: &Value, field: &str| texts(value, field).iter().map(|path| from_base(path)).collect();
    let sync = |sync: &Value| Sync {
        local: from_base(text(sync, "localPath")),
        container: clean_container_path(text(sync, "containerPath")),
    };
    let run = |exec: &Value| Run {
        argv: texts(exec, "args"),
        triggers: paths(exec, "triggerPaths"),
        echo_off: is_set(exec, "echoOff"),
    };
    LiveUpdate {
        initial_sync: spec["initialSync"].is_object(),
        stop_paths: paths(spec, "stopPaths"),
        syncs: items(spec, "syncs").map(sync).collect(),
        runs: items(spec, "execs").map(run).collect(),
        restart: text(spec, "restart") == "always",
        restart_process: None,
        container_name: object.text("/spec/selector/kubernetes/containerName").to_owned(),
        base,
    }
}

pub fn locator(value: &Value) -> ImageLocator {
    let selector = &value["objectSelector"];
    let part = |field: &str| text(selector, field).to_owned();
    let object = value.get("object").filter(|object| object.is_object()).map(|object| ImageObject {
        repo_field: text(object, "repoField").to_owned(),
        tag_field: text(object, "tagField").to_owned(),
    });
    ImageLocator {
        selector: ObjectSelector {
            api_version: part("apiVersionRegexp"),
            kind: part("kindRegexp"),
            name: part("nameRegexp"),
            namespace: part("namespaceRegexp"),
        },
        path: text(value, "path").to_owned(),
        object,
    }
}

/// The forwards of a `PortForward`, or of a template of one.
pub fn forwards(spec: Option<&Value>) -> Vec<Forward> {
    let none = Value::Null;
    let port = |forward: &Value, field: &str| {
        forward[field].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(0)
    };
    let forward = |forward: &Value| Forward {
        host: text(forward, "host").to_owned(),
        local_port: port(forward, "localPort"),
        container_port: port(forward, "containerPort"),
        name: text(forward, "name").to_owned(),
        path: text(forward, "path").to_owned(),
    };
    items(spec.unwrap_or(&none), "forwards").map(forward).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fields::Fields;
    use crate::specs;

    fn object(spec: Value) -> Object {
        Object::read(json!({"metadata": {"name": "x"}, "spec": spec}))
    }

    fn written(spec: Fields) -> Object {
        object(spec.value())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = Path::new("/p");
        let rule = IgnoreRule { base: "/p/web".into(), patterns: vec!["*.md".into()] };
        let docker = DockerBuild {
            context: FileSet::new(vec!["/p/web".into()], vec![rule]),
            dockerfile: "FROM busybox".into(),
            build_args: vec![("A".into(), "1=2".into()), ("B".into(), String::new())],
            target: "last".into(),
            extra_tags: vec!["web:mine".into()],
            pull: true,
            secrets: vec!["id=a".into()],
            ..DockerBuild::default()
        };
        assert_eq!(docker_image(&written(specs::docker_image(&docker, &[])), folder), docker);
        let custom = CustomBuild {
            command: Command {
                argv: vec!["make".into(), "image".into()],
                dir: "/p/web".into(),
                env: vec![("A".into(), "1".into())],
                unset: Vec::new(),
            },
            deps: Vec::new(),
            tag: "t".into(),
            output: CustomOutput::Remote,
            outputs_image_ref_to: Some("/p/ref".into()),
        };
        assert_eq!(cmd_image(&written(specs::cmd_image(&custom, &[])), folder), custom);
        let update = LiveUpdate {
            base: "/p".into(),
            initial_sync: true,
            stop_paths: vec!["/p/go.mod".into()],
            syncs: vec![Sync { local: "/p".into(), container: "/app".into() }],
            runs: vec![Run { argv: vec!["x".into()], triggers: vec!["/p/a".into()], echo_off: true }],
            restart: true,
            ..LiveUpdate::default()
        };
        assert_eq!(live_update(&object(specs::live_update(&update).value()), folder), update);
        let image = ImageTarget {
            name: "web".into(),
            match_exact: true,
            entrypoint: Some(vec!["sh".into()]),
            container_args: Some(Vec::new()),
            ..ImageTarget::default()
        };
        assert_eq!(image_map(&written(specs::image_map(&image))), image);
    }

    #[test]
    fn paths_count_from_the_folder_of_the_tiltfile() {
        let read = command(&json!({"args": ["ls"], "dir": "web"}), Path::new("/p"));
        assert_eq!((read.dir, read.argv), (PathBuf::from("/p/web"), vec!["ls".to_owned()]));
        assert_eq!(command(&json!({}), Path::new("/p")).dir.to_str(), Some("/p"));
    }
}
