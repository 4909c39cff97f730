//! The extensions that call kubectl and helm, with the real ones and a real cluster.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod support;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use lilt_model::kubernetes::{CustomDeploy, KubernetesResource};
use lilt_model::project::Project;
use lilt_model::resource::Body;
use lilt_testbed_env::{Namespace, Testbed};
use serde_json::Value;
use support::Machine;

/// A machine whose commands reach the namespace.
fn machine(namespace: &Namespace) -> Machine {
    let mut machine = Machine::new();
    for (name, value) in namespace.variables() {
        machine.system.command_variables.retain(|(known, _)| known != name);
        machine.system.command_variables.push((name.to_owned(), value.to_owned()));
    }
    machine
}

fn project(machine: &Machine, text: &str) -> (Project, String) {
    let (loaded, printed) = machine.load(&machine.write("project/Tiltfile", text), "up");
    (loaded.project.unwrap_or_else(|failure| panic!("{failure}\n{printed}")), printed)
}

fn kubernetes(project: &Project) -> impl Iterator<Item = &KubernetesResource> {
    project.resources.iter().filter_map(|resource| match &resource.body {
        Body::Kubernetes(kubernetes) => Some(kubernetes),
        _ => None,
    })
}

fn object<'p>(project: &'p Project, kind: &str, name: &str) -> &'p Value {
    kubernetes(project)
        .flat_map(|resource| &resource.objects)
        .find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
        .unwrap_or_else(|| panic!("no {kind} {name}"))
}

fn run(machine: &Machine, command: &lilt_model::command::Command, more: &[(&str, &str)]) -> Output {
    let mut process = Command::new(&command.argv[0]);
    process.args(&command.argv[1..]).current_dir(&command.dir);
    process
        .envs(machine.system.command_variables.clone())
        .envs(command.env.clone())
        .envs(more.iter().copied());
    process.output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn secret_and_configmap_extensions_equal_kubectl_output() {
    let namespace = Testbed::get().namespace("ext-secret");
    let machine = machine(&namespace);
    machine.write("project/conf/key", "top");
    machine.write("project/conf/env", "A=1\nB=2\n");
    let (project, _) = project(
        &machine,
        "load('ext://secret', 'secret_create_generic', 'secret_from_dict', 'secret_create_docker_registry')\n\
         load('ext://configmap', 'configmap_create')\n\
         secret_create_generic('files', from_file=['renamed=conf/key', 'conf/key'], namespace='elsewhere')\n\
         k8s_yaml(secret_from_dict('dict', inputs={'a': 'b c'}))\n\
         secret_create_docker_registry('registry', 'me', 'hidden', server='registry.test')\n\
         configmap_create('env', from_env_file='conf/env')\n",
    );
    let files = object(&project, "Secret", "files");
    assert_eq!(files["data"], serde_json::json!({"key": "dG9w", "renamed": "dG9w"}));
    assert_eq!(files["metadata"]["namespace"], "elsewhere");
    assert_eq!(object(&project, "Secret", "dict")["data"]["a"], "YiBj");
    assert_eq!(object(&project, "Secret", "registry")["type"], "kubernetes.io/dockerconfigjson");
    assert_eq!(object(&project, "ConfigMap", "env")["data"], serde_json::json!({"A": "1", "B": "2"}));
}

#[test]
fn deployment_extension_objects_pass_strict_validation() {
    let namespace = Testbed::get().namespace("ext-deployment");
    let machine = machine(&namespace);
    let (project, _) = project(
        &machine,
        "load('ext://deployment', 'deployment_create', 'job_create', 'service_yaml')\n\
         deployment_create('web', 'busybox', command=['sleep', '1'], ports=['80:8080'], image_pull_policy='Always')\n\
         job_create('seed', 'busybox', 'true')\n\
         k8s_yaml(service_yaml('out', external_name='example.test'))\n",
    );
    for object in kubernetes(&project).flat_map(|resource| &resource.objects) {
        let file = machine.write("object.json", &object.to_string());
        // Strict: a field that does not exist is an error.
        let arguments = ["apply", "--dry-run=server", "--validate=strict", "-f", file.to_str().unwrap()];
        namespace.kubectl(&arguments);
    }
}

#[test]
fn cluster_version_is_checked() {
    let namespace = Testbed::get().namespace("ext-version");
    let machine = machine(&namespace);
    let load = "load('ext://min_k8s_version', 'min_k8s_version', 'max_k8s_version')\n";
    machine.load_text(&format!("{load}min_k8s_version('1.20')\nmax_k8s_version('9.0')\n")).unwrap();
    let failure = machine.load_text(&format!("{load}min_k8s_version('9.0')\n")).unwrap_err();
    assert!(failure.message.contains("at least 9.0 is needed"), "{failure}");
}

const CHART: &str = "apiVersion: v2\nname: app\nversion: 0.1.0\n";

fn custom_deploy(project: &Project) -> &CustomDeploy {
    kubernetes(project).find_map(|resource| resource.custom_deploy.as_ref()).unwrap()
}

#[test]
fn helm_resource_installs_with_images_and_uninstalls() {
    let bed = Testbed::get();
    let (namespace, other) = (bed.namespace("ext-helm"), bed.namespace("ext-helm-other"));
    let machine = machine(&namespace);
    machine.write("project/chart/Chart.yaml", CHART);
    machine.write(
        "project/chart/values.yaml",
        "image: {registry: none, repository: none, tag: none}\nwhole: none\n",
    );
    machine.write(
        "project/chart/templates/all.yaml",
        &format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: here\ndata:\n  \
             split: '{{{{ .Values.image.registry }}}} {{{{ .Values.image.repository }}}} {{{{ .Values.image.tag }}}}'\n  \
             whole: {{{{ .Values.whole }}}}\n  flag: {{{{ .Values.flag }}}}\n---\n\
             apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: there\n  namespace: {}\n",
            other.name()
        ),
    );
    machine.write("project/Dockerfile", "FROM busybox\n");
    let (project, _) = project(
        &machine,
        &format!(
            "load('ext://helm_resource', 'helm_resource')\ndocker_build('a', '.')\ndocker_build('b', '.')\n\
             helm_resource('app', './chart', namespace='{}', image_deps=['a', 'b'], \
             image_keys=[('image.registry', 'image.repository', 'image.tag'), 'whole'], flags=['--set=flag=set'])\n",
            // The context's default is another one.
            other.name()
        ),
    );
    let deploy = custom_deploy(&project);
    let images = [("TILT_IMAGE_0", "localhost:5000/team/a:tilt-1"), ("TILT_IMAGE_1", "team/b:tilt-2")];
    let text = printed(&run(&machine, &deploy.apply, &images));
    let (manifests, text) =
        text.split_once("\n# lilt: as they are in the cluster\n").expect("both are printed");
    assert!(manifests.contains("name: here"), "{manifests}");
    let objects = decode(&machine, text);
    let data = |name: &str| {
        let items = objects["items"].as_array().unwrap();
        items.iter().find(|item| item["metadata"]["name"] == name).unwrap().clone()
    };
    assert_eq!(data("here")["metadata"]["namespace"], other.name());
    assert_eq!(data("there")["metadata"]["namespace"], other.name());
    assert_eq!(data("here")["data"]["split"], "localhost:5000 team/a tilt-1");
    assert_eq!(data("here")["data"]["whole"], "team/b:tilt-2");
    assert_eq!(data("here")["data"]["flag"], "set");
    let get = ["get", "configmap", "here", "-o", "name"];
    other.kubectl(&get);
    printed(&run(&machine, &deploy.delete, &images));
    assert!(other.try_kubectl(&get).unwrap_err().contains("not found"));
    // Deleting it twice is no failure.
    printed(&run(&machine, &deploy.delete, &images));
}

