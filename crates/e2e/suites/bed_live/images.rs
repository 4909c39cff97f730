//! Which images take changes, and how.

use lilt_e2e::bed::Site;
use lilt_e2e::page::get;
use lilt_testbed_env::{Bed, eventually};

use crate::small::{init_containers, lock, lock_with, restarts, shell, site, with_steps};

/// No shell, no tar, nobody's user, a root that cannot be written, and a namespace that allows nothing.
fn takes_changes(site: &Site) {
    with_steps(site, "sync('app/www', '/www')");
    site.project.write("app/www/old.html", "old\n");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.wait_for_words(
        "web",
        "     Live updates of the container main go through lilt's agent, which is added to its pod: its image has no sh",
    );
    assert_eq!(init_containers(site), "lilt-agent lilt-copy-main");
    let pod = site.only_pod();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    // What was in the image is still there; new files and directories come, removed ones go.
    assert_eq!(get(site.port, "/old.html").as_deref(), Some("old\n"));
    site.project.write("app/www/deep/new.html", "new\n");
    site.project.remove("app/www/old.html");
    eventually("a new file is served", || get(site.port, "/deep/new.html").filter(|page| page == "new\n"));
    eventually("a removed file is gone", || get(site.port, "/old.html").is_none().then_some(()));
    assert_eq!((site.only_pod(), restarts(site, &pod)), (pod.clone(), "0".to_owned()));

    // A container that is started again has what was changed.
    let everybody = ["exec", &pod, "-c", "main", "--", "/busybox", "kill", "-9", "-1"];
    // It does not live to tell.
    let _ = site.namespace.try_kubectl(&everybody);
    eventually("it was started again", || (restarts(site, &pod) == "1").then_some(()));
    site.serves("two");
    lilt.quit();
    site.down().run().clean(0);
}

/// There is room for this pod and no more, and only for what says what it needs.
const QUOTA: &str = "
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {pods: 1, requests.cpu: 100m, requests.memory: 64Mi, limits.cpu: 1, limits.memory: 128Mi}}
";

/// Containers that say nothing are given something, and those that want very little are refused.
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
fn distroless_in_a_restricted_namespace() {
    let base = format!("{}/distroless/static:nonroot", Bed::get().registry());
    let site = site("live-distroless", &base, "65532:65532");
    restrict(&site, QUOTA);
    let needs = "{requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 1, memory: 128Mi}}";
    lock_with(&site, &format!(", resources: {needs}"));
    takes_changes(&site);
}

#[test]
fn scratch_in_a_restricted_namespace() {
    let site = site("live-scratch", "scratch", "1234");
    restrict(&site, LIMIT_RANGE);
    lock(&site);
    takes_changes(&site);
}

/// Nobody edits anything there: the pod is as it is shipped.
#[test]
fn nothing_is_added_in_ci() {
    let site = site("live-ci", "scratch", "1234");
    with_steps(&site, "sync('app/www', '/www'), restart_process()");
    site.ci().run().clean(0);
    assert_eq!(init_containers(&site), "");
    let words = site.read("deployment/web", ".spec.template.spec.containers[0].command");
    assert_eq!(words, "");
}

/// But for files that are to come first, where the image cannot take them alone.
#[test]
fn all_files_come_first_in_ci_too() {
    let site = site("live-ci-first", "scratch", "1234");
    let dockerfile = site.project.read("app/Dockerfile");
    let fewer = dockerfile.replace("COPY www /www", "COPY www/index.html /www/index.html");
    site.project.write("app/Dockerfile", &fewer);
    site.project.write("app/www/deep/more.html", "more\n");
    with_steps(&site, "initial_sync(), sync('app/www', '/www')");
    site.ci().run().clean(0);
    assert_eq!(init_containers(&site), "lilt-agent lilt-copy-main");
    let more = shell(&site, &site.only_pod(), "/busybox cat /www/deep/more.html");
    assert_eq!(more, "more\n");
}

/// It has all tools, and may not write: also steps run, as its user.
#[test]
fn debian_as_somebody_else() {
    let base = format!("{}/library/debian:bookworm-slim", Bed::get().registry());
    let site = site("live-debian", &base, "1000");
    // Its own, but for a directory in it.
    let dockerfile = std::fs::read_to_string(site.project.file("app/Dockerfile")).expect("it is there");
    let own = dockerfile.replace("COPY www /www", "COPY --chown=1000 www /www\nCOPY inner /www/inner");
    site.project.write("app/Dockerfile", &own);
    site.project.write("app/inner/page.html", "root's\n");
    with_steps(&site, "sync('app/www', '/www'), run('echo ran as $(id -u); test ! -e /www/bad.html')");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    lilt.wait_for_line("which is added to its pod: its user 1000 may not write to /www");
    let place = lilt.place();
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    lilt.wait_for_words_after(place, "web", "ran as 1000");
    site.project.write("app/www/inner/page.html", "mine\n");
    eventually("also there", || get(site.port, "/inner/page.html").filter(|page| page == "mine\n"));

    // A step that fails is shown, and the next save recovers.
    site.project.write("app/www/bad.html", "bad\n");
    lilt.wait_until("web", "has failed", |web| web["status"]["updateStatus"] == "error");
    site.project.remove("app/www/bad.html");
    lilt.wait_until_ready("web");
    lilt.quit();
}

/// Where nothing is in the way, nothing is added; and where it is forbidden, neither.
#[test]
fn nothing_is_added_without_need_or_against_the_users_will() {
    let site = Site::new("live-plain");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    assert_eq!(init_containers(&site), "");

    // Read-only, it needs the agent. The objects that others see are as the user wrote them.
    let container = format!("- {{name: main, image: {}}}", site.image());
    let locked = container.replace('}', ", securityContext: {readOnlyRootFilesystem: true}}");
    site.project.write("web.yaml", &site.yaml("web", site.image()).replace(&container, &locked));
    lilt.wait_for_line("which is added to its pod: its root file system is read-only");
    eventually("it is added", || (init_containers(&site) == "lilt-agent lilt-copy-main").then_some(()));
    let result = lilt_e2e::lilt::Start::new(&site.project, &["alpha", "tiltfile-result"]).on(&site.namespace);
    assert!(!result.run().stdout().contains("lilt-agent"));

    let tiltfile = site.tiltfile().replace("labels=", "live_update_agent=False, labels=");
    site.project.write("Tiltfile", &tiltfile);
    eventually("it is gone", || init_containers(&site).is_empty().then_some(()));

    // The same for all resources, but for those that say otherwise.
    let for_all = format!("update_settings(live_update_agent=False)\n{}", site.tiltfile());
    site.project.write("Tiltfile", &for_all.replace("labels=", "live_update_agent=True, labels="));
    eventually("it is back", || (!init_containers(&site).is_empty()).then_some(()));
    site.project.write("Tiltfile", &for_all);
    eventually("it is gone", || init_containers(&site).is_empty().then_some(()));
    lilt.quit();
}

/// Gives every pod of one namespace another user, as clusters of some products do: neither image nor manifest names it.
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

/// Not of the namespace, and so not gone with it.
struct Policy<'a>(&'a Site);

impl Drop for Policy<'_> {
    fn drop(&mut self) {
        for kind in ["mutatingadmissionpolicybinding", "mutatingadmissionpolicy"] {
            let _ = self.0.namespace.try_kubectl(&["delete", kind, self.0.namespace.name(), "--wait=false"]);
        }
    }
}

/// What nobody could know before is known after the first save that is refused: the pods that are made then take changes.
#[test]
fn a_user_whom_admission_gives() {
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
