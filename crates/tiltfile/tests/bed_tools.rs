//! The real programs that render objects: helm, kustomize, kubectl, Docker Compose.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use lilt_model::Failure;
use lilt_model::compose::{ComposeConfig, ComposeResource};
use lilt_model::image::ImageBuild;
use lilt_model::project::Project;
use lilt_model::resource::{Body, Resource, TriggerMode};
use lilt_testbed_env::Testbed;
use lilt_tiltfile::{LoadRequest, Loaded, load};
use serde_json::json;
use support::TestSystem;
use tempfile::TempDir;

/// A project folder on a machine with the test bed's programs.
struct Machine {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let bed = Testbed::get();
        let variables = bed.variables().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let machine = Self { folder: tempfile::tempdir().unwrap(), variables };
        for (name, text) in files {
            machine.write(name, text);
        }
        machine
    }

    fn set(&mut self, name: &str, value: &str) {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// In a folder whose name Compose takes for the project's.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("My.Shop").join(name)
    }

    fn load(&self, tiltfile: &str) -> (Loaded, String) {
        self.write("Tiltfile", tiltfile);
        let request = LoadRequest {
            path: self.path("Tiltfile"),
            args: Vec::new(),
            subcommand: "up".into(),
            ..LoadRequest::default()
        };
        let mut printed = String::new();
        let mut system = TestSystem::with_context("dev", "kind-dev");
        system.environment = Some(self.variables.clone());
        system.command_variables = self.variables.clone();
        let loaded = load(&request, &system, &|| false, &mut |line| writeln!(printed, "{line}").unwrap());
        (loaded, printed.replace(&self.path("").display().to_string(), "/project/"))
    }

    fn project(&self, tiltfile: &str) -> (Project, String) {
        let (loaded, printed) = self.load(tiltfile);
        (loaded.project.unwrap_or_else(|failure| panic!("{failure}\n{printed}")), printed)
    }

    fn failure(&self, tiltfile: &str) -> Failure {
        self.load(tiltfile).0.project.unwrap_err()
    }

    fn watches(&self, loaded: &Loaded, name: &str) -> bool {
        loaded.files.roots.contains(&self.path(name))
    }
}

const CHART: [(&str, &str); 8] = [
    (
        "chart/Chart.yaml",
        "apiVersion: v2\nname: shop\nversion: 0.1.0\ndependencies: [{name: lib, version: 0.1.0, repository: 'file://../lib'}]\n",
    ),
    ("chart/charts/lib/Chart.yaml", "apiVersion: v2\nname: lib\nversion: 0.1.0\n"),
    ("chart/values.yaml", "color: red\nsize: 1\n"),
    (
        "chart/templates/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-map}\ndata:\n  color: {{ .Values.color }}\n  size: {{ .Values.size | quote }}\n  namespace: {{ .Release.Namespace }}\n  version: {{ .Capabilities.KubeVersion.Version }}\n",
    ),
    (
        "chart/templates/own.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, namespace: elsewhere}\n",
    ),
    (
        "chart/templates/hook.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {\"helm.sh/hook\": pre-install}}\n",
    ),
    (
        "chart/templates/tests/test.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: test, annotations: {\"helm.sh/hook\": test}}\nspec: {containers: [{name: a, image: a}]}\n",
    ),
    (
        "chart/crds/crd.yaml",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n",
    ),
];

/// The names of the objects of a blob that the Tiltfile calls `objects`, and one field.
const SHOW: &str = "
for object in decode_yaml_stream(objects):
    print(object['metadata']['name'], object['metadata'].get('namespace'), object.get('data'))
";

fn shown(printed: &str) -> Vec<&str> {
    printed.lines().filter(|line| !line.starts_with("Running: ")).collect()
}

