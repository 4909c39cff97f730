//! Sessions survive restarts of the API server and the registry. Sequential, after all other tests.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

use lilt_e2e::site::{Site, assert_ticks_continue};
use lilt_testbed_env::{Testbed, eventually};

/// Status, logs, port forward and live update recover when the API server is back.
#[test]
fn session_survives_api_server_restart() {
    let testbed = Testbed::get();
    let _exclusive = testbed.lock_exclusively();
    let (site, lilt) = Site::ticking("faults");
    lilt.wait_for_log_line("ticking", "tick 5");
    let pods = site.pods();

    let stopped = testbed.stop("apiserver");
    // The container is unreachable now.
    site.project.write("app/www/index.html", "written while nobody listened\n");
    lilt.wait_for_log_line("web", "1 File Changed: [app/www/index.html]");
    drop(stopped);

    site.serves("written while nobody listened");
    lilt.wait_until_ready("web");
    assert_eq!(site.pods(), pods, "nothing was deployed anew");

    assert_ticks_continue(&lilt);

    // The status follows the pods again.
    site.namespace.kubectl(&["scale", "deployment/web", "--replicas=0"]);
    lilt.wait_until("web", "has lost its pod", |it| {
        it["status"]["k8sResourceInfo"]["podName"].as_str().unwrap_or_default().is_empty()
    });
    site.namespace.kubectl(&["scale", "deployment/web", "--replicas=1"]);
    lilt.wait_until_ready("web");
    site.serves("written while nobody listened");
    lilt.quit();
}

/// A stopped registry fails the update, which is retried when the registry is back.
#[test]
fn push_resumes_when_registry_is_back() {
    let testbed = Testbed::get();
    let _exclusive = testbed.lock_exclusively();
    let site = Site::new("faults-push");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let pod = site.only_pod();

    let stopped = testbed.stop("registry");
    let output_end = lilt.output_end();
    site.project.write("app/words.txt", "second\n");
    let failure = lilt.wait_for_line_after(output_end, "web │ ERROR: Build Failed: ");
    assert!(failure.contains(testbed.registry()) || failure.contains("busybox"), "which registry: {failure}");
    lilt.wait_until("web", "has failed", |it| it["status"]["updateStatus"] == "error");
    let waits = |it: &serde_json::Value| {
        let hold = it["metadata"]["annotations"]["lilt.dev/hold"].as_str().unwrap_or_default();
        hold.starts_with(&format!("waiting for the registry {}: ", testbed.registry()))
    };
    lilt.wait_until("web", "says what it waits for", waits);
    site.serves("one");
    assert_eq!(site.pods(), [pod], "what runs goes on");
    drop(stopped);

    eventually("the new content is served", || {
        lilt_e2e::page::get(site.port, "/words.txt").filter(|page| page == "second\n")
    });
    lilt.wait_until_ready("web");
    lilt.quit();
}
