//! On the test bed: the memory of a session with continuous saves and log lines.
//!
//! Runs only with `--soak MINUTES`, for that time.

use std::time::{Duration, Instant};

use lilt_testbed_env::{Project, Testbed, free_port};

use super::{DOCKERFILE, PAGE, YAML, remove_images, wait_until_served};
use crate::figure::{Figure, Unit};
use crate::lilt::{Lilt, Session};
use crate::memory;

/// A page that is saved repeatedly, files with new names, commands that rerun, and a server
/// that prints.
const TILTFILE: &str = r#"
docker_build('bench-soak', '.', only=['www'], live_update=[sync('www', '/www')])
k8s_yaml('web.yaml')
k8s_resource('web', port_forwards='PORT:8080')
local_resource('server', serve_cmd='while :; do seq -f "request %g: served in 1.2 ms, 200 OK, 5120 bytes" 200; sleep 0.1; done')
for number in range(20):
    local_resource('task-%d' % number, 'cat tasks/%d' % number, deps=['tasks/%d' % number], allow_parallel=True)
"#;

/// About 30 saves a second.
const PAUSE: Duration = Duration::from_millis(33);
/// After this many saves a file is removed again, like files of bundlers with a hash in their name.
const KEPT: usize = 600;
/// After this time all bounded buffers of a session are full.
const WARM: Duration = Duration::from_secs(600);

pub(crate) fn measure(lilt: &Lilt, minutes: u64) -> Vec<Figure> {
    let testbed = Testbed::get();
    let namespace = testbed.namespace("soak");
    let port = free_port();
    let project = project(port);
    let session = lilt.up(&project, namespace.variables());
    wait_until_served(port, "first", session.begin, PAUSE);
    let megabytes = |field| memory::megabytes(session.pid(), "status", field).expect("the session runs");
    let (begin, mut minute, mut saves, mut warm) = (Instant::now(), 0, 0, None);
    while minute < minutes {
        saves += 1;
        save(&project, saves);
        std::thread::sleep(PAUSE);
        if begin.elapsed().as_secs() / 60 > minute {
            minute += 1;
            report(&session, minute, saves);
            if begin.elapsed() >= WARM {
                warm.get_or_insert_with(|| megabytes("VmRSS"));
            }
        }
    }
    let last = "after the last save";
    project.write(PAGE, last);
    wait_until_served(port, last, Instant::now(), PAUSE);
    let end = megabytes("VmRSS");
    let peak = megabytes("VmHWM");
    drop(session);
    remove_images(testbed, "bench-soak");
    let mut figures = vec![
        Figure::new("soak-memory", format!("memory after {minutes} min of saves"), Unit::Megabytes, end),
        Figure::new("soak-peak", "    most since its start", Unit::Megabytes, peak),
        Figure::new("soak-saves", "    saves", Unit::Times, saves as f64),
    ];
    if let Some(warm) = warm {
        let words = "    growth since the tenth minute";
        figures.push(Figure::new("soak-growth", words, Unit::Megabytes, end - warm).at_most(1.0));
    }
    figures
}

fn project(port: u16) -> Project {
    let tiltfile = TILTFILE.replace("PORT", &port.to_string());
    let yaml = YAML.replace("bench-web", "bench-soak");
    let files = [("Tiltfile", &*tiltfile), ("Dockerfile", DOCKERFILE), ("web.yaml", &yaml), (PAGE, "first")];
    let project = Project::new(&files);
    for number in 0..20 {
        project.write(&format!("tasks/{number}"), "first");
    }
    project
}

/// Of 30 saves, 25 change the page, four create a new file and remove an old one, and one reruns a command.
fn save(project: &Project, number: usize) {
    match number % 30 {
        0 => project.write(&format!("tasks/{}", number / 30 % 20), &format!("run {number}\n")),
        6 | 12 | 18 | 24 => {
            project.write(&bundle(number), &"x".repeat(number % 5000));
            // Early in the session there is no old file yet.
            let _ = std::fs::remove_file(project.path().join(bundle(number.saturating_sub(KEPT))));
        }
        _ => project.write(PAGE, &format!("save number {number} {}", "x".repeat(1000))),
    }
}

fn bundle(number: usize) -> String {
    format!("www/bundle-{number}.js")
}

#[expect(clippy::print_stderr, reason = "an hour without a sign of life is long")]
fn report(session: &Session, minute: u64, saves: usize) {
    let megabytes = |field| memory::megabytes(session.pid(), "status", field).unwrap_or_default();
    let (all, own) = (megabytes("VmRSS"), megabytes("RssAnon"));
    eprintln!("bench: minute {minute}: {all:.1} MB, {own:.1} of it anonymous, {saves} saves");
}
