//! Connections to the cluster that break often, or for a long time.

use std::time::{Duration, Instant};

use lilt_e2e::lilt::Lilt;
use lilt_e2e::page::get;
use lilt_e2e::proxy::{Blackout, Proxy, detour};
use lilt_e2e::site::Site;
use lilt_testbed_env::{Project, eventually};

/// Prints numbers to stdout and stderr, with a pause in microseconds.
fn ticks(pause: u32) -> String {
    format!("i=0; while true; do i=$((i+1)); echo tick $i; echo tock $i >&2; usleep {pause}; done")
}

/// The numbers that a resource has counted to in the log, in order and without a gap.
#[track_caller]
fn counted(lilt: &Lilt, word: &str) -> usize {
    let prefix = format!("      ticking │ {word} ");
    let printed = lilt.output();
    let numbers: Vec<usize> =
        printed.lines().filter_map(|line| line.strip_prefix(prefix.as_str())?.parse().ok()).collect();
    let expected: Vec<usize> = (1..=numbers.len()).collect();
    let wrong = numbers.iter().zip(&expected).find(|(found, expected)| found != expected);
    assert_eq!(wrong, None, "the first number of {word} that is not what comes next");
    numbers.len()
}

fn ticking(topic: &str, pause: u32) -> (Site, Project, u16) {
    let site = Site::new(topic);
    site.project.write("ticking.yaml", &site.shell("ticking", &ticks(pause)));
    site.project.write("Tiltfile", &format!("{}k8s_yaml('ticking.yaml')\n", site.tiltfile()));
    let away = Project::new(&[]);
    let port = detour(&site.namespace, &away);
    (site, away, port)
}

fn still_true(site: &Site, lilt: &Lilt, text: &str) {
    site.project.write("app/www/index.html", &format!("{text}\n"));
    site.serves(text);
    lilt.wait_until_ready("web");
    lilt.wait_until_ready("ticking");
}

#[test]
fn breaking_connections_lose_and_repeat_no_log_line() {
    let (site, away, port) = ticking("cuts", 3_000);
    let proxy = Proxy::open(port);
    let lilt = site.up().variable("KUBECONFIG", away.file("kubeconfig")).start();
    lilt.wait_until_ready("web");
    lilt.wait_until_ready("ticking");
    for round in 1..=25 {
        // An interval unrelated to others.
        let output_end = lilt.output_end();
        lilt.wait_for_line_after(output_end, "ticking │ tick ");
        std::thread::sleep(Duration::from_millis(round * 17 % 150));
        proxy.cut();
    }
    let output_end = lilt.output_end();
    lilt.wait_for_line_after(output_end, "ticking │ tick ");
    lilt.wait_for_line_after(output_end, "ticking │ tock ");
    assert!(counted(&lilt, "tick") > 100);
    assert!(counted(&lilt, "tock") > 100);
    still_true(&site, &lilt, "after many cuts");
    lilt.quit();
}