#[test]
fn helm_renders_a_chart() {
    let machine = Machine::new(&CHART);
    let (loaded, printed) = machine.load(&format!("objects = helm('chart')\n{SHOW}"));
    loaded.project.as_ref().unwrap();
    assert_eq!(printed.lines().next(), Some("Running: helm template chart /project/chart --include-crds"));
    let lines = shown(&printed);
    assert!(lines[0].starts_with("things.example.com "), "{lines:?}");
    let has = |part: &str| lines.iter().any(|line| line.contains(part));
    assert!(
        has("chart-map None") && has("\"color\": \"red\"") && has("\"namespace\": \"default\""),
        "{lines:?}"
    );
    assert!(has("own elsewhere") && has("hook ") && !has("test "), "{lines:?}");
    assert!(machine.watches(&loaded, "chart") && machine.watches(&loaded, "lib"), "{:?}", loaded.files);
}

#[test]
fn helm_accepts_every_argument() {
    let machine = Machine::new(&CHART);
    machine.write("more.yaml", "color: blue\n");
    let (loaded, printed) = machine.load(&format!(
        "objects = helm('chart', name='shop', namespace='prod', values=['more.yaml'], set=['size=7', 'a=b c'],
            kube_version='1.29.0', skip_crds=True)\n{SHOW}"
    ));
    loaded.project.as_ref().unwrap();
    assert_eq!(
        printed.lines().next(),
        Some(
            "Running: helm template shop /project/chart --namespace prod --kube-version 1.29.0 --values more.yaml \
             --set size=7 --set \"a=b c\""
        )
    );
    let lines = shown(&printed);
    let has = |part: &str| lines.iter().any(|line| line.contains(part));
    assert!(has("shop-map prod") && has("own elsewhere") && has("hook prod"), "{lines:?}");
    assert!(has("\"color\": \"blue\"") && has("\"size\": \"7\"") && has("v1.29.0"), "{lines:?}");
    assert!(!has("things.example.com"), "{lines:?}");
    assert!(machine.watches(&loaded, "more.yaml"));
}

#[test]
fn failing_helm_chart_shows_the_cause() {
    let machine = Machine::new(&CHART);
    machine.write("chart/templates/broken.yaml", "{{ fail \"no color\" }}\n");
    let failure = machine.failure("helm('chart')\n");
    assert!(failure.message.starts_with("helm: \"helm template chart"), "{failure}");
    assert!(failure.message.ends_with("exited with code 1"), "{failure}");
    assert!(failure.detail.unwrap().contains("no color"));
    assert_eq!(failure.location.unwrap().line, 1);
}

const KUSTOMIZATION: [(&str, &str); 9] = [
    (
        "over/kustomization.yaml",
        "resources: [../base, extra.yaml]\ncomponents: [../part]\nnamePrefix: my-\n\
        patches: [{path: patch.yaml}]\nconfigMapGenerator: [{name: made, files: [key=made.txt], envs: [made.env]}]\n",
    ),
    ("over/extra.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n"),
    ("over/patch.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\ndata: {patched: 'yes'}\n"),
    ("over/made.txt", "text"),
    ("over/made.env", "A=1\n"),
    ("base/kustomization.yml", "resources: [map.yaml]\n"),
    ("base/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\n"),
    (
        "part/Kustomization",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [part.yaml]\n",
    ),
    ("part/part.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: part}\n"),
];

#[test]
fn kustomize_builds_and_watches_the_whole_tree() {
    let machine = Machine::new(&KUSTOMIZATION);
    let (loaded, printed) = machine.load(&format!(
        "objects = kustomize('over', flags=['--load-restrictor', 'LoadRestrictionsNone'])\n{SHOW}"
    ));
    loaded.project.as_ref().unwrap();
    let first = "Running: kustomize build --load-restrictor LoadRestrictionsNone over";
    assert_eq!(printed.lines().next(), Some(first));
    let lines = shown(&printed);
    let has = |part: &str| lines.iter().any(|line| line.contains(part));
    assert!(has("my-base None {\"patched\": \"yes\"}") && has("my-part ") && has("my-extra "), "{lines:?}");
    for (name, _) in KUSTOMIZATION {
        assert!(machine.watches(&loaded, name), "{name}: {:?}", loaded.files);
    }
}

