//! On the test bed: many Deployments that are deployed already, and nothing to be done about them.
//!
//! Without replicas, to limit the load of the test bed. Measured with `lilt ci`, which exits when all are up to date.

use std::fmt::Write as _;

use lilt_testbed_env::{Project, Testbed};

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::{Lilt, Run};
use crate::samples::Samples;

const COUNT: usize = 500;

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let namespace = Testbed::get().namespace("bench-deployed");
    let project = Project::new(&[("Tiltfile", "k8s_yaml('all.yaml')\n"), ("all.yaml", &yaml())]);
    // A new cache folder, which is kept between the sessions of this measurement.
    let cache = project.file("cache").display().to_string();
    let variables = || namespace.variables().chain([("XDG_CACHE_HOME", cache.as_str())]);
    let first = lilt.watch_ci_with(&project, variables());
    let again: Vec<Run> = (0..effort.samples(5)).map(|_| lilt.watch_ci_with(&project, variables())).collect();
    let of = |measured: fn(&Run) -> f64| Samples::new(again.iter().map(measured).collect());
    let figure = |key: &str, work: &str, unit: Unit, samples: Samples| {
        Figure::new(format!("deployed-{COUNT}{key}"), format!("{COUNT} Deployments{work}"), unit, samples)
    };
    vec![
        figure(
            "-first",
            ", the first time: start → up to date, exit",
            Unit::Seconds,
            first.took.as_secs_f64().into(),
        ),
        figure(
            "",
            " unchanged: second start → up to date, exit",
            Unit::Seconds,
            of(|run| run.took.as_secs_f64()),
        )
        .at_most(3.0),
        figure("-memory", " unchanged: most memory", Unit::Megabytes, of(|run| run.peak)).at_most(60.0),
    ]
}

fn yaml() -> String {
    let mut yaml = String::new();
    for number in 0..COUNT {
        write!(
            yaml,
            "---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web-{number}}}
spec:
  replicas: 0
  selector: {{matchLabels: {{app: web-{number}}}}}
  template:
    metadata: {{labels: {{app: web-{number}}}}}
    spec:
      containers: [{{name: web, image: busybox, command: [sleep, infinity]}}]
"
        )
        .expect("a String takes everything");
    }
    yaml
}
