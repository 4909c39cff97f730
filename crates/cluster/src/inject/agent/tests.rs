use lilt_model::image_facts::{Access, Identity, SyncTarget};
use serde_json::json;

use super::*;

const NOBODY: Identity = Identity { user: 65532, group: 65532 };

fn target(directory: &str, file: Option<&str>) -> SyncTarget {
    let access = Access { owner: Identity { user: 0, group: 0 }, mode: 0o755 };
    SyncTarget { directory: directory.into(), file: file.map(Into::into), access, inner: Vec::new() }
}

/// Distroless: no shell, an unprivileged user, everything owned by root.
fn offer(targets: Vec<SyncTarget>) -> AgentOffer {
    AgentOffer {
        name: "web".into(),
        deployed: "registry/web:tilt-1".into(),
        agent_image: "registry/web:lilt-agent-1".into(),
        agent_program: "/lilt-agent".into(),
        facts: ImageFacts {
            entrypoint: vec!["/web".into()],
            command: vec!["$(port)".into()],
            working_directory: String::new(),
            identity: NOBODY,
            has_shell: false,
            has_tar: false,
            targets,
        },
        restart: None,
        is_unwritable: false,
    }
}

fn deployment(container: Value) -> Value {
    let mut container = container;
    container["name"] = "main".into();
    container["image"] = "registry/web:tilt-1".into();
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"template": {"metadata": {"labels": {"tilt.dev/pod-template-hash": "old"}},
            "spec": {"containers": [{"name": "other", "image": "busybox"}, container]}}}})
}

fn added(container: Value, offer: &AgentOffer) -> (Value, Vec<AgentNote>) {
    let mut objects = vec![deployment(container)];
    let notes = add(&mut objects, std::slice::from_ref(offer));
    (objects[0]["spec"]["template"].take(), notes)
}

