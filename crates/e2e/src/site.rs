//! Projects for the test bed: a small web site in a pod, and queries of the cluster.

use lilt_testbed_env::{Namespace, Project, Testbed, eventually, free_port};
use serde_json::Value;

use super::lilt::{Lilt, Start};
use super::page::get;

/// A project that builds and deploys a web server, with its own namespace, image and port.
#[derive(Debug)]
pub struct Site {
    pub namespace: Namespace,
    pub project: Project,
    /// The local port of the port forward.
    pub port: u16,
}

/// Every image begins with a unique step, so that it is not in the engine's cache.
const DOCKERFILE: &str = "FROM busybox\n\
    RUN echo this is the build of NAME on $(uname -s)\n\
    COPY words.txt /www/\n\
    COPY www /www\n\
    CMD [\"httpd\", \"-f\", \"-v\", \"-p\", \"8080\", \"-h\", \"/www\"]\n";

impl Site {
    /// Creates a site with the content `one`.
    pub fn new(topic: &str) -> Site {
        let namespace = Testbed::get().namespace(topic);
        let dockerfile = DOCKERFILE.replace("NAME", namespace.name());
        let files = [
            ("app/Dockerfile", dockerfile.as_str()),
            ("app/words.txt", "first\n"),
            ("app/www/index.html", "one\n"),
            ("text", "text\n"),
        ];
        let project = Project::new(&files);
        let site = Site { namespace, project, port: free_port() };
        site.project.write("web.yaml", &site.yaml("web", site.image()));
        site.project.write("Tiltfile", &site.tiltfile());
        site
    }

    /// Creates a site with a second pod, `ticking`, that prints numbers, and a session in which both are ready.
    pub fn ticking(topic: &str) -> (Site, Lilt) {
        let site = Site::new(topic);
        let ticking = site.shell("ticking", "i=0; while true; do i=$((i+1)); echo tick $i; sleep 0.1; done");
        site.project.write("ticking.yaml", &ticking);
        site.project.write("Tiltfile", &format!("{}k8s_yaml('ticking.yaml')\n", site.tiltfile()));
        let lilt = site.up().start();
        lilt.wait_until_ready("web");
        lilt.wait_until_ready("ticking");
        site.serves("one");
        (site, lilt)
    }

    /// Returns the image's name, which is unique.
    pub fn image(&self) -> &str {
        self.namespace.name()
    }

    /// Returns a Tiltfile that builds, deploys and forwards it.
    pub fn tiltfile(&self) -> String {
        format!(
            "docker_build('{}', 'app', live_update=[sync('app/www', '/www'), run('echo ran in $(hostname)')])\n\
             k8s_yaml('web.yaml')\n\
             k8s_resource('web', port_forwards='{}:8080', labels=['site'])\n",
            self.image(),
            self.port
        )
    }

    /// Returns a deployment with one pod.
    pub fn yaml(&self, name: &str, image: &str) -> String {
        format!(
            "apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {{name: main, image: {image}}}
"
        )
    }

    /// Returns a deployment whose container runs a shell command.
    pub fn shell(&self, name: &str, line: &str) -> String {
        let container = format!("image: busybox, command: [sh, -c, '{line}']}}");
        self.yaml(name, "busybox").replace("image: busybox}", &container)
    }

    /// Returns a deployment whose container only sleeps.
    pub fn idle(&self, name: &str) -> String {
        self.shell(name, "exec sleep 987")
    }

    pub fn up(&self) -> Start {
        Start::up(&self.project).in_namespace(&self.namespace)
    }

    pub fn ci(&self) -> Start {
        Start::ci(&self.project).in_namespace(&self.namespace)
    }

    pub fn down(&self) -> Start {
        Start::new(&self.project, &["down"]).in_namespace(&self.namespace)
    }

    /// Waits until the port forward serves a text.
    pub fn serves(&self, text: &str) {
        eventually(&format!("{text:?} is served through the forward"), || {
            get(self.port, "/").filter(|page| page.trim_end() == text)
        });
    }

    /// Returns the names of the pods that are not being deleted.
    pub fn pods(&self) -> Vec<String> {
        let pods = self.namespace.get("pods").unwrap_or_else(|reason| panic!("{reason}"));
        let staying = pods["items"].as_array().into_iter().flatten();
        let staying =
            staying.map(|pod| &pod["metadata"]).filter(|about| about["deletionTimestamp"].is_null());
        staying.filter_map(|about| about["name"].as_str().map(str::to_owned)).collect()
    }

    /// Waits until there is exactly one pod, and returns its name.
    pub fn only_pod(&self) -> String {
        eventually("there is exactly one pod", || match self.pods().as_slice() {
            [pod] => Some(pod.clone()),
            _ => None,
        })
    }

    /// Returns a field of an object, by a JSON path as in kubectl.
    pub fn read(&self, object: &str, path: &str) -> String {
        // Simple paths are resolved here.
        if path.contains(['\\', '*', '?', '"', '\'']) {
            return self.namespace.kubectl(&["get", object, "-o", &format!("jsonpath={{{path}}}")]);
        }
        let it = self.namespace.get(object).unwrap_or_else(|reason| panic!("{reason}"));
        match it.pointer(&path.replace(['.', '['], "/").replace(']', "")) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    pub fn exists(&self, object: &str) -> bool {
        self.namespace.get(object).is_ok()
    }
}

/// Asserts that the log of `ticking` continues, without missing or repeated lines.
pub fn assert_ticks_continue(lilt: &Lilt) {
    lilt.wait_for_line_after(lilt.output_end(), "ticking │ tick ");
    let printed = lilt.output();
    let ticks: Vec<usize> =
        printed.lines().filter_map(|line| line.strip_prefix("      ticking │ tick ")?.parse().ok()).collect();
    assert_eq!(ticks, (1..=ticks.len()).collect::<Vec<_>>());
}

impl Drop for Site {
    fn drop(&mut self) {
        // The engine would keep the images forever.
        let testbed = Testbed::get();
        let filter = |registry: &str| format!("reference={registry}{}*", self.image());
        let (there, here) = (filter(&format!("{}/", testbed.registry())), filter(""));
        // By name: an image may have further names of others.
        let names =
            ["image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "--filter", &there, "--filter", &here];
        if let Ok(images) = testbed.try_docker(&names) {
            let images: Vec<&str> = images.split_whitespace().filter(|name| !name.contains('<')).collect();
            if !images.is_empty() {
                let _ = testbed.try_docker(&[&["image", "rm", "-f"], images.as_slice()].concat());
            }
        }
    }
}
