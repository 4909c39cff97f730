//! Recovery: the time until a session works again after a program that it depends on was restarted.

use std::time::{Duration, Instant};

use lilt_testbed_env::Testbed;
use serde_json::Value;

use super::{DOCKERFILE, PAGE, Site, remove_images, wait_until_served};
use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::Lilt;
use crate::page;
use crate::samples::{Samples, milliseconds};

const TIMEOUT: Duration = Duration::from_secs(60);
/// The limit: the status is correct within 5 seconds.
const AT_MOST: f64 = 5_000.0;

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let testbed = Testbed::get();
    let _exclusive = testbed.lock_exclusively();
    let site = Site::start(lilt);
    let figure =
        |name, words, samples| Figure::new(name, words, Unit::Milliseconds, samples).at_most(AT_MOST);
    let figures = vec![
        figure("recovery-cluster", "API server back → what was saved is served", cluster(&site, effort)),
        figure(
            "recovery-registry",
            "registry back → built, pushed, deployed",
            build(&site, "registry", effort),
        ),
        figure(
            "recovery-engine",
            "Docker engine back → built, pushed, deployed",
            build(&site, "dockerd", effort),
        ),
    ];
    drop(site);
    remove_images(testbed, "bench-web");
    figures
}

fn cluster(site: &Site, effort: Effort) -> Samples {
    Samples::collect(effort.samples(5), |index| {
        let text = format!("written while the API server was away, number {index}");
        let stopped = Testbed::get().stop("apiserver");
        site.project.write(PAGE, &text);
        // Returns when it responds.
        drop(stopped);
        milliseconds(wait_until_served(site.port, &text, Instant::now(), Duration::ZERO))
    })
}

fn build(site: &Site, program: &str, effort: Effort) -> Samples {
    Samples::collect(effort.samples(5), |index| {
        let stopped = Testbed::get().stop(program);
        let label = format!("LABEL of=\"{program} {index} {:?}\"\n", std::time::SystemTime::now());
        site.project.write("Dockerfile", &format!("{DOCKERFILE}{label}"));
        wait_until_update_is(site, "error");
        drop(stopped);
        let begin = Instant::now();
        wait_until_update_is(site, "ok");
        milliseconds(begin.elapsed())
    })
}

fn wait_until_update_is(site: &Site, status: &str) {
    let begin = Instant::now();
    let mut socket = page::connect(&site.session);
    let is_so = |message: &Value| {
        let mut resources = message["resources"].as_array().into_iter().flatten();
        let web = resources.find(|one| one["metadata"]["name"] == "web");
        web.is_some_and(|web| web["status"]["updateStatus"] == status)
    };
    while !is_so(&page::read(&mut socket).expect("the session goes on")) {
        assert!(begin.elapsed() < TIMEOUT, "web was not {status} after {TIMEOUT:?}");
    }
}