fn used(notes: &[AgentNote]) -> &str {
    match notes {
        [AgentNote::Used { container, reason }] if container == "main" => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn image_without_shell_runs_under_the_agent() {
    let security = json!({"runAsNonRoot": true, "capabilities": {"drop": ["ALL"]}});
    let container = json!({"securityContext": security, "volumeMounts": [{"name": "x", "mountPath": "/x"}]});
    let offer = offer(vec![target("/www", None), target("/www/deep", None), target("/", Some("/web"))]);
    let (template, notes) = added(container, &offer);
    assert_eq!(used(&notes), "its image has no sh");
    let spec = &template["spec"];
    let init = |name: &str, image: &str, command: Value| {
        json!({"name": name, "image": image, "imagePullPolicy": "IfNotPresent", "command": command,
            "securityContext": security,
            "volumeMounts": [{"name": "lilt-agent", "mountPath": "/.lilt"}]})
    };
    let install = json!(["/lilt-agent", "install", "/.lilt/main-home/agent"]);
    let copy = json!(["/.lilt/main-home/agent", "copy", "/www", "/.lilt/main-copy-0"]);
    assert_eq!(
        spec["initContainers"],
        json!([
            init("lilt-agent", "registry/web:lilt-agent-1", install),
            init("lilt-copy-main", "registry/web:tilt-1", copy)
        ])
    );
    assert_eq!(spec["volumes"], json!([{"name": "lilt-agent", "emptyDir": {}}]));
    let main = &spec["containers"][1];
    let command = json!(["/.lilt/agent", "run", "--keep", "/web", "--", "/web", "$$(port)"]);
    assert_eq!(main["command"], command);
    assert_eq!(
        main["volumeMounts"],
        json!([
            {"name": "x", "mountPath": "/x"},
            {"name": "lilt-agent", "mountPath": "/.lilt", "subPath": "main-home"},
            {"name": "lilt-agent", "mountPath": "/www", "subPath": "main-copy-0"},
        ])
    );
    assert_eq!(spec["containers"][0], json!({"name": "other", "image": "busybox"}));
    let hash = template["metadata"]["labels"]["tilt.dev/pod-template-hash"].as_str().unwrap();
    assert_eq!(hash.len(), 20, "of the new template: {hash}");
}

#[test]
fn capable_image_is_not_changed() {
    let mut offer = offer(vec![target("/www", None)]);
    (offer.facts.has_shell, offer.facts.has_tar) = (true, true);
    offer.facts.identity = Identity::default();
    let (template, notes) = added(json!({}), &offer);
    assert_eq!(notes, []);
    assert_eq!(template["spec"].get("initContainers"), None);
    assert_eq!(template["metadata"]["labels"]["tilt.dev/pod-template-hash"], "old");

    // The manifest removes what the image would allow.
    let reason = |container: Value| used(&added(container, &offer).1).to_owned();
    assert_eq!(
        reason(json!({"securityContext": {"readOnlyRootFilesystem": true}})),
        "its root file system is read-only"
    );
    let words = "its user 7 may not write to /www";
    assert_eq!(reason(json!({"securityContext": {"runAsUser": 7, "runAsGroup": 7}})), words);
    // A target in the user's volume needs nothing.
    let volume = json!([{"name": "x", "mountPath": "/www/"}]);
    let security = json!({"readOnlyRootFilesystem": true});
    assert_eq!(added(json!({"volumeMounts": volume, "securityContext": security}), &offer).1, []);
    // Root without DAC_OVERRIDE may write to its own directories.
    assert_eq!(added(json!({"securityContext": {"capabilities": {"drop": ["ALL"]}}}), &offer).1, []);
    // A directory of root in one of the user.
    let own = |user: u64| Access { owner: Identity { user, group: user }, mode: 0o755 };
    offer.facts.identity = Identity { user: 7, group: 7 };
    (offer.facts.targets[0].access, offer.facts.targets[0].inner) = (own(7), vec![own(7)]);
    assert_eq!(added(json!({}), &offer).1, []);
    offer.facts.targets[0].inner.push(own(0));
    assert_eq!(used(&added(json!({}), &offer).1), words);
    offer.facts.has_tar = false;
    assert_eq!(used(&added(json!({}), &offer).1), "its image has no tar");
}

/// Neither image nor manifest show that it is not writable.
#[test]
fn unwritable_image_gets_the_agent() {
    let mut offer = offer(vec![target("/www", None)]);
    (offer.facts.has_shell, offer.facts.has_tar) = (true, true);
    offer.facts.identity = Identity::default();
    assert_eq!(added(json!({}), &offer).1, []);
    offer.is_unwritable = true;
    let (template, notes) = added(json!({}), &offer);
    assert_eq!(used(&notes), "/www was closed to its user when it ran");
    assert_eq!(template["spec"]["initContainers"][1]["name"], "lilt-copy-main");
    // In the user's volume the agent would not help.
    let volume = json!([{"name": "x", "mountPath": "/www/"}]);
    assert_eq!(added(json!({"volumeMounts": volume}), &offer).1, []);
}

#[test]
fn recorded_unwritable_images_reproduce_the_template() {
    let mut offer = offer(vec![target("/www", None)]);
    (offer.facts.has_shell, offer.facts.has_tar) = (true, true);
    offer.facts.identity = Identity::default();
    let mut without = [deployment(json!({}))];
    add(&mut without, std::slice::from_ref(&offer));
    assert!(unwritable_images(&without[0]).is_empty());
    let closed = AgentOffer { is_unwritable: true, ..offer.clone() };
    let mut first = [deployment(json!({}))];
    add(&mut first, &[closed]);
    // Another session reads from the cluster which containers refused changes.
    offer.is_unwritable = unwritable_images(&first[0]).contains(&offer.name);
    let mut second = [deployment(json!({}))];
    add(&mut second, &[offer]);
    assert_eq!(first, second);
    // Manifests lack the annotation: it is no difference.
    let (mut in_cluster, mut manifest) = (first[0].clone(), deployment(json!({})));
    strip_agent(&mut in_cluster, &mut manifest);
    assert!(in_cluster["spec"]["template"]["metadata"]["annotations"].is_null());
}

#[test]
fn command_combines_image_and_manifest() {
    let offer = offer(vec![]);
    let command = |container: Value| {
        let (mut template, _) = added(container, &offer);
        let main = template["spec"]["containers"][1].take();
        assert_eq!(main.get("args"), None);
        let words: Vec<String> = serde_json::from_value(main["command"].clone()).unwrap();
        words[words.iter().position(|word| word == "--").unwrap() + 1..].join(" ")
    };
    assert_eq!(command(json!({})), "/web $$(port)");
    assert_eq!(command(json!({"args": ["$(PORT)"]})), "/web $(PORT)");
    assert_eq!(command(json!({"command": ["/other"]})), "/other");
    assert_eq!(command(json!({"command": ["/other"], "args": ["x"]})), "/other x");
}

#[test]
fn program_started_by_a_debugger_is_kept() {
    let offer = offer(vec![target("/", Some("/web"))]);
    let command = json!(["/dlv", "exec", "/web", "--", "x"]);
    let (template, notes) = added(json!({"command": command}), &offer);
    assert_eq!(used(&notes), "its image has no sh");
    let words = ["/.lilt/agent", "run", "--keep", "/web", "--", "/dlv", "exec", "/web", "--", "x"];
    assert_eq!(template["spec"]["containers"][1]["command"], json!(words));
}

#[test]
fn program_beside_its_modules_is_mounted() {
    let started = |directory: &str, file: &str, command: &[&str]| {
        let (mut template, _) =
            added(json!({"command": command}), &offer(vec![target(directory, Some(file))]));
        let main = template["spec"]["containers"][1].take();
        let mounts = main["volumeMounts"].as_array().expect("mounts");
        let is_mounted = mounts.iter().any(|mount| mount["mountPath"] == directory);
        (main["command"].to_string().contains("--keep"), is_mounted)
    };
    assert_eq!(started("/app", "/app/main.py", &["/python", "/app/main.py"]), (false, true));
    assert_eq!(started("/app", "/app/server", &["/app/server"]), (false, true));
    // Everything else in that directory would be copied, too.
    assert_eq!(started("/usr/bin", "/usr/bin/server", &["/usr/bin/server"]), (true, false));
    assert_eq!(started("/usr/bin", "/usr/bin/other", &["/usr/bin/server"]), (false, true));
}

#[test]
fn unmountable_file_is_reported() {
    let offer = offer(vec![target("/", Some("/settings.json"))]);
    let (template, notes) = added(json!({}), &offer);
    let [AgentNote::Impossible { reason, .. }] = notes.as_slice() else { panic!("{notes:?}") };
    assert_eq!(
        reason,
        "nothing can be mounted where /settings.json lies, and the container's command does not name it"
    );
    assert_eq!(template["spec"].get("initContainers"), None);
}

#[test]
fn unmountable_target_does_not_exclude_others() {
    let offer = offer(vec![target("/", Some("/settings.json")), target("/www", None)]);
    let (template, notes) = added(json!({}), &offer);
    let [AgentNote::Used { .. }, AgentNote::ExcludedTarget { what, .. }] = notes.as_slice() else {
        panic!("{notes:?}")
    };
    assert_eq!(what, "/settings.json");
    let mounts = &template["spec"]["containers"][1]["volumeMounts"];
    assert!(mounts.to_string().contains("/www") && !mounts.to_string().contains("settings"), "{mounts}");
}

#[test]
fn read_only_volumes_are_reported() {
    let mut offer =
        offer(vec![target("/etc/app", None), target("/data", Some("/data/file")), target("/www", None)]);
    (offer.facts.has_shell, offer.facts.has_tar) = (true, true);
    offer.facts.identity = Identity::default();
    let excluded = |volume: Value, mount: Value, offer: &AgentOffer| {
        let mut mount = mount;
        mount["name"] = "x".into();
        let mut object = deployment(json!({"volumeMounts": [{"name": "y", "mountPath": "/etc"}, mount]}));
        object["spec"]["template"]["spec"]["volumes"] = json!([{"name": "y", "emptyDir": {}}, volume]);
        let notes = add(std::slice::from_mut(&mut object), std::slice::from_ref(offer));
        let words = notes.into_iter().map(|note| match note {
            AgentNote::ExcludedTarget { container, what, reason } => format!("{container}, {what}: {reason}"),
            other => format!("{other:?}"),
        });
        words.collect::<Vec<_>>()
    };
    let volume = |source: &str| json!({"name": "x", source: {}});
    for source in ["configMap", "secret", "projected", "downwardAPI"] {
        let words = format!(
            "main, /etc/app: the volume x, which is mounted at /etc/app/, is filled by its {source} alone"
        );
        assert_eq!(excluded(volume(source), json!({"mountPath": "/etc/app/"}), &offer), [words]);
    }
    let read_only = ["main, /data/file: the volume x, which is mounted at /data, is read-only"];
    assert_eq!(
        excluded(volume("emptyDir"), json!({"mountPath": "/data", "readOnly": true}), &offer),
        read_only
    );
    let claim = json!({"name": "x", "persistentVolumeClaim": {"claimName": "x", "readOnly": true}});
    assert_eq!(excluded(claim, json!({"mountPath": "/data"}), &offer), read_only);
    let single = "main, /data/file: the volume x, which is mounted at /data/file, is there in the place of a single file, \
        which nothing can replace";
    assert_eq!(excluded(volume("emptyDir"), json!({"mountPath": "/data/file"}), &offer), [single]);
    // Paths below a target or elsewhere do not count.
    for place in ["/etc/app/inner", "/etc/application", "/data"] {
        assert_eq!(excluded(volume("emptyDir"), json!({"mountPath": place}), &offer), [""; 0]);
    }
    assert_eq!(excluded(volume("secret"), json!({"mountPath": "/etc/app/inner"}), &offer), [""; 0]);
    // A container with this target alone cannot have the agent.
    (offer.facts.has_tar, offer.facts.targets) = (false, vec![target("/data", None)]);
    let words = excluded(volume("secret"), json!({"mountPath": "/data"}), &offer);
    assert!(words.len() == 1 && words[0].starts_with("Impossible"), "{words:?}");
}

#[test]
fn root_directory_target_keeps_only_the_program() {
    let (template, notes) = added(json!({}), &offer(vec![target("/", None)]));
    let [AgentNote::Used { .. }, AgentNote::ExcludedTarget { what, .. }] = notes.as_slice() else {
        panic!("{notes:?}")
    };
    assert_eq!(what, "/ but for /web");
    assert!(template["spec"]["containers"][1]["command"].to_string().contains(r#""--keep","/web""#));
}

#[test]
fn relative_command_is_resolved_in_the_working_directory() {
    let kept = |words: &[&str], image: &str, manifest: Option<&str>| {
        let mut offer = offer(vec![target("/", Some("/web"))]);
        offer.facts.working_directory = image.into();
        let mut container = json!({"command": words});
        if let Some(directory) = manifest {
            container["workingDir"] = directory.into();
        }
        let (template, _) = added(container, &offer);
        let command = template["spec"]["containers"][1]["command"].to_string();
        let is_kept = command.contains(r#""--keep","/web""#);
        assert!(is_kept || !command.contains("/.lilt/agent"), "{command}");
        is_kept
    };
    assert!(kept(&["./web"], "", None) && kept(&["./web"], "/", None));
    assert!(kept(&["../web"], "/app", None) && kept(&["./web"], "/app", Some("/")));
    assert!(kept(&["/dlv", "exec", "web"], "/", None));
    assert!(!kept(&["./web"], "/app", None) && !kept(&["./web"], "/", Some("/app")));
    // It is searched for in PATH.
    assert!(!kept(&["web"], "/", None));
}

#[test]
fn restart_settings_become_agent_options() {
    let mut offer = offer(vec![]);
    offer.facts.has_shell = true;
    offer.restart = Some(RestartProcess {
        restart_file: "/tmp/.restart".into(),
        wait_when_ended: true,
        ..RestartProcess::default()
    });
    let limits = json!({"limits": {"cpu": "1", "nvidia.com/gpu": "1"}});
    let (template, notes) = added(json!({"resources": limits}), &offer);
    assert_eq!(used(&notes), "its process is started anew in place");
    let command =
        json!(["/.lilt/agent", "run", "--restart-file", "/tmp/.restart", "--wait", "--", "/web", "$$(port)"]);
    assert_eq!(template["spec"]["containers"][1]["command"], command);
    let init = &template["spec"]["initContainers"];
    assert_eq!(
        (init.as_array().unwrap().len(), &init[0]["resources"]),
        (1, &json!({"limits": {"cpu": "1"}}))
    );
}

#[test]
fn comparison_ignores_the_agent() {
    let offer = offer(vec![target("/www", None)]);
    let mounts = json!([{"name": "x", "mountPath": "/x"}]);
    let plain = deployment(json!({"args": ["x"], "volumeMounts": mounts}));
    let mut with = vec![plain.clone()];
    assert_eq!(add(&mut with, std::slice::from_ref(&offer)).len(), 1);
    let (mut with, mut without) = (with.remove(0), plain.clone());
    strip_agent(&mut with, &mut without);
    assert_eq!(with, without);
    assert_eq!(without["spec"]["template"]["spec"]["containers"][1]["volumeMounts"], mounts);
    // Without one, nothing changes.
    let (mut one, mut other) = (plain.clone(), deployment(json!({})));
    strip_agent(&mut one, &mut other);
    assert_eq!((one, other), (plain, deployment(json!({}))));
}

#[test]
fn each_security_context_gets_an_installer() {
    let offer = offer(vec![]);
    let container = |name: &str, security: Value| {
        let mut container = json!({"name": name, "image": "registry/web:tilt-1"});
        if !security.is_null() {
            container["securityContext"] = security;
        }
        container
    };
    let user = |id: u64| json!({"runAsUser": id});
    let mut object = deployment(json!({}));
    object["spec"]["template"]["spec"]["containers"] = json!([
        container("a", user(1)),
        container("b", user(2)),
        container("c", user(1)),
        container("d", Value::Null),
    ]);
    let mut objects = vec![object];
    add(&mut objects, std::slice::from_ref(&offer));
    let spec = &objects[0]["spec"]["template"]["spec"];
    let installers: Vec<(&str, &Value, String)> = spec["initContainers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let destinations = it["command"].as_array().unwrap()[2..].iter().filter_map(Value::as_str);
            let name = it["name"].as_str().unwrap();
            assert!(is_added(name));
            (name, &it["securityContext"], destinations.collect::<Vec<_>>().join(" "))
        })
        .collect();
    assert_eq!(
        installers,
        [
            ("lilt-agent", &user(1), "/.lilt/a-home/agent /.lilt/c-home/agent".to_owned()),
            ("lilt-agent-2", &user(2), "/.lilt/b-home/agent".to_owned()),
            ("lilt-agent-3", &Value::Null, "/.lilt/d-home/agent".to_owned()),
        ]
    );
}
