//! Builds whose engine goes away. One at a time, after all other tests.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

#[path = "support/support.rs"]
mod support;

use lilt_testbed_env::Bed;

use support::bed::Site;

/// The update fails with a sentence, what runs goes on, and the next save builds: lilt needs no restart.
#[test]
fn a_build_fails_when_its_engine_is_restarted_and_the_next_one_works() {
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
    lilt.wait_until("web", "has failed", |it| it["status"]["updateStatus"] == "error");
    assert_eq!(site.pods(), [pod], "what runs goes on");

    site.project.write("app/Dockerfile", &format!("{good}RUN echo all the way\n"));
    lilt.wait_for_line("       all the way");
    lilt.wait_until_ready("web");
    site.serves("one");

    // While it is away, that is the cause; nothing waits for it.
    let stopped = bed.stop("dockerd");
    let place = lilt.place();
    site.project.write("app/words.txt", "lost\n");
    let failure = lilt.wait_for_line_after(place, "web │ ERROR: Build Failed: ");
    assert!(failure.contains("cannot connect to the Docker engine at unix://"), "{failure}");
    drop(stopped);
    site.project.write("app/words.txt", "found\n");
    lilt.wait_until_ready("web");
    lilt.quit();
}
