//! A web server in an image that has nothing else.

use lilt_e2e::bed::Site;
use lilt_testbed_env::Bed;

/// As the level `restricted` of Pod Security wants it, and more.
pub(crate) const LOCKED: &str = "securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: false, \
    readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}";

/// A site whose image is `base` with one program, `/busybox`, which serves `/www`. The tools in it are of no use to lilt:
/// nothing in the image's PATH leads to them.
pub(crate) fn site(topic: &str, base: &str, user: &str) -> Site {
    let site = Site::new(topic);
    let bed = Bed::get();
    let container = bed.docker(&["create", "busybox"]);
    let program = site.project.file("app/busybox");
    let from = format!("{}:/bin/busybox", container.trim());
    bed.docker(&["cp", "-L", &from, program.to_str().expect("a plain path")]);
    bed.docker(&["rm", container.trim()]);
    let dockerfile = format!(
        "FROM {base}\nLABEL test={}\nCOPY busybox /busybox\nCOPY www /www\nUSER {user}\n\
         ENTRYPOINT [\"/busybox\", \"httpd\", \"-f\", \"-v\", \"-p\", \"8080\", \"-h\", \"/www\"]\n",
        site.image()
    );
    site.project.write("app/Dockerfile", &dockerfile);
    site
}

/// Pods of the namespace must keep to everything, and this one does.
pub(crate) fn lock(site: &Site) {
    lock_with(site, "");
}

/// The same, where the container has more of its own to say.
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

/// What a line of shell prints in the container, by the tools that lilt does not know of.
pub(crate) fn shell(site: &Site, pod: &str, line: &str) -> String {
    site.namespace.kubectl(&["exec", pod, "-c", "main", "--", "/busybox", "sh", "-c", line])
}

/// How often the pod's container was started again.
pub(crate) fn restarts(site: &Site, pod: &str) -> String {
    site.read(&format!("pod/{pod}"), ".status.containerStatuses[0].restartCount")
}

pub(crate) fn init_containers(site: &Site) -> String {
    site.read("deployment/web", ".spec.template.spec.initContainers[*].name")
}
