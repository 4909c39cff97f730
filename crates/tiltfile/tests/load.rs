//! A load can be cancelled, is isolated, and knows every builtin.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lilt_model::resource::Body;
use lilt_tiltfile::{LoadMessage, LoadRequest, Loaded, load};
use support::TestSystem;

fn load_text(
    directory: &Path,
    text: &str,
    cancelled: &(dyn Fn() -> bool + Sync),
    print: &mut dyn FnMut(LoadMessage<'_>),
) -> Loaded {
    let path = directory.join("Tiltfile");
    fs::write(&path, text).unwrap();
    let request = LoadRequest { path, args: Vec::new(), subcommand: "up".into(), ..LoadRequest::default() };
    load(&request, &TestSystem::default(), cancelled, print)
}

fn load_in(directory: &Path, text: &str) -> Loaded {
    load_text(directory, text, &|| false, &mut |_| {})
}

#[test]
fn every_builtin_of_tilt_is_defined() {
    let names: Vec<&str> = include_str!("builtin-names.txt").lines().filter(|name| *name != "load").collect();
    assert_eq!(names.len(), 132);
    let directory = tempfile::tempdir().unwrap();
    let text: String = names.iter().map(|name| format!("x = {name}\n")).collect();
    load_in(directory.path(), &text).project.unwrap();
}

#[test]
fn endless_loop_is_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    for text in
        ["while True:\n  pass\n", "def f():\n  while True: pass\nf()\n", "[0 for _ in range(2000000000)]\n"]
    {
        // Checked a few times before it is cancelled: the code must already be running.
        let looks = AtomicUsize::new(0);
        let cancelled = || looks.fetch_add(1, Ordering::Relaxed) > 3;
        let failure = load_text(directory.path(), text, &cancelled, &mut |_| {}).project.unwrap_err();
        assert!(failure.message.contains("cancelled"), "{failure}");
    }
}

#[test]
fn running_command_is_cancelled_with_its_children() {
    let directory = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let text = "local('sleep 1000 & echo $!; wait', echo_off=True)\n";
    let mut child = String::new();
    let failure = load_text(directory.path(), text, &|| stop.load(Ordering::Relaxed), &mut |message| {
        child = message.to_string().trim_start_matches(" → ").to_owned();
        stop.store(true, Ordering::Relaxed);
    });
    assert!(failure.project.unwrap_err().message.contains("cancelled"));
    // It was killed, and may take a moment to be gone.
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let status = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        if status.is_empty() || status.contains(") Z ") {
            break;
        }
        assert!(Instant::now() < deadline, "the child {child} still runs: {status}");
        std::thread::yield_now();
    }
}

#[test]
fn output_is_passed_on_while_the_load_runs() {
    let directory = tempfile::tempdir().unwrap();
    let seen = AtomicBool::new(false);
    // Ends only because its first line was seen.
    let loaded = load_text(
        directory.path(),
        "print('ready')\nwhile True: pass\n",
        &|| seen.load(Ordering::Relaxed),
        &mut |message| {
            assert_eq!(message, LoadMessage::Line("ready"));
            seen.store(true, Ordering::Relaxed);
        },
    );
    assert!(loaded.project.is_err());
}

#[test]
fn warnings_are_printed_in_order_with_the_lines() {
    let directory = tempfile::tempdir().unwrap();
    let text = "print('a')\nwarn('b')\nprint('c')\nwarn('d\\ne')\ndocker_build('unused', '.', dockerfile_contents='FROM x')\n";
    let mut message = Vec::new();
    let loaded = load_text(directory.path(), text, &|| false, &mut |what| message.push(what.to_string()));
    let unused = message.pop().unwrap();
    assert!(unused.starts_with("WARNING: ") && unused.contains("unused"), "{unused}");
    assert_eq!(message, ["a", "WARNING: b", "c", "WARNING: d\ne"]);
    let warnings = loaded.project.unwrap().warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert_eq!(warnings[..2], ["b", "d\ne"]);
}

