//! A web server in an image without anything else.

use lilt_e2e::site::Site;
use lilt_testbed_env::Testbed;

/// The Pod Security level `restricted`, and more.
pub(crate) const LOCKED: &str = "securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: false, \
    readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}";

/// A site whose image is `base` with one program, `/busybox`, which serves `/www`. The tools in it are of no use to lilt:
/// they are not in the image's PATH.
pub(crate) fn site(topic: &str, base: &str, user: &str) -> Site {
    let site = Site::new(topic);
    let testbed = Testbed::get();
    let container = testbed.docker(&["create", "busybox"]);
    let program = site.project.file("app/busybox");
    let from = format!("{}:/bin/busybox", container.trim());
    testbed.docker(&["cp", "-L", &from, program.to_str().expect("a plain path")]);
    testbed.docker(&["rm", container.trim()]);
    let dockerfile = format!(
        "FROM {base}\nLABEL test={}\nCOPY busybox /busybox\nCOPY www /www\nUSER {user}\n\
         ENTRYPOINT [\"/busybox\", \"httpd\", \"-f\", \"-v\", \"-p\", \"8080\", \"-h\", \"/www\"]\n",
        site.image()
    );
    site.project.write("app/Dockerfile", &dockerfile);
    site
}

/// Enforces the level in the namespace; this pod complies.
pub(crate) fn lock(site: &Site) {
    lock_with(site, "");
}

/// The same, with further fields of the container.
pub(crate) fn lock_with(site: &Site, more: &str) {
    let level = "pod-security.kubernetes.io/enforce=restricted";
    site.namespace.kubectl(&["label", "namespace", site.namespace.name(), level]);
    let container = format!("- {{name: main, image: {}, {LOCKED}{more}}}", site.image());
    let plain = format!("- {{name: main, image: {}}}", site.image());
    let yaml = site.yaml("web", site.image());
    assert!(yaml.contains(&plain));
    site.project.write("web.yaml", &yaml.replace(&plain, &container));
}

/// Writes a Tiltfile with these steps.
pub(crate) fn with_steps(site: &Site, steps: &str) {
    site.project.write(
        "Tiltfile",
        &format!(
            "docker_build('{}', 'app', live_update=[{steps}])\nk8s_yaml('web.yaml')\n\
             k8s_resource('web', port_forwards='{}:8080')\n",
            site.image(),
            site.port
        ),
    );
}

/// Runs a shell command in the container, with tools that lilt cannot find.
pub(crate) fn shell(site: &Site, pod: &str, line: &str) -> String {
    site.namespace.kubectl(&["exec", pod, "-c", "main", "--", "/busybox", "sh", "-c", line])
}

/// Returns how often the pod's container was restarted.
pub(crate) fn restarts(site: &Site, pod: &str) -> String {
    site.read(&format!("pod/{pod}"), ".status.containerStatuses[0].restartCount")
}

pub(crate) fn init_containers(site: &Site) -> String {
    site.read("deployment/web", ".spec.template.spec.initContainers[*].name")
}
