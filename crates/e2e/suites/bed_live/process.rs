//! The container's process runs under the agent as without it.

use lilt_e2e::site::Site;
use lilt_testbed_env::eventually;

use crate::small::{restarts, shell, site, with_steps};

/// A script that prints its arguments and then serves.
fn script(word: &str) -> String {
    format!(
        "#!/busybox sh\n/busybox mkdir -p /tmp/www\n\
         if test -t 0 && test -t 1; then where='on a terminal'; fi\n\
         echo {word} $1 $where > /tmp/www/index.html\n\
         exec /busybox httpd -f -p 8080 -h /tmp/www\n"
    )
}

/// A site whose image has `/busybox` and a synced script in a directory that only root may write.
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

/// Adds a writable volume and further fields to its container.
fn container(site: &Site, more: &str) {
    let plain = format!("- {{name: main, image: {}}}", site.image());
    let yaml = site.yaml("web", site.image());
    assert!(yaml.contains(&plain));
    let own = format!(
        ", volumeMounts: [{{name: tmp, mountPath: /tmp}}]{more}}}\n      volumes: [{{name: tmp, emptyDir: {{}}}}]"
    );
    site.project.write("web.yaml", &yaml.replace(&plain, &plain.replace('}', &own)));
}

/// With a terminal, command and arguments of the manifest, an exec probe, and a volume of the image.
#[test]
fn agent_keeps_command_user_and_workdir() {
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
    // It is started from its own path: it may need files beside it.
    let scripts = shell(&site, &pod, "/busybox ls /app/bin; /busybox ls /.lilt");
    assert!(scripts.starts_with("start\n") && !scripts.contains("kept\n"), "{scripts}");
    lilt.wait_until_ready("web");
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod, "0".to_owned()));
    lilt.has_lines("STEP 1/", 1);
    lilt.quit();
}

/// The cause is shown, no image is built, and the next save recovers.
#[test]
fn missing_entrypoint_is_reported() {
    let site = scripted("live-unstartable", "sync('app/bin', '/app/bin'), restart_process()");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one image's");
    let output_end = lilt.output_end();
    let mode = |mode: u32| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(site.project.file("app/bin/start"), mode).expect("it is ours");
    };
    mode(0o644);
    lilt.wait_for_line_after(output_end, "cannot start /app/bin/start: Permission denied");
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

/// The extension for custom builds: a process that exits is not restarted until the next update, and other files do not trigger.
#[test]
fn restart_process_continue_policy_waits_for_update() {
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
    let output_end = lilt.output_end();
    site.project.write("app/data/file", "two\n");
    eventually("the file is there", || {
        (shell(&site, &pod, "/busybox cat /data/file") == "two\n").then_some(())
    });
    site.project.write("app/bin/start", &script("three"));
    site.serves("three own");
    lilt.wait_for_line_after(output_end, "Process started anew");
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod, "0".to_owned()));
    lilt.quit();
}

/// Signals are forwarded, its exit code is the container's, and orphans are reaped.
#[test]
fn process_starts_and_stops_as_without_agent() {
    let site = scripted("live-signals", "sync('app/bin/start', '/app/bin/start'), restart_process()");
    let line = "trap 'exit 7' TERM; (/busybox sleep 0.2 &); echo began; while :; do /busybox sleep 0.1; done";
    site.project.write("app/bin/start", &format!("#!/busybox sh\n{line}\n"));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    lilt.wait_for_log_line("web", "began");
    let pod = site.only_pod();
    // The state of a process follows its name.
    let ended = "/busybox grep -l '^[0-9]* ([^)]*) Z' /proc/[0-9]*/stat 2>/dev/null | /busybox wc -l";
    eventually("nothing waits to be collected", || (shell(&site, &pod, ended).trim() == "0").then_some(()));
    // Like the node when it stops a container.
    shell(&site, &pod, "/busybox kill -TERM 1");
    eventually("it was started again", || (restarts(&site, &pod) == "1").then_some(()));
    let last = ".status.containerStatuses[0].lastState.terminated.exitCode";
    assert_eq!(site.read(&format!("pod/{pod}"), last), "7");
    lilt.quit();
}
