//! Live updates of various images.

use lilt_e2e::page::get;
use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually};

use crate::small::{init_containers, lock, lock_with, restarts, shell, site, with_steps};

/// Without shell and tar, with an unprivileged user, a read-only root, and a restricted namespace.
fn takes_changes(site: &Site) {
    with_steps(site, "sync('app/www', '/www')");
    site.project.write("app/www/old.html", "old\n");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.wait_for_log_line(
        "web",
        "     Live updates of the container main go through lilt's agent, which is added to its pod: its image has no sh",
    );
    assert_eq!(init_containers(site), "lilt-agent lilt-copy-main");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    // Files of the image remain; new files and directories are copied, deleted ones removed.
    assert_eq!(get(site.port, "/old.html").as_deref(), Some("old\n"));
    site.project.write("app/www/deep/new.html", "new\n");
    site.project.remove("app/www/old.html");
    eventually("a new file is served", || get(site.port, "/deep/new.html").filter(|page| page == "new\n"));
    eventually("a removed file is gone", || get(site.port, "/old.html").is_none().then_some(()));
    assert_eq!((site.only_pod(), restarts(site, &pod)), (pod.clone(), "0".to_owned()));

    // A restarted container has the changes.
    let everybody = ["exec", &pod, "-c", "main", "--", "/busybox", "kill", "-9", "-1"];
    // The command is killed with the container.
    let _ = site.namespace.try_kubectl(&everybody);
    eventually("it was started again", || (restarts(site, &pod) == "1").then_some(()));
    site.serves("two");
    lilt.quit();
    site.down().run().expect_clean_exit(0);
}

/// The quota has room for this pod only, and requires resource requests.
const QUOTA: &str = "
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {pods: 1, requests.cpu: 100m, requests.memory: 64Mi, limits.cpu: 1, limits.memory: 128Mi}}
";

/// A limit range sets defaults, and refuses very small requests.
const LIMIT_RANGE: &str = "
apiVersion: v1
kind: LimitRange
metadata: {name: range}
spec: {limits: [{type: Container, min: {cpu: 50m, memory: 32Mi}, default: {cpu: 1, memory: 128Mi}}]}
";

fn restrict(site: &Site, rule: &str) {
    site.project.write("rule.yaml", rule);
    site.namespace.kubectl(&["apply", "-f", site.project.file("rule.yaml").to_str().expect("a plain path")]);
}

#[test]
fn distroless_image_in_restricted_namespace_takes_live_update() {
    let base = format!("{}/distroless/static:nonroot", Testbed::get().registry());
    let site = site("live-distroless", &base, "65532:65532");
    restrict(&site, QUOTA);
    let needs = "{requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 1, memory: 128Mi}}";
    lock_with(&site, &format!(", resources: {needs}"));
    takes_changes(&site);
}

#[test]
fn scratch_image_in_restricted_namespace_takes_live_update() {
    let site = site("live-scratch", "scratch", "1234");
    restrict(&site, LIMIT_RANGE);
    lock(&site);
    takes_changes(&site);
}

/// Nothing is edited in `ci`: the pod is deployed unchanged.
#[test]
fn ci_does_not_inject_agent() {
    let site = site("live-ci", "scratch", "1234");
    with_steps(&site, "sync('app/www', '/www'), restart_process()");
    site.ci().run().expect_clean_exit(0);
    assert_eq!(init_containers(&site), "");
    let words = site.read("deployment/web", ".spec.template.spec.containers[0].command");
    assert_eq!(words, "");
}

/// Except for initial_sync, if the image cannot take files without the agent.
#[test]
fn initial_sync_works_in_ci() {
    let site = site("live-ci-first", "scratch", "1234");
    let dockerfile = site.project.read("app/Dockerfile");
    let fewer = dockerfile.replace("COPY www /www", "COPY www/index.html /www/index.html");
    site.project.write("app/Dockerfile", &fewer);
    site.project.write("app/www/deep/more.html", "more\n");
    with_steps(&site, "initial_sync(), sync('app/www', '/www')");
    site.ci().run().expect_clean_exit(0);
    assert_eq!(init_containers(&site), "lilt-agent lilt-copy-main");
    let more = shell(&site, &site.only_pod(), "/busybox cat /www/deep/more.html");
    assert_eq!(more, "more\n");
}