/// An outage longer than the apply timeout: the apply is done when the API server is back.
#[test]
fn update_waits_for_unreachable_cluster() {
    let site = Site::new("away");
    site.project.write("web.yaml", &site.idle("web"));
    site.project.write("gone.yaml", &site.idle("gone"));
    let map = |name: &str, word: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{word: {word}}}\n")
    };
    site.project.write("command.yaml", &map("command", "first"));
    site.project.write("guest.yaml", &map("guest", "first"));
    let tiltfile = "update_settings(k8s_upsert_timeout_secs=4)\nk8s_yaml('web.yaml')\n\
        k8s_custom_deploy('command', 'kubectl apply -f command.yaml -o yaml', 'true', deps=['command.yaml'])\n\
        v1alpha1.kubernetes_apply(name='guest', yaml=str(read_file('guest.yaml')))\n";
    site.project.write("Tiltfile", &format!("{tiltfile}k8s_yaml('gone.yaml')\n"));
    let away = Project::new(&[]);
    let port = detour(&site.namespace, &away);
    let proxy = Proxy::open(port);
    let lilt = site.up().variable("KUBECONFIG", away.file("kubeconfig")).start();
    lilt.wait_until_ready("web");
    lilt.wait_until_ready("gone");
    lilt.wait_until("command", "is deployed", |it| it["status"]["updateStatus"] == "ok");
    let has = |name: &str, word: &str| {
        let found = site.namespace.try_kubectl(&["get", "configmap", name, "-o", "jsonpath={.data.word}"]);
        found.is_ok_and(|found| found == word).then_some(())
    };
    eventually("the object's object is there", || has("guest", "first"));

    let blackout = Blackout::of(port);
    let output_end = lilt.output_end();
    site.project.write("web.yaml", &site.idle("web").replace("987", "654"));
    site.project.write("command.yaml", &map("command", "second"));
    site.project.write("guest.yaml", &map("guest", "second"));
    site.project.write("Tiltfile", tiltfile);
    // The command fails, and the cause is reported.
    lilt.wait_for_line_after(output_end, "command │ It begins again by itself when the cluster answers");
    eventually("it waits for the cluster", || {
        let said = lilt.output_after(output_end);
        said.lines().find(|line| line.contains("web │") && line.contains("; trying again")).map(str::to_owned)
    });
    // All retry limits have passed.
    std::thread::sleep(Duration::from_secs(3));
    drop(blackout);
    eventually("what was to be applied is applied", || {
        site.namespace.kubectl(&["get", "deployment/web", "-o", "yaml"]).contains("sleep 654").then_some(())
    });
    eventually("what was to be deleted is deleted", || (!site.exists("deployment/gone")).then_some(()));
    for name in ["command", "guest"] {
        eventually("what a command or an object applies is applied", || has(name, "second"));
    }
    lilt.wait_until("command", "is deployed", |it| it["status"]["updateStatus"] == "ok");
    lilt.wait_until_ready("web");
    assert!(!lilt.output_after(output_end).contains("web │ ERROR: Build Failed"), "{}", lilt.output());
    drop(proxy);
    lilt.quit();
}

#[test]
fn session_survives_minute_without_network() {
    // Thousands of lines suffice to detect a missing one.
    let (site, away, port) = ticking("blackout", 20_000);
    let _proxy = Proxy::open(port);
    let lilt = site.up().variable("KUBECONFIG", away.file("kubeconfig")).start();
    lilt.wait_until_ready("web");
    lilt.wait_until_ready("ticking");
    site.serves("one");
    let pods = site.pods();

    let blackout = Blackout::of(port);
    let begin = Instant::now();
    // The port stays open all the time.
    while begin.elapsed() < Duration::from_secs(60) {
        std::net::TcpStream::connect(("127.0.0.1", site.port)).expect("the forward's port stays open");
        std::thread::sleep(Duration::from_secs(1));
    }
    drop(blackout);

    site.serves("one");
    still_true(&site, &lilt, "after the blackout");
    assert_eq!(site.pods(), pods, "nothing was deployed anew");
    let output_end = lilt.output_end();
    lilt.wait_for_line_after(output_end, "ticking │ tick ");
    lilt.wait_for_line_after(output_end, "ticking │ tock ");
    counted(&lilt, "tick");
    counted(&lilt, "tock");
    lilt.quit();
}

/// Each save reaches the running pod when the API server accepts connections again: nothing is built or deployed.
#[test]
fn live_update_waits_for_api_server_that_refuses_connections() {
    let site = Site::new("refused");
    let detoured = Project::new(&[]);
    let port = detour(&site.namespace, &detoured);
    let proxy = Proxy::open(port);
    let lilt = site.up().variable("KUBECONFIG", detoured.file("kubeconfig")).start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pods = site.pods();
    let output_end = lilt.output_end();

    drop(proxy);
    site.project.write("app/www/first.html", "first\n");
    lilt.wait_for_line_after(output_end, "  → Waiting to update container ");
    lilt.wait_until("web", "shows what it waits for", |it| {
        let hold = it["metadata"]["annotations"]["lilt.dev/hold"].as_str().unwrap_or_default();
        it["status"]["updateStatus"] == "in_progress"
            && it["status"]["waiting"]["reason"] == "waiting-for-cluster"
            && hold.starts_with("waiting for the cluster: ")
    });
    site.project.write("app/www/second.html", "second\n");
    site.project.write("app/www/index.html", "two\n");
    let _proxy = Proxy::open(port);

    site.serves("two");
    for name in ["first", "second"] {
        eventually("every file is served", || get(site.port, &format!("/{name}.html")));
    }
    lilt.wait_until_ready("web");
    assert_eq!(site.pods(), pods);
    let output = lilt.output_after(output_end);
    assert_eq!(output.matches("→ Waiting to update").count(), 1, "{output}");
    for word in ["STEP ", "ERROR", "Failed to update"] {
        assert!(!output.contains(&format!("web │ {word}")), "{word}: {output}");
    }
    lilt.quit();
}
