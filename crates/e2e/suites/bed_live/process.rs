//! The container's process under the agent is as it would be without it.

use lilt_e2e::bed::Site;
use lilt_testbed_env::eventually;

use crate::small::{restarts, shell, site, with_steps};

/// A script in a directory of its own, which says what it is given, then serves.
fn script(word: &str) -> String {
    format!(
        "#!/busybox sh\n/busybox mkdir -p /tmp/www\n\
         if test -t 0 && test -t 1; then where='on a terminal'; fi\n\
         echo {word} $1 $where > /tmp/www/index.html\n\
         exec /busybox httpd -f -p 8080 -h /tmp/www\n"
    )
}

/// A site whose image has `/busybox` and, where nobody but root may write, a script that is synced.
fn scripted(topic: &str, steps: &str) -> Site {
    let site = site(topic, "scratch", "1234");
    let dockerfile = format!(
        "FROM scratch\nLABEL test={}\nCOPY busybox /busybox\nCOPY bin /app/bin\n\
         COPY data /data\nVOLUME /data\nUSER 1234\nENTRYPOINT [\"/app/bin/start\", \"image's\"]\n",
        site.image()
    );
    site.project.write("app/Dockerfile", &dockerfile);
    site.project.write("app/data/file", "one\n");
    site.project.write("app/bin/start", &script("one"));
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(site.project.file("app/bin/start"), executable).expect("it is ours");
    with_steps(&site, steps);
    container(&site, "");
    site
}

/// Its container has a place to write, and says more.
fn container(site: &Site, more: &str) {
    let plain = format!("- {{name: main, image: {}}}", site.image());
    let yaml = site.yaml("web", site.image());
    assert!(yaml.contains(&plain));
    let own = format!(
        ", volumeMounts: [{{name: tmp, mountPath: /tmp}}]{more}}}\n      volumes: [{{name: tmp, emptyDir: {{}}}}]"
    );
    site.project.write("web.yaml", &yaml.replace(&plain, &plain.replace('}', &own)));
}

/// A terminal, a command and arguments of the manifest's, a probe by a command, and a volume of the image's.
#[test]
fn what_the_manifest_and_the_image_say_holds() {
    let site = scripted(
        "live-process",
        "sync('app/bin/start', '/app/bin/start'), sync('app/data', '/data'), restart_process()",
    );
    container(
        &site,
        ", stdin: true, tty: true, command: [/app/bin/start], args: [\"manifest's\"], \
         readinessProbe: {periodSeconds: 1, exec: {command: [/busybox, test, -e, /tmp/www/index.html]}}",
    );
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one manifest's on a terminal");
    let pod = site.only_pod();
    site.project.write("app/bin/start", &script("two"));
    site.serves("two manifest's on a terminal");
    site.project.write("app/data/file", "two\n");
    eventually("the volume has it", || {
        (shell(&site, &pod, "/busybox cat /data/file") == "two\n").then_some(())
    });
    // It is started from where it lies: what it needs may lie beside it.
    let scripts = shell(&site, &pod, "/busybox ls /app/bin; /busybox ls /.lilt");
    assert!(scripts.starts_with("start\n") && !scripts.contains("kept\n"), "{scripts}");
    lilt.wait_until_ready("web");
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod, "0".to_owned()));
    lilt.has_lines("STEP 1/", 1);
    lilt.quit();
}

/// It is shown with its cause, no image is built for it, and the next save recovers.
#[test]
fn a_program_that_cannot_be_started_is_told() {
    let site = scripted("live-unstartable", "sync('app/bin', '/app/bin'), restart_process()");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one image's");
    let place = lilt.place();
    let mode = |mode: u32| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(site.project.file("app/bin/start"), mode).expect("it is ours");
    };
    mode(0o644);
    lilt.wait_for_line_after(place, "cannot start /app/bin/start: Permission denied");
    lilt.wait_until("web", "has crashed", |web| web["status"]["runtimeStatus"] == "error");
    lilt.has_lines("STEP 1/", 1);
    let pod = site.only_pod();
    eventually("Kubernetes waits before it tries again", || {
        let reason = ".status.containerStatuses[0].state.waiting.reason";
        (site.read(&format!("pod/{pod}"), reason) == "CrashLoopBackOff").then_some(())
    });
    mode(0o755);
    site.project.write("app/bin/start", &script("two"));
    site.serves("two image's");
    lilt.wait_until_ready("web");
    lilt.quit();
}

/// The extension for images of any builder: one that ends by itself is waited for, and other files ask for nothing.
#[test]
fn the_extension_waits_for_the_next_update() {
    let site = scripted("live-continue", "sync('app/bin', '/app/bin')");
    let tiltfile = format!(
        "load('ext://restart_process', 'custom_build_with_restart')\n\
         custom_build_with_restart('{}', 'docker build -t $EXPECTED_REF app', deps=['app'], \
         entrypoint=['/app/bin/start', 'own'], exit_policy='continue', trigger=['app/bin/start'], \
         live_update=[sync('app/bin', '/app/bin'), sync('app/data', '/data')])\n\
         k8s_yaml('web.yaml')\nk8s_resource('web', port_forwards='{}:8080')\n",
        site.image(),
        site.port
    );
    site.project.write("Tiltfile", &tiltfile);
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one own");
    let pod = site.only_pod();
    site.project.write("app/bin/start", "#!/busybox sh\nexit 3\n");
    lilt.wait_for_line("the process ended with exit code 3; waiting for the next update");
    let place = lilt.place();
    site.project.write("app/data/file", "two\n");
    eventually("the file is there", || {
        (shell(&site, &pod, "/busybox cat /data/file") == "two\n").then_some(())
    });
    site.project.write("app/bin/start", &script("three"));
    site.serves("three own");
    lilt.wait_for_line_after(place, "Process started anew");
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod, "0".to_owned()));
    lilt.quit();
}

/// Signals reach it, its exit code is the container's, and what loses its parent is collected.
#[test]
fn it_begins_and_ends_as_without_the_agent() {
    let site = scripted("live-signals", "sync('app/bin/start', '/app/bin/start'), restart_process()");
    let line = "trap 'exit 7' TERM; (/busybox sleep 0.2 &); echo began; while :; do /busybox sleep 0.1; done";
    site.project.write("app/bin/start", &format!("#!/busybox sh\n{line}\n"));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    lilt.wait_for_words("web", "began");
    let pod = site.only_pod();
    // The state of a process comes behind its name.
    let ended = "/busybox grep -l '^[0-9]* ([^)]*) Z' /proc/[0-9]*/stat 2>/dev/null | /busybox wc -l";
    eventually("nothing waits to be collected", || (shell(&site, &pod, ended).trim() == "0").then_some(()));
    // As the node does when it ends a container.
    shell(&site, &pod, "/busybox kill -TERM 1");
    eventually("it was started again", || (restarts(&site, &pod) == "1").then_some(()));
    let last = ".status.containerStatuses[0].lastState.terminated.exitCode";
    assert_eq!(site.read(&format!("pod/{pod}"), last), "7");
    lilt.quit();
}