#[cfg(unix)]
#[test]
fn unreadable_kustomization_warns_and_other_files_stay_watched() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let files = [
        ("over/kustomization.yaml", "resources: [../base, ../other]\n"),
        ("base/kustomization.yaml", "resources:\n- map.yaml\n\t- tab.yaml\n"),
        ("base/map.yaml", "a: 1\n"),
        ("other/kustomization.yaml", "resources: [other.yaml]\n"),
        ("other/other.yaml", "a: 1\n"),
        ("bin/kustomize", "#!/bin/sh\ntrue\n"),
    ];
    for (name, content) in files {
        fs::create_dir_all(path(name).parent().unwrap()).unwrap();
        fs::write(path(name), content).unwrap();
    }
    fs::set_permissions(path("bin/kustomize"), fs::Permissions::from_mode(0o755)).unwrap();
    let loaded = load_in(directory.path(), "kustomize('over', kustomize_bin='bin/kustomize')\n");
    let warnings = loaded.project.unwrap().warnings;
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    let broken = path("base/kustomization.yaml").display().to_string();
    assert!(warning.contains(&broken) && warning.contains("line 3: "), "{warning}");
    for (name, _) in &files[..5] {
        assert!(loaded.files.roots.contains(&path(name)), "{name}: {:?}", loaded.files);
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;

    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Compose knows `--no-env-resolution` since 2025.
#[cfg(unix)]
#[test]
fn old_compose_takes_env_files_from_the_yaml() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let compose = "#!/bin/sh\ncase \"$*\" in *--no-env*) echo 'unknown flag: --no-env-resolution' >&2; exit 16;; esac\n\
        echo '{\"services\": {\"web\": {\"image\": \"x\"}, \"db\": {\"image\": \"y\"}}}'\n";
    fs::write(path("compose"), compose).unwrap();
    make_executable(&path("compose"));
    let services = "services:\n  web: {image: x, env_file: [a.env, {path: b.env, required: false}]}\n  \
        db: {extends: {file: more.yml, service: db}}\n";
    fs::write(path("docker-compose.yml"), services).unwrap();
    fs::write(path("Tiltfile"), "docker_compose('docker-compose.yml')\n").unwrap();
    let command = path("compose").display().to_string();
    let request = LoadRequest {
        path: path("Tiltfile"),
        subcommand: "up".into(),
        environment: vec![("TILT_DOCKER_COMPOSE_CMD".to_owned(), Some(command))],
        ..LoadRequest::default()
    };
    let loaded = load(&request, &TestSystem::default(), &|| false, &mut |_| {});
    let project = loaded.project.unwrap();
    let web = project.resources.iter().find(|resource| resource.name.as_str() == "web").unwrap();
    let Body::Compose(web) = &web.body else { panic!("{web:?}") };
    let expected = serde_json::json!([{"path": path("a.env")}, {"path": path("b.env"), "required": false}]);
    assert_eq!(web.config["env_file"], expected);
    assert!(loaded.files.roots.contains(&path("a.env")), "{:?}", loaded.files);
    assert!(
        project.warnings.iter().any(|it| it.contains("`extends` or `include`")),
        "{:?}",
        project.warnings
    );
}

#[test]
fn unreadable_chart_warns_about_unwatched_local_dependencies() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("chart")).unwrap();
    fs::write(directory.path().join("chart/Chart.yaml"), "a: 1\n\t- b\n").unwrap();
    let mut message = Vec::new();
    // helm refuses it, too, if there is any.
    let text = "helm('chart')\n";
    let loaded = load_text(directory.path(), text, &|| false, &mut |what| message.push(what.to_string()));
    assert!(loaded.project.is_err());
    let warning = "lilt does not watch the local charts that it lists";
    assert!(message.iter().any(|line| line.contains(warning)), "{message:?}");
}

#[test]
fn utf16_file_is_read_as_text() {
    let directory = tempfile::tempdir().unwrap();
    let wide: Vec<u8> = "\u{feff}wide".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(directory.path().join("wide.txt"), wide).unwrap();
    let text = "print(str(read_file('wide.txt')))\n";
    let mut message = Vec::new();
    load_text(directory.path(), text, &|| false, &mut |what| message.push(what.to_string())).project.unwrap();
    assert_eq!(message, ["wide"]);
}

/// As Go's `json.Number` in Tilt: `1e3` is neither an integer nor a float with a point.
#[test]
fn json_number_with_exponent_but_no_point_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let failure = load_in(directory.path(), "decode_json('[1e3]')\n").project.unwrap_err();
    assert!(failure.message.contains("the number 1e3 in"), "{failure}");
}

#[test]
fn warnings_of_a_failing_load_are_printed_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let mut message = Vec::new();
    let text = "warn('b')\nprint('c')\nfail('d')\n";
    let loaded = load_text(directory.path(), text, &|| false, &mut |what| message.push(what.to_string()));
    assert!(loaded.project.is_err());
    assert_eq!(message, ["WARNING: b", "c"]);
}

