//! Live updates through lilt's agent while the cluster's programs go away. One at a time, after all other tests.
#![allow(clippy::disallowed_methods, reason = "tests start processes, read files and wait for facts")]

#[path = "support/support.rs"]
mod support;

#[path = "bed_live/small.rs"]
#[allow(dead_code, reason = "every target uses its part of it")]
mod small;

use lilt_testbed_env::Bed;

/// What was saved while nobody listened arrives in the same pod, and the process is started anew there.
#[test]
fn an_agent_is_reached_again_after_a_restart_of_the_api_server() {
    let bed = Bed::get();
    let _alone = bed.alone();
    let site = small::site("faults-agent", "scratch", "1234");
    small::lock(&site);
    small::with_steps(&site, "sync('app/www', '/www'), restart_process()");
    let lilt = site.up().start();
    lilt.wait_until_ready("web");
    site.serves("one");
    let pod = site.only_pod();

    let stopped = bed.stop("apiserver");
    site.project.write("app/www/index.html", "written while nobody listened\n");
    lilt.wait_for_words("web", "1 File Changed: [app/www/index.html]");
    drop(stopped);

    site.serves("written while nobody listened");
    lilt.wait_for_words("web", "  → Process started anew");
    lilt.wait_until_ready("web");
    assert_eq!((site.only_pod(), small::restarts(&site, &pod)), (pod, "0".to_owned()));
    lilt.quit();
}
