//! The cost of loading a Tiltfile: `lilt alpha tiltfile-result`, from before the process exists until it has ended.
//!
//! Includes start, assembly, the JSON of the result (megabytes for thousands of resources) and
//! the end of the process.

use std::fmt::Write as _;

use lilt_testbed_env::Project;

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::Lilt;
use crate::samples::{Samples, milliseconds};

/// A cluster that is never contacted.
const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
current-context: kind-bench
contexts: [{name: kind-bench, context: {cluster: kind-bench, user: bench}}]
clusters: [{name: kind-bench, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: bench, user: {}}]
";
const FEW: usize = 500;
const MANY: usize = 10_000;

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let load = |tiltfile: &str, objects: &str, samples: usize| {
        let files = [("Tiltfile", tiltfile), ("objects.yaml", objects), ("kubeconfig", KUBECONFIG)];
        let project = Project::new(&files);
        let kubeconfig = project.path().join("kubeconfig").display().to_string();
        let arguments = ["alpha", "tiltfile-result"];
        let run =
            || milliseconds(lilt.run_with(project.path(), &arguments, [("KUBECONFIG", kubeconfig.as_str())]));
        // The first run reads the program from disk.
        run();
        Samples::collect(effort.samples(samples), |_| run())
    };
    let mut locals = String::new();
    for index in 0..1_000 {
        let _ = writeln!(locals, "local_resource('resource-{index}', 'true')");
    }
    let figure = |key: &str, work: &str, samples: Samples| {
        Figure::new(key, format!("Tiltfile, {work}: start → exit"), Unit::Milliseconds, samples)
    };
    let few = load("k8s_yaml('objects.yaml')\n", &deployments(FEW), 20);
    let each = few.median() / FEW as f64;
    let mut figures = vec![
        figure("tiltfile-empty", "empty", load("", "", 50)).at_most(15.0),
        figure("tiltfile-locals", "1,000 local_resource", load(&locals, "", 20)).at_most(30.0),
        figure("tiltfile-deployments", "500 Deployments of one YAML", few).at_most(70.0),
    ];
    if !effort.quick {
        let many = load("k8s_yaml('objects.yaml')\n", &deployments(MANY), 5);
        let ratio = many.median() / MANY as f64 / each;
        figures.push(figure("tiltfile-deployments-10000", "10,000 Deployments of one YAML", many));
        let work = "Tiltfile, one of 10,000 Deployments: as long as one of 500";
        figures.push(Figure::new("tiltfile-deployments-ratio", work, Unit::Times, ratio).at_most(1.5));
    }
    figures
}

fn deployments(count: usize) -> String {
    let mut objects = String::new();
    for index in 0..count {
        let _ = write!(
            objects,
            "---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{index}
  labels: {{app: app-{index}}}
spec:
  replicas: 1
  selector:
    matchLabels: {{app: app-{index}}}
  template:
    metadata:
      labels: {{app: app-{index}}}
    spec:
      containers:
      - name: main
        image: registry.example.com/app-{index}:1.0
        ports: [{{containerPort: 8080}}]
        env:
        - name: PORT
          value: '8080'
"
        );
    }
    objects
}