/// Reads YAML as the Tiltfile does, since there is nothing else here that reads YAML.
fn decode(machine: &Machine, text: &str) -> Value {
    machine.write("project/text.yaml", text);
    let (_, printed) = project(machine, "print(encode_json(read_yaml('text.yaml')))\n");
    serde_json::from_str(&printed).unwrap()
}

#[test]
fn failing_helm_resource_prints_no_objects() {
    let namespace = Testbed::get().namespace("ext-helm-bad");
    let machine = machine(&namespace);
    let (project, _) = project(
        &machine,
        "load('ext://helm_resource', 'helm_resource')\nhelm_resource('app', './missing')\n",
    );
    let output = run(&machine, &custom_deploy(&project).apply, &[]);
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("./missing"));
}

/// Serves the files of a folder over HTTP for as long as the process lives; returns the address.
fn serve(folder: &Path) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap();
            let text = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = text.split(' ').nth(1).unwrap_or("/").trim_start_matches('/');
            let answer = match std::fs::read(folder.join(path)) {
                Ok(content) => {
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                        content.len()
                    );
                    [head.into_bytes(), content].concat()
                }
                Err(_) => {
                    b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_vec()
                }
            };
            // helm may have hung up.
            let _ = stream.write_all(&answer);
        }
    });
    address
}

fn helm(machine: &Machine, words: &[&str]) {
    let line = format!("helm {}", words.join(" "));
    let command = lilt_model::command::Command::shell(line, machine.folder.path());
    printed(&run(machine, &command, &[]));
}

#[test]
fn helm_remote_pulls_and_renders_a_chart() {
    let namespace = Testbed::get().namespace("ext-helm-remote");
    let machine = machine(&namespace);
    machine.write("source/app/Chart.yaml", CHART);
    machine.write(
        "source/app/templates/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  a: {{ .Values.a }}\n",
    );
    machine.write(
        "source/app/crds/x.yaml",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: xs.example.test\n",
    );
    helm(&machine, &["package", "source/app", "--destination", "charts"]);
    let address = serve(&machine.path("charts"));
    helm(&machine, &["repo", "index", "charts", "--url", &address]);
    let text = format!(
        "load('ext://helm_remote', 'helm_remote')\n\
         helm_remote('app', repo_name='mine', repo_url='{address}', release_name='rel', set=['a=b'], version='0.1.0')\n"
    );
    let (first, _) = project(&machine, &text);
    assert_eq!(object(&first, "ConfigMap", "rel")["data"]["a"], "b");
    object(&first, "CustomResourceDefinition", "xs.example.test");
    let names: Vec<&str> = first.resources.iter().map(|resource| resource.name.as_str()).collect();
    assert!(names.contains(&"app-crds-install") && names.contains(&"app-crds-ready"), "{names:?}");
    // Again, from what is here.
    let (second, printed) = project(&machine, &text);
    assert_eq!(first, second);
    assert!(!printed.contains("helm pull"), "{printed}");
}