/// The image has all tools, and its user may not write: run steps also run as that user.
#[test]
fn debian_image_with_other_user_takes_live_update() {
    let base = format!("{}/library/debian:bookworm-slim", Testbed::get().registry());
    let site = site("live-debian", &base, "1000");
    // Owned by the user, except for a directory in it.
    let dockerfile = std::fs::read_to_string(site.project.file("app/Dockerfile")).expect("it is there");
    let own = dockerfile.replace("COPY www /www", "COPY --chown=1000 www /www\nCOPY inner /www/inner");
    site.project.write("app/Dockerfile", &own);
    site.project.write("app/inner/page.html", "root's\n");
    with_steps(&site, "sync('app/www', '/www'), run('echo ran as $(id -u); test ! -e /www/bad.html')");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.wait_for_line("which is added to its pod: its user 1000 may not write to /www");
    let output_end = lilt.output_end();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    lilt.wait_for_log_line_after(output_end, "web", "ran as 1000");
    site.project.write("app/www/inner/page.html", "mine\n");
    eventually("also there", || get(site.port, "/inner/page.html").filter(|page| page == "mine\n"));

    // A failing step is shown, and the next save recovers.
    site.project.write("app/www/bad.html", "bad\n");
    lilt.wait_until("web", "has failed", |web| web["status"]["updateStatus"] == "error");
    site.project.remove("app/www/bad.html");
    lilt.wait_until_ready("web");
    lilt.quit();
}

/// The agent is added neither where it is not needed nor where it is forbidden.
#[test]
fn agent_is_not_injected_if_unneeded_or_disabled() {
    let site = Site::new("live-plain");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    assert_eq!(init_containers(&site), "");

    // A read-only root needs the agent. The API objects show what the user wrote.
    let container = format!("- {{name: main, image: {}}}", site.image());
    let locked = container.replace('}', ", securityContext: {readOnlyRootFilesystem: true}}");
    site.project.write("web.yaml", &site.yaml("web", site.image()).replace(&container, &locked));
    lilt.wait_for_line("which is added to its pod: its root file system is read-only");
    eventually("it is added", || (init_containers(&site) == "lilt-agent lilt-copy-main").then_some(()));
    let result = lilt_e2e::lilt::Start::new(&site.project, &["alpha", "tiltfile-result"])
        .in_namespace(&site.namespace);
    assert!(!result.run().stdout().contains("lilt-agent"));

    let tiltfile = site.tiltfile().replace("labels=", "live_update_agent=False, labels=");
    site.project.write("Tiltfile", &tiltfile);
    eventually("it is gone", || init_containers(&site).is_empty().then_some(()));

    // Set for all resources, and overridden by one.
    let for_all = format!("update_settings(live_update_agent=False)\n{}", site.tiltfile());
    site.project.write("Tiltfile", &for_all.replace("labels=", "live_update_agent=True, labels="));
    eventually("it is back", || (!init_containers(&site).is_empty()).then_some(()));
    site.project.write("Tiltfile", &for_all);
    eventually("it is gone", || init_containers(&site).is_empty().then_some(()));
    lilt.quit();
}

/// An admission policy that sets another user for every pod of a namespace, as some Kubernetes products do.
const ANOTHER_USER: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{spec: Object.spec{securityContext: Object.spec.securityContext{runAsUser: 4321, runAsGroup: 4321}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}
"#;

/// It is cluster-scoped, so it is not deleted with the namespace.
struct Policy<'a>(&'a Site);

impl Drop for Policy<'_> {
    fn drop(&mut self) {
        for kind in ["mutatingadmissionpolicybinding", "mutatingadmissionpolicy"] {
            let _ = self.0.namespace.try_kubectl(&["delete", kind, self.0.namespace.name(), "--wait=false"]);
        }
    }
}

/// The first refused save reveals the user: pods that are created afterwards take changes.
#[test]
fn user_set_by_admission_takes_live_update() {
    let site = Site::new("live-admitted");
    restrict(&site, &ANOTHER_USER.replace("NAME", site.namespace.name()));
    let _policy = Policy(&site);
    let user = || {
        let id = ["run", "probe", "--rm", "-i", "--restart=Never", "--image=busybox", "--", "id", "-u"];
        site.namespace.try_kubectl(&id).ok().filter(|words| words.contains("4321"))
    };
    eventually("the policy holds", user);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    site.project.write("app/www/index.html", "two\n");
    lilt.wait_for_line("Permission denied");
    lilt.wait_for_line("which is added to its pod: /www was closed to its user when it ran");
    lilt.wait_until_ready("web");
    site.serves("two");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "three\n");
    site.serves("three");
    lilt.wait_until_ready("web");
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod, "0".to_owned()));
    lilt.quit();
}
