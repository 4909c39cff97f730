//! The cluster's own programs go away and come back under a session. One at a time, after all other tests.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

use lilt_e2e::bed::{Site, ticks_on};
use lilt_e2e::lilt::Start;
use lilt_e2e::workload::{SLEEP, deployment, project};
use lilt_testbed_env::Bed;

/// What is being applied when the API server goes away is applied when it is back.
#[test]
fn an_api_server_that_restarts_in_the_middle_of_an_apply() {
    const MANY: usize = 40;
    let bed = Bed::get();
    let _alone = bed.alone();
    let namespace = bed.namespace("faults-apply");
    let name = |number: usize| format!("web-{number}");
    // Without pods: it is the applying that matters, and the node is small.
    let one = |number| {
        let mut object = deployment(&name(number), SLEEP, |_| {});
        object["spec"]["replicas"] = 0.into();
        object
    };
    let objects: Vec<_> = (0..MANY).map(one).collect();
    let project = project(&objects, "");
    let lilt = Start::up(&project).on(&namespace).start();
    lilt.wait_for_line("→ web-");
    bed.restart("apiserver");
    for number in 0..MANY {
        lilt.wait_until_ready(&name(number));
    }
    assert_eq!(lilt.count("ERROR:"), 0, "nothing failed");
    let found = namespace.kubectl(&["get", "deployments", "-o", "name"]);
    assert_eq!(found.lines().count(), MANY);
    lilt.quit();
}

/// A node that does not answer: nothing new starts, nothing is heard. When it is back, everything is as if nothing had been.
#[test]
fn a_kubelet_that_is_away_for_a_while() {
    let bed = Bed::get();
    let _alone = bed.alone();
    let (site, lilt) = Site::ticking("faults-node");

    let stopped = bed.stop("kubelet");
    // A new image needs a new pod, which nobody starts now.
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
    ticks_on(&lilt);
    lilt.wait_until_ready("ticking");
    lilt.quit();
}
