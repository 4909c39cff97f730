//! On the test bed: from a save in a context of ten thousand files until the log reports the start of the build, and
//! until the engine has the change and runs the step that copies it.

use std::io::{BufRead as _, BufReader};
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use lilt_testbed_env::{Project, Testbed};

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::Lilt;
use crate::samples::{Samples, milliseconds};

const FILES: usize = 10_000;
const TIMEOUT: Duration = Duration::from_secs(120);
/// The pause between the end of an update and the next save.
const PAUSE: Duration = Duration::from_millis(500);
/// The texts of the awaited log lines.
const BEGINS: &str = "Building Dockerfile: [bench-build]";
const COPIES: &str = "] COPY . /app";
const ENDS: &str = "DONE IN: ";

const YAML: &str = "
apiVersion: batch/v1
kind: CronJob
metadata: {name: build}
spec:
  schedule: '0 0 30 2 *'
  jobTemplate:
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: bench-build}]}}}
";

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let testbed = Testbed::get();
    let namespace = testbed.namespace("bench-build");
    let files = [
        ("Tiltfile", "docker_build('bench-build', 'app')\nk8s_yaml('build.yaml')\n"),
        ("app/Dockerfile", "FROM busybox\nCOPY . /app\n"),
        ("build.yaml", YAML),
    ];
    let project = Project::new(&files);
    for number in 0..FILES {
        project.write(&format!("app/d{}/f{number}.txt", number % 97), &format!("file {number}\n"));
    }
    let (session, output) = lilt.up_reading(&project, namespace.variables());
    let log = Log::follow(output);
    log.wait_for(ENDS);
    let (mut begun, mut copied) = (Vec::new(), Vec::new());
    for number in 0..effort.samples(20) {
        std::thread::sleep(PAUSE);
        let text = format!("{number} {:?}\n", std::time::SystemTime::now());
        let begin = Instant::now();
        project.write(&format!("app/d{}/f{number}.txt", number % 97), &text);
        begun.push(milliseconds(log.wait_for(BEGINS) - begin));
        copied.push(milliseconds(log.wait_for(COPIES) - begin));
        log.wait_for(ENDS);
    }
    drop(session);
    remove_images(testbed);
    let figure =
        |key: &str, work: &str, times| Figure::new(key, work, Unit::Milliseconds, Samples::new(times));
    vec![
        figure("build-start", "save in a context of 10,000 files → build begins", begun).at_most(100.0),
        figure("build-copy", "    … → the engine has the change and copies it", copied),
    ]
}

/// The output of a session, with the time of each line.
struct Log(Receiver<(Instant, String)>);

impl Log {
    fn follow(output: ChildStdout) -> Self {
        // Unbounded: the lines of a few builds.
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Self(lines)
    }

    /// Returns the time of the next line with a text.
    fn wait_for(&self, words: &str) -> Instant {
        loop {
            let next = self.0.recv_timeout(TIMEOUT);
            let (at, line) = next.unwrap_or_else(|_| panic!("no line with {words:?} after {TIMEOUT:?}"));
            assert!(!line.contains("Build Failed"), "{line}");
            if line.contains(words) {
                return at;
            }
        }
    }
}

fn remove_images(testbed: &Testbed) {
    let reference = format!("reference={}/bench-build", testbed.registry());
    for image in testbed.docker(&["image", "ls", "-q", "--filter", &reference]).lines() {
        // Images in use are kept.
        let _ = testbed.try_docker(&["image", "rm", "-f", image]);
    }
}
