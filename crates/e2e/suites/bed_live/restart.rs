//! Restarts of the container's process by `restart_process()`.

use lilt_e2e::lilt::Lilt;
use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually};

use crate::small::{lock, restarts, shell, site, with_steps};

/// A program in the root directory, where nothing can be written or mounted, as in many controller images.
#[test]
fn program_in_root_directory_is_replaced() {
    let base = format!("{}/distroless/static:nonroot", Testbed::get().registry());
    let site = site("live-program", &base, "65532:65532");
    lock(&site);
    with_steps(&site, "sync('app/busybox', '/busybox'), restart_process()");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    let running = |pod: &str| shell(&site, pod, "for p in /proc/[0-9]*; do readlink $p/exe; done");
    assert!(!running(&pod).contains("/.lilt/state/kept/busybox"));

    // Appended data does not change what a program does.
    let program = site.project.file("app/busybox");
    let mut content = std::fs::read(&program).expect("it is there");
    content.extend(b"more");
    std::fs::write(&program, &content).expect("it can be written");
    lilt.wait_for_log_line("web", "  → Process started anew");
    eventually("the new program runs", || running(&pod).contains("/.lilt/state/kept/busybox").then_some(()));
    let size = shell(&site, &pod, "wc -c < /.lilt/state/kept/busybox");
    assert_eq!(size.trim(), content.len().to_string());
    site.serves("one");
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod, "0".to_owned()));
    lilt.quit();
}

/// A site whose server is started by a synced script.
fn scripted(topic: &str, build: &str) -> Site {
    let site = Site::new(topic);
    let dockerfile = format!(
        "FROM busybox\nLABEL test={}\nCOPY app /app\nCMD [\"sh\", \"/app/start.sh\"]\n",
        site.image()
    );
    site.project.write("app/Dockerfile", &dockerfile);
    site.project.write("app/app/start.sh", &script("one"));
    let image = site.image();
    site.project.write(
        "Tiltfile",
        &format!(
            "{}k8s_yaml('web.yaml')\nk8s_resource('web', port_forwards='{}:8080')\n",
            build.replace("IMAGE", image),
            site.port
        ),
    );
    site
}

fn script(word: &str) -> String {
    format!("mkdir -p /tmp/www\necho {word} > /tmp/www/index.html\nexec httpd -f -p 8080 -h /tmp/www\n")
}

/// Starts a session, changes the script, and returns the name of the pod, which stays the same.
fn updated_in_place(site: &Site) -> (Lilt, String) {
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    site.project.write("app/app/start.sh", &script("two"));
    site.serves("two");
    assert_eq!((site.only_pod(), restarts(site, &pod)), (pod.clone(), "0".to_owned()));
    (lilt, pod)
}

/// Files in the agent's directory run as the container's user, so other users must not write there.
#[test]
fn agent_directory_is_not_writable_for_other_users() {
    let site = scripted(
        "live-users",
        "docker_build('IMAGE', 'app', live_update=[sync('app/app', '/app'), restart_process()])\n",
    );
    let (lilt, pod) = updated_in_place(&site);
    let exec = |line: &str| site.namespace.kubectl(&["exec", &pod, "-c", "main", "--", "sh", "-c", line]);
    let as_nobody = |line: &str| exec(&format!("su -s /bin/sh nobody -c '{line}' 2>&1 || echo refused"));
    assert_eq!(as_nobody("id -un").trim(), "nobody");
    for line in [
        "touch /.lilt/new",
        "rm -f /.lilt/agent",
        "mv /.lilt/agent /.lilt/other",
        "echo >> /.lilt/agent",
        "echo >> /.lilt/state/kept-list",
        "rm -f /.lilt/state/control",
    ] {
        let printed = as_nobody(line);
        assert!(printed.ends_with("refused\n"), "{line}: {printed}");
    }
    assert_eq!(exec("stat -c %a:%u /.lilt").trim(), "755:0");
    // The container's own user can.
    site.project.write("app/app/start.sh", &script("three"));
    site.serves("three");
    assert_eq!((site.only_pod(), restarts(&site, &pod)), (pod.clone(), "0".to_owned()));
    lilt.quit();
}

/// Two containers with other users than the one who installed the agent: one set by the image, one by the manifest.
#[test]
fn agent_files_and_copies_belong_to_the_user_of_each_container() {
    let base = format!("{}/distroless/static:nonroot", Testbed::get().registry());
    let site = site("live-owners", &base, "1234");
    with_steps(&site, "sync('app/www', '/www'), restart_process()");
    let second = format!(
        "- {{name: main, image: {0}}}\n      - {{name: other, image: {0}, securityContext: {{runAsUser: 4321}}, \
         command: [/busybox, sleep, '98765']}}\n",
        site.image()
    );
    let first = format!("- {{name: main, image: {}}}\n", site.image());
    site.project.write("web.yaml", &site.yaml("web", site.image()).replace(&first, &second));
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();
    let stat = |container: &str, paths: &str| {
        let line = format!("/busybox stat -c %a:%u {paths}");
        let words = ["exec", &pod, "-c", container, "--", "/busybox", "sh", "-c", &line];
        site.namespace.kubectl(&words).split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    let paths = "/.lilt/state /.lilt/state/kept-list /www";
    assert_eq!(stat("main", paths), "755:1234 644:1234 755:1234");
    assert_eq!(stat("other", &format!("/.lilt {paths}")), "755:4321 755:4321 644:4321 755:4321");
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    assert_eq!(site.only_pod(), pod);
    lilt.quit();
}

#[test]
fn crash_after_update_is_shown_and_next_save_recovers() {
    let site = scripted(
        "live-crash",
        "docker_build('IMAGE', 'app', live_update=[sync('app/app', '/app'), restart_process()])\n",
    );
    let (lilt, pod) = updated_in_place(&site);

    site.project.write("app/app/start.sh", "echo about to fail\nexit 3\n");
    eventually("Kubernetes says so", || {
        let exit = ".status.containerStatuses[0].lastState.terminated.exitCode";
        (site.read(&format!("pod/{pod}"), exit) == "3").then_some(())
    });
    lilt.wait_until("web", "has crashed", |web| web["status"]["runtimeStatus"] == "error");
    site.project.write("app/app/start.sh", &script("three"));
    site.serves("three");
    lilt.wait_until_ready("web");
    lilt.quit();
}

/// Tilt's extension works without an additional image and without tools in the image.
#[test]
fn restart_process_extension_restarts_process() {
    let site = scripted(
        "live-extension",
        "load('ext://restart_process', 'docker_build_with_restart')\n\
         docker_build_with_restart('IMAGE', 'app', ['sh', '/app/start.sh'], live_update=[sync('app/app', '/app'), \
         run('touch /tmp/.restart-proc', trigger='app/app/touch')])\n",
    );
    let (lilt, _) = updated_in_place(&site);
    lilt.quit();
}