#[test]
fn kubectl_kustomize_is_the_fallback_for_kustomize() {
    let mut machine = Machine::new(&KUSTOMIZATION);
    // A folder with kubectl alone.
    let kubectl =
        Testbed::get().path().to_str().unwrap().split(':').map(|folder| Path::new(folder).join("kubectl"));
    let kubectl = kubectl.into_iter().find(|path| path.exists()).expect("the bed has kubectl");
    fs::create_dir(machine.path("bin")).unwrap();
    std::os::unix::fs::symlink(kubectl, machine.path("bin/kubectl")).unwrap();
    let own = machine.path("bin").display().to_string();
    machine.set("PATH", &own);
    let (project, printed) = machine.project("k8s_yaml(kustomize('over'))\n");
    assert!(printed.contains("Falling back to `kubectl kustomize`"), "{printed}");
    assert!(printed.contains("Running: kubectl kustomize over"), "{printed}");
    let Body::Kubernetes(kubernetes) = &project.resources[0].body else { panic!("{project:?}") };
    assert_eq!(kubernetes.objects.len(), 4);
    let failure = machine.failure("kustomize('over', kustomize_bin='bin/absent')\n");
    assert!(failure.message.contains("there is no program") && failure.hint.is_some(), "{failure}");
    let failure = machine.failure("helm('over')\n");
    assert_eq!(failure.message, "helm: there is no program helm");
}

#[test]
fn failing_kustomization_shows_the_cause() {
    let machine = Machine::new(&[("over/kustomization.yaml", "resources: [absent.yaml]\n")]);
    let (loaded, _) = machine.load("kustomize('over')\n");
    let failure = loaded.project.as_ref().unwrap_err();
    assert!(
        failure.message.contains("kustomize build over") && failure.message.contains("code 1"),
        "{failure}"
    );
    assert!(failure.detail.as_ref().unwrap().contains("absent.yaml"), "{failure}");
    assert!(machine.watches(&loaded, "over/absent.yaml"));
}

const COMPOSE: &str = "
services:
  web:
    build: ./web
    ports: ['8080:80', '0:90']
    depends_on: [db, cache]
    env_file: [web.env]
    volumes: ['./web/src:/src', 'data:/data']
  db: {image: 'postgres:${TAG:-16}'}
  cache: {image: redis, depends_on: [db]}
  tools: {image: busybox, profiles: [tools]}
volumes: {data: {}}
";

fn compose(resource: &Resource) -> &ComposeResource {
    match &resource.body {
        Body::Compose(compose) => compose,
        other => panic!("{other:?}"),
    }
}

fn names(project: &Project) -> Vec<&str> {
    project.resources.iter().map(|resource| resource.name.as_str()).collect()
}

#[test]
fn compose_services_are_resources() {
    let machine = Machine::new(&[
        ("docker-compose.yml", COMPOSE),
        ("web/Dockerfile", "FROM scratch"),
        ("web.env", "A=1\n"),
    ]);
    machine.write("web/.dockerignore", "node_modules\n");
    let (loaded, printed) = machine.load("docker_compose('docker-compose.yml')\n");
    let project = loaded.project.as_ref().unwrap_or_else(|failure| panic!("{failure}\n{printed}"));
    assert_eq!(names(project), ["db", "cache", "web"]);
    let web = &project.resources[2];
    assert_eq!(web.resource_deps, ["cache".into(), "db".into()]);
    let service = compose(web);
    assert_eq!((service.project.name.as_str(), service.service.as_str()), ("myshop", "web"));
    assert_eq!(service.project.directory, machine.path("").components().collect::<PathBuf>());
    assert_eq!(service.project.configs, [ComposeConfig::File(machine.path("docker-compose.yml"))]);
    assert_eq!(service.published_ports, [8080]);
    assert_eq!(service.config["environment"]["A"], "1");
    let image = &service.images[0];
    assert_eq!((image.name.as_str(), service.image_deps.len()), ("myshop_web", 1));
    assert!(matches!(&image.build, ImageBuild::Compose(build) if build.service == "web"), "{image:?}");
    assert_eq!(image.files.roots, [machine.path("web")]);
    let ignores = &image.files.ignores;
    assert!(ignores.iter().any(|rule| rule.patterns == ["node_modules"]), "{ignores:?}");
    assert!(ignores.iter().any(|rule| rule.base == machine.path("web/src")), "{ignores:?}");
    assert_eq!(compose(&project.resources[0]).config["image"], "postgres:16");
    for file in ["docker-compose.yml", "web.env", ".env", "web/.dockerignore"] {
        assert!(machine.watches(&loaded, file), "{file}: {:?}", loaded.files);
    }
}

