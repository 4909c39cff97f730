//! Builds whose engine goes away. One at a time, after all other tests.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

use lilt_e2e::bed::Site;
use lilt_testbed_env::{Bed, eventually};

/// The update fails with a sentence, what runs goes on, and it begins again when the engine is back.
#[test]
fn a_build_begins_again_when_its_engine_has_been_restarted() {
    let bed = Bed::get();
    let _alone = bed.alone();
    let site = Site::new("faults-engine");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let (pod, good) = (site.only_pod(), site.project.read("app/Dockerfile"));

    site.project.write("app/Dockerfile", &format!("{good}RUN echo halfway; sleep 987\n"));
    lilt.wait_for_line("       halfway");
    let place = lilt.place();
    bed.restart("dockerd");
    let failure = lilt.wait_for_line_after(place, "web │ ERROR: Build Failed: ");
    assert!(failure.contains("the Docker engine"), "{failure}");
    lilt.wait_for_line_after(place, "hint: ");
    lilt.wait_for_line_after(place, "It begins again by itself when the Docker engine answers");
    lilt.wait_for_line_after(place, "       halfway");
    assert_eq!(site.pods(), [pod], "what runs goes on");

    site.project.write("app/Dockerfile", &format!("{good}RUN echo all the way\n"));
    lilt.wait_for_line("       all the way");
    lilt.wait_until_ready("web");
    site.serves("one");

    // While it is away, that is the cause, and what the update waits for.
    let stopped = bed.stop("dockerd");
    let place = lilt.place();
    site.project.write("app/words.txt", "kept\n");
    let failure = lilt.wait_for_line_after(place, "web │ ERROR: Build Failed: ");
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
