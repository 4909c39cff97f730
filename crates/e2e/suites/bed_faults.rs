//! A session that outlives the programs it depends on. One at a time, after all other tests.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

use lilt_e2e::bed::{Site, ticks_on};
use lilt_testbed_env::{Bed, eventually};

/// Status, logs, forward and live update go on by themselves when the API server is back.
#[test]
fn a_session_survives_a_restart_of_the_api_server() {
    let bed = Bed::get();
    let _alone = bed.alone();
    let (site, lilt) = Site::ticking("faults");
    lilt.wait_for_words("ticking", "tick 5");
    let pods = site.pods();

    let stopped = bed.stop("apiserver");
    // Nothing can reach the container now.
    site.project.write("app/www/index.html", "written while nobody listened\n");
    lilt.wait_for_words("web", "1 File Changed: [app/www/index.html]");
    drop(stopped);

    site.serves("written while nobody listened");
    lilt.wait_until_ready("web");
    assert_eq!(site.pods(), pods, "nothing was deployed anew");

    ticks_on(&lilt);

    // Status: what happens to the pods now is seen.
    site.namespace.kubectl(&["scale", "deployment/web", "--replicas=0"]);
    lilt.wait_until("web", "has lost its pod", |it| {
        it["status"]["k8sResourceInfo"]["podName"].as_str().unwrap_or_default().is_empty()
    });
    site.namespace.kubectl(&["scale", "deployment/web", "--replicas=1"]);
    lilt.wait_until_ready("web");
    site.serves("written while nobody listened");
    lilt.quit();
}

/// A registry that is away fails the update, which begins again by itself when the registry is back.
#[test]
fn a_push_is_done_when_the_registry_is_back() {
    let bed = Bed::get();
    let _alone = bed.alone();
    let site = Site::new("faults-push");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    let pod = site.only_pod();

    let stopped = bed.stop("registry");
    let place = lilt.place();
    site.project.write("app/words.txt", "second\n");
    let failure = lilt.wait_for_line_after(place, "web │ ERROR: Build Failed: ");
    assert!(failure.contains(bed.registry()) || failure.contains("busybox"), "which registry: {failure}");
    lilt.wait_until("web", "has failed", |it| it["status"]["updateStatus"] == "error");
    let waits = |it: &serde_json::Value| {
        let hold = it["metadata"]["annotations"]["lilt.dev/hold"].as_str().unwrap_or_default();
        hold.starts_with(&format!("waiting for the registry {}: ", bed.registry()))
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