#[test]
fn docker_compose_accepts_every_argument() {
    let machine = Machine::new(&[("docker-compose.yml", COMPOSE), ("web.env", ""), ("vars.env", "TAG=17\n")]);
    let (project, _) = machine.project(
        "docker_compose(['docker-compose.yml', blob('services: {db: {ports: [\"5432:5432\"]}}'), encode_yaml({'services': {'db': {'labels': {'a': 'b'}}}})],
    env_file='vars.env', project_name='shop', profiles=['tools', 'other'], wait=True)\n",
    );
    assert_eq!(names(&project), ["db", "cache", "tools", "web"]);
    let db = compose(&project.resources[0]);
    assert_eq!(db.config["image"], "postgres:17");
    assert_eq!(db.config["labels"]["a"], "b");
    assert_eq!(db.published_ports, [5432]);
    assert_eq!((db.project.name.as_str(), db.project.wait), ("shop", true));
    assert_eq!(db.project.profiles, ["tools", "other"]);
    assert_eq!(db.project.env_file, Some(machine.path("vars.env")));
    assert_eq!(db.project.configs.len(), 3);
    assert!(matches!(&db.project.configs[1], ComposeConfig::Text(text) if text.contains("5432")));
}

#[test]
fn compose_values_equal_those_of_tilt() {
    let mut machine = Machine::new(&[
        (
            "sub/docker-compose.yml",
            "services:
  web:
    image: busybox
    command: ['echo', '$$HOME', '${PWD}', 'a$$$$b']
    environment: {B: '$${x}'}
    env_file: ['${NAME:-web}.env', {path: optional.env, required: false}]
  more: {extends: {file: more.yml, service: more}}
",
        ),
        ("sub/more.yml", "services: {more: {image: busybox, env_file: more.env}}\n"),
        ("sub/web.env", "A=1\n"),
        ("sub/more.env", "A=2\n"),
    ]);
    machine.variables.retain(|(name, _)| name != "PWD");
    let started = std::path::absolute(".").unwrap().display().to_string();
    let (loaded, _) = machine.load("docker_compose('sub/docker-compose.yml')\n");
    let project = loaded.project.as_ref().unwrap();
    let service = |name: &str| {
        let found = project.resources.iter().find(|resource| resource.name.as_str() == name).unwrap();
        &compose(found).config
    };
    assert_eq!(service("web")["command"], json!(["echo", "$HOME", started, "a$$b"]));
    assert_eq!(service("web")["environment"], json!({"A": "1", "B": "${x}"}));
    let path = |name: &str| machine.path(name).display().to_string();
    assert_eq!(
        service("web")["env_file"],
        json!([{"path": path("sub/web.env")}, {"path": path("sub/optional.env"), "required": false}])
    );
    assert_eq!(service("more")["env_file"], json!([{"path": path("sub/more.env")}]));
    for file in ["sub/web.env", "sub/optional.env", "sub/more.env"] {
        assert!(machine.watches(&loaded, file), "{file}: {:?}", loaded.files);
    }
    machine.set("PWD", "/elsewhere");
    let (project, _) = machine.project("docker_compose('sub/docker-compose.yml')\n");
    let web = project.resources.iter().find(|resource| resource.name.as_str() == "web").unwrap();
    assert_eq!(compose(web).config["command"][2], "/elsewhere");
}

#[test]
fn compose_profiles_come_from_the_environment_and_calls_are_merged() {
    let mut machine = Machine::new(&[
        ("docker-compose.yml", COMPOSE),
        ("web.env", ""),
        ("b.yml", "services: {more: {image: busybox}}\n"),
    ]);
    machine.set("COMPOSE_PROFILES", "tools");
    let (project, printed) = machine.project(
        "docker_compose('docker-compose.yml')\ndc_resource('db', labels=['x'], new_name='postgres')\ndocker_compose('b.yml')\n",
    );
    assert!(printed.contains("loading profiles from environment: tools"), "{printed}");
    assert_eq!(names(&project), ["postgres", "cache", "more", "tools", "web"]);
    assert_eq!(project.resources[0].labels, ["x"]);
    assert_eq!(compose(&project.resources[0]).service, "db");
    assert_eq!(compose(&project.resources[0]).project.configs.len(), 2);
}

