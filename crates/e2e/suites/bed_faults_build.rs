//! Builds whose Docker engine is stopped. Sequential, after all other tests.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

use lilt_e2e::site::Site;
use lilt_testbed_env::{Testbed, eventually};

/// The update fails with a message, running pods continue, and it is retried when the engine is back.
#[test]
fn build_restarts_when_docker_engine_is_back() {
    let testbed = Testbed::get();
    let _exclusive = testbed.lock_exclusively();
    let site = Site::new("faults-engine");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let (pod, good) = (site.only_pod(), site.project.read("app/Dockerfile"));

    site.project.write("app/Dockerfile", &format!("{good}RUN echo halfway; sleep 987\n"));
    lilt.wait_for_line("       halfway");
    let output_end = lilt.output_end();
    testbed.restart("dockerd");
    let failure = lilt.wait_for_line_after(output_end, "web │ ERROR: Build Failed: ");
    assert!(failure.contains("the Docker engine"), "{failure}");
    lilt.wait_for_line_after(output_end, "hint: ");
    lilt.wait_for_line_after(output_end, "It begins again by itself when the Docker engine answers");
    lilt.wait_for_line_after(output_end, "       halfway");
    assert_eq!(site.pods(), [pod], "what runs goes on");

    site.project.write("app/Dockerfile", &format!("{good}RUN echo all the way\n"));
    lilt.wait_for_line("       all the way");
    lilt.wait_until_ready("web");
    site.serves("one");

    // While the engine is stopped, the hold names it.
    let stopped = testbed.stop("dockerd");
    let output_end = lilt.output_end();
    site.project.write("app/words.txt", "kept\n");
    let failure = lilt.wait_for_line_after(output_end, "web │ ERROR: Build Failed: ");
    assert!(failure.contains("cannot connect to the Docker engine at unix://"), "{failure}");
    lilt.wait_until("web", "says what it waits for", |it| {
        let hold = it["metadata"]["annotations"]["lilt.dev/hold"].as_str().unwrap_or_default();
        it["status"]["updateStatus"] == "error" && hold.starts_with("waiting for the Docker engine: ")
    });
    drop(stopped);
    eventually("the new content is served", || {
        lilt_e2e::page::get(site.port, "/words.txt").filter(|page| page == "kept\n")
    });
    lilt.wait_until_ready("web");
    lilt.quit();
}
