//! Outages of the cluster's programs during a session. Sequential, after all other tests.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

use lilt_e2e::lilt::Start;
use lilt_e2e::site::{Site, assert_ticks_continue};
use lilt_e2e::workload::{SLEEP, deployment, project};
use lilt_testbed_env::Testbed;

/// An apply that the API server's restart interrupts is completed.
#[test]
fn apply_survives_api_server_restart() {
    const MANY: usize = 40;
    let testbed = Testbed::get();
    let _exclusive = testbed.lock_exclusively();
    let namespace = testbed.namespace("faults-apply");
    let name = |number: usize| format!("web-{number}");
    // Without pods, to limit the load of the node.
    let one = |number| {
        let mut object = deployment(&name(number), SLEEP, |_| {});
        object["spec"]["replicas"] = 0.into();
        object
    };
    let objects: Vec<_> = (0..MANY).map(one).collect();
    let project = project(&objects, "");
    let lilt = Start::up(&project).in_namespace(&namespace).start();
    lilt.wait_for_line("→ web-");
    testbed.restart("apiserver");
    for number in 0..MANY {
        lilt.wait_until_ready(&name(number));
    }
    assert_eq!(lilt.count("ERROR:"), 0, "nothing failed");
    let found = namespace.kubectl(&["get", "deployments", "-o", "name"]);
    assert_eq!(found.lines().count(), MANY);
    lilt.quit();
}

/// The kubelet is stopped: nothing starts and no status arrives. When it is back, everything continues.
#[test]
fn session_survives_kubelet_outage() {
    let testbed = Testbed::get();
    let _exclusive = testbed.lock_exclusively();
    let (site, lilt) = Site::ticking("faults-node");

    let stopped = testbed.stop("kubelet");
    // A new image needs a new pod, which does not start now.
    site.project.write("app/words.txt", "second\n");
    lilt.wait_until("web", "waits for its pod", |it| {
        it["status"]["updateStatus"] == "ok" && it["status"]["runtimeStatus"] == "pending"
    });
    drop(stopped);

    lilt.wait_until_ready("web");
    site.serves("one");
    lilt_testbed_env::eventually("the new content is served", || {
        lilt_e2e::page::get(site.port, "/words.txt").filter(|page| page == "second\n")
    });
    site.project.write("app/www/index.html", "two\n");
    site.serves("two");
    assert_ticks_continue(&lilt);
    lilt.wait_until_ready("ticking");
    lilt.quit();
}