#[test]
fn calls_may_nest_deep() {
    let directory = tempfile::tempdir().unwrap();
    let text =
        "def f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(2500))\nsorted([1], key=lambda x: f(100))\n";
    load_in(directory.path(), text).project.unwrap();
}

#[test]
fn infinite_recursion_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    for text in [
        "def f(n): return f(n + 1)\nf(0)\n",
        "def f(n): return sorted([1, 2], key=lambda x: f(n + 1))\nf(0)\n",
        "def f(n): return [max([(f(m) if m else 0) for m in [n]], [{1: f(n)}]) for _ in [1]]\nf(1)\n",
        "def f(*args, **kwargs): return '%s' % [f(*args, **kwargs)]\nf(1, a=2)\n",
    ] {
        let failure = load_in(directory.path(), text).project.unwrap_err();
        assert_eq!(failure.message, "too many nested calls");
    }
}

#[test]
fn missing_tiltfile_is_watched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("Tiltfile");
    let request = LoadRequest {
        path: path.clone(),
        args: Vec::new(),
        subcommand: "up".into(),
        ..LoadRequest::default()
    };
    let loaded = load(&request, &TestSystem::default(), &|| false, &mut |_| {});
    assert!(loaded.project.unwrap_err().message.contains("no such file"));
    assert!(loaded.files.roots.contains(&path));
}

#[test]
fn directory_in_place_of_a_file_is_watched_without_its_content() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    for name in ["Tiltfile", "file", "values.yaml", "compose.yml", ".tiltignore", "exists"] {
        fs::create_dir(path(name)).unwrap();
    }
    let request = |name: &str| LoadRequest { path: path(name), ..LoadRequest::default() };
    let loaded = load(&request("Tiltfile"), &TestSystem::default(), &|| false, &mut |_| {});
    let failure = loaded.project.unwrap_err();
    assert_eq!(failure.message, format!("{} is a directory, not a file", path("Tiltfile").display()));
    // Tilt does not name it among the files of the Tiltfile.
    assert!(
        loaded.files.entries.contains(&path("Tiltfile")) && !loaded.files.roots.contains(&path("Tiltfile"))
    );

    for (call, name) in [
        ("read_file('file')", "file"),
        ("read_file('file', default='')", "file"),
        ("docker_compose('compose.yml')", "compose.yml"),
        ("os.path.exists('exists')", "exists"),
        ("read_json('file')", "file"),
        ("helm('missing')", "missing"),
        ("local_git_repo('missing')", "missing"),
        ("local('true', dir='missing')", "missing"),
        ("k8s_yaml('missing/*.yaml')", "missing"),
        ("load_dynamic('file')", "file"),
        ("", ".tiltignore"),
    ] {
        fs::write(path("other"), call).unwrap();
        let loaded = load(&request("other"), &TestSystem::default(), &|| false, &mut |_| {});
        assert!(loaded.files.entries.contains(&path(name)), "{call}: {:?}", loaded.files);
    }
    fs::write(path("other"), "watch_file('file')\nread_file('file')\n").unwrap();
    let files = load(&request("other"), &TestSystem::default(), &|| false, &mut |_| {}).files;
    assert!(files.roots.contains(&path("file")) && !files.entries.contains(&path("file")), "{files:?}");
}

#[test]
fn no_kubeconfig_is_read_without_objects() {
    let directory = tempfile::tempdir().unwrap();
    // The context would be refused if it were checked.
    let system = TestSystem::with_context("production", "production");
    let path = directory.path().join("Tiltfile");
    fs::write(&path, "local_resource('a', 'true')\n").unwrap();
    let request = LoadRequest { path, args: Vec::new(), subcommand: "up".into(), ..LoadRequest::default() };
    load(&request, &system, &|| false, &mut |_| {}).project.unwrap();
}

#[test]
fn loads_share_nothing() {
    let directory = tempfile::tempdir().unwrap();
    load_in(directory.path(), "len = None\nlocal_resource('one', 'true')\n").project.unwrap();
    let project = load_in(directory.path(), "x = len('a')\nlocal_resource('two', 'true')\n").project.unwrap();
    assert_eq!(project.resources.len(), 1);
    assert!(matches!(project.resources[0].body, Body::Local(_)));
}

#[test]
fn thousand_resources_keep_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let text: String = (0..1000).map(|number| format!("local_resource('r{number}', 'true')\n")).collect();
    let project = load_in(directory.path(), &text).project.unwrap();
    let names: Vec<String> = project.resources.iter().map(|resource| resource.name.to_string()).collect();
    assert_eq!(names, (0..1000).map(|number| format!("r{number}")).collect::<Vec<_>>());
}