#[test]
fn dc_resource_adds_options_to_a_service() {
    let machine = Machine::new(&[("docker-compose.yml", COMPOSE), ("web.env", "")]);
    let (project, _) = machine.project(
        "docker_compose('docker-compose.yml')
local_resource('first', 'true')
docker_build('shop-web', 'web', dockerfile_contents='FROM scratch', live_update=[sync('web', '/web'), restart_container()])
dc_resource('web', image='shop-web', trigger_mode=TRIGGER_MODE_MANUAL, resource_deps=['first'], infer_links=False,
    links=['example.test'], labels=['one'], auto_init=False, project_name='myshop')
dc_resource('web', labels=['two'], links=[link('http://y', 'Y')])
dc_resource('db', new_name='postgres')
",
    );
    assert_eq!(names(&project), ["postgres", "cache", "web", "first"]);
    let web = &project.resources[2];
    assert_eq!(web.labels, ["one", "two"]);
    assert_eq!(web.links.len(), 2);
    assert_eq!((web.trigger_mode, web.auto_init), (TriggerMode::Manual, false));
    assert_eq!(web.resource_deps, ["cache".into(), "postgres".into(), "first".into()]);
    let service = compose(web);
    assert_eq!(service.infer_links, Some(false));
    assert_eq!(service.images[0].name.as_str(), "shop-web");
    assert!(service.images[0].live_update.as_ref().unwrap().restart);
    assert!(matches!(service.images[0].build, ImageBuild::Docker(_)));
}

#[test]
fn invalid_compose_calls_are_errors() {
    let machine = Machine::new(&[
        ("docker-compose.yml", COMPOSE),
        ("web.env", ""),
        ("other/docker-compose.yml", "services: {db: {image: a}}\n"),
    ]);
    let cases = [
        ("docker_compose('absent.yml')", "docker compose"),
        ("docker_compose(blob('services: {a: {imag: x}}'))", "exited with code"),
        ("docker_compose('docker-compose.yml')\ndc_resource('wbe')", "no Docker Compose service named wbe"),
        (
            "docker_compose('docker-compose.yml')\ndc_resource('db', project_name='other')",
            "no Docker Compose service named db",
        ),
        (
            "docker_compose('docker-compose.yml')\ndocker_compose('other/docker-compose.yml')",
            "already a Docker Compose resource named db",
        ),
        (
            "docker_compose('docker-compose.yml')\ndc_resource('db', new_name='web')",
            "already a Docker Compose resource named web",
        ),
        ("docker_compose('docker-compose.yml')\nlocal_resource('db', 'true')", "two resources named db"),
        (
            "docker_compose('docker-compose.yml')\ndefault_registry('localhost:5000')",
            "not supported with Docker Compose",
        ),
        (
            "docker_build('postgres:16', '.', dockerfile_contents='FROM a', entrypoint='x')\ndocker_compose('docker-compose.yml')",
            "entrypoint",
        ),
    ];
    for (tiltfile, part) in cases {
        let failure = machine.failure(&format!("{tiltfile}\n"));
        assert!(failure.to_string().contains(part), "{tiltfile}: {failure}");
        assert!(!failure.to_string().contains("/lilt-"), "it names a temporary file: {failure}");
    }
    let failure = machine.failure("docker_compose('docker-compose.yml')\ndc_resource('wbe')\n");
    assert_eq!(failure.hint.as_deref(), Some("did you mean web?"));
}

#[test]
fn image_unused_by_compose_is_a_warning() {
    let machine = Machine::new(&[("docker-compose.yml", COMPOSE), ("web.env", "")]);
    let (project, _) = machine.project(
        "docker_compose('docker-compose.yml')\ndocker_build('postgrs', '.', dockerfile_contents='FROM a')\n",
    );
    let warning = project.warnings.join("\n");
    assert!(
        warning.contains("Docker Compose config: postgrs") && warning.contains("Did you mean postgres?"),
        "{warning}"
    );
}
