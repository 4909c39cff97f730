//! Live updates of many files, of a large file, and of several pods, through lilt's agent.
//!
//! Polls with small pauses, because servers and agents share this machine.

use std::fs;
use std::time::{Duration, Instant};

use lilt_testbed_env::{Namespace, Project, Testbed};

use super::{PAUSE, TIMEOUT, fetch_from, remove_images};
use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::Lilt;
use crate::samples::{Samples, milliseconds};

const MANY: usize = 1000;
const BINARY: usize = 100 << 20;
/// The length of the version mark at the end of the binary.
const MARK: usize = 16;
const PORT: u16 = 8080;
/// The polling interval. Each poll starts a process in the pod, which uses CPU time.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The server's page is the end of its own program; a script counts the files with a given text.
const DOCKERFILE: &str = r#"FROM busybox
COPY app /app
COPY www /www
CMD ["sh", "-c", "tail -c 16 /app/busybox > /www/mark.txt; exec /app/busybox httpd -f -p 8080 -h /www"]
"#;
const COUNT: &str = "#!/bin/sh\nn=$(grep -l \"^round $QUERY_STRING \" -r /www/many | wc -l)\n\
    printf 'Content-Length: %d\\r\\n\\r\\n%s' ${#n} $n\n";

const YAML: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: big}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: big}}
  template:
    metadata: {labels: {app: big}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: big, image: bench-big}]
";

const TILTFILE: &str = "docker_build('bench-big', '.', live_update=[sync('app', '/app'), sync('www', '/www'), \
    restart_process(trigger='app')])\nk8s_yaml('big.yaml')\n";

pub(super) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let mut one = measure_with(lilt, effort, 1);
    let three = measure_with(lilt, effort, 3);
    // Measured with one and with several pods, which should take the same time.
    for (at, figure) in three.into_iter().enumerate() {
        one.insert(2 * at + 1, figure);
    }
    one
}

fn measure_with(lilt: &Lilt, effort: Effort, replicas: usize) -> Vec<Figure> {
    let testbed = Testbed::get();
    let namespace = testbed.namespace("bench-big");
    let yaml = YAML.replace("REPLICAS", &replicas.to_string());
    let files =
        [("Tiltfile", TILTFILE), ("Dockerfile", DOCKERFILE), ("big.yaml", &yaml), ("www/index.html", "-")];
    let project = Project::new(&files);
    project.write("www/cgi-bin/count", COUNT);
    let script = project.file("www/cgi-bin/count");
    fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    // The folder in which the binary is written before it replaces the old one.
    let staging = Project::new(&[]);
    let mut binary = program(testbed);
    save_binary(&staging, &project, &mut binary, 0);
    save_many(&project, 0);
    let session = lilt.up(&project, namespace.variables());
    let pods = addresses(&namespace, replicas);
    let all = |path: &str, text: &str, begin: Instant, pause: Duration| {
        for pod in &pods {
            wait(pod, path, text, begin, pause);
        }
        milliseconds(begin.elapsed())
    };
    all("/mark.txt", &mark(0), Instant::now(), PAUSE);
    // The connections to the containers are opened when the pods exist.
    std::thread::sleep(Duration::from_secs(2));
    let small = Samples::collect(effort.samples(50), |index| {
        std::thread::sleep(PAUSE);
        let text = format!("save number {index:04} {}", "x".repeat(1000));
        let begin = Instant::now();
        project.write("www/index.html", &text);
        all("/index.html", &text, begin, Duration::ZERO)
    });
    let many = Samples::collect(effort.samples(50), |index| {
        std::thread::sleep(PAUSE);
        let round = index + 1;
        let begin = save_many(&project, round);
        // Polls the last file by name first, which is cheap; then counts all.
        let last = MANY - 1;
        let seen = all(&format!("/many/{last}.txt"), &text(round, last), begin, POLL_INTERVAL);
        let count = format!("/cgi-bin/count?{round}");
        let complete =
            |pod: &String| fetch_from((&**pod, PORT), &count).as_deref() == Some(&MANY.to_string());
        match pods.iter().all(complete) {
            true => seen,
            false => all(&count, &MANY.to_string(), begin, POLL_INTERVAL),
        }
    });
    let restarted = Samples::collect(effort.samples(50), |index| {
        std::thread::sleep(PAUSE);
        let begin = save_binary(&staging, &project, &mut binary, index + 1);
        all("/mark.txt", &mark(index + 1), begin, POLL_INTERVAL)
    });
    drop(session);
    remove_images(testbed, "bench-big");
    let figure = |key: &str, words: &str, samples| {
        let key = if replicas == 1 { key.to_owned() } else { format!("{key}-replicas") };
        let where_to = if replicas == 1 { "one pod" } else { "three replicas" };
        Figure::new(key, format!("{words}, in {where_to}"), Unit::Milliseconds, samples)
    };
    vec![
        figure("live-small", "1 kB file saved → served, asked directly", small).at_most(40.0),
        figure("live-many", "1,000 files of 10 kB saved → all there", many).at_most(500.0),
        figure("live-binary", "1% of 100 MB changed → process restarted", restarted).at_most(1000.0),
    ]
}

/// Builds a program that is large because of appended data.
fn program(testbed: &Testbed) -> Vec<u8> {
    let container = testbed.docker(&["create", "busybox"]);
    let folder = Project::new(&[]);
    let path = folder.file("busybox");
    let from = format!("{}:/bin/busybox", container.trim());
    testbed.docker(&["cp", "-L", &from, path.to_str().expect("a plain path")]);
    testbed.docker(&["rm", container.trim()]);
    let mut program = fs::read(path).expect("it was copied");
    let mut state: u64 = 1;
    while program.len() < BINARY {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        program.extend(state.to_le_bytes());
    }
    program
}

fn mark(round: usize) -> String {
    format!("{round:0MARK$}")
}

/// Changes one percent of the binary in one place; returns when it was saved.
fn save_binary(staging: &Project, project: &Project, binary: &mut [u8], round: usize) -> Instant {
    let begin = BINARY / 2 + (round % 40) * (BINARY / 100);
    for byte in &mut binary[begin..begin + BINARY / 100] {
        *byte = byte.wrapping_mul(31).wrapping_add(7);
    }
    let end = binary.len() - MARK;
    binary[end..].copy_from_slice(mark(round).as_bytes());
    // Like a linker: the old file is replaced when the new one is complete.
    let (aside, path) = (staging.file("busybox"), project.file("app/busybox"));
    fs::create_dir_all(project.file("app")).expect("a directory");
    fs::write(&aside, &*binary).expect("it can be written");
    fs::set_permissions(&aside, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let saved = Instant::now();
    fs::rename(aside, path).expect("it can be renamed");
    saved
}

/// Saves all files; returns when the first one was saved.
fn save_many(project: &Project, round: usize) -> Instant {
    let begin = Instant::now();
    for number in 0..MANY {
        project.write(&format!("www/many/{number}.txt"), &text(round, number));
    }
    begin
}

fn text(round: usize, number: usize) -> String {
    format!("round {round} {number} {}\n", "x".repeat(10 << 10))
}

/// Returns the addresses of the pods, once all run.
fn addresses(namespace: &Namespace, replicas: usize) -> Vec<String> {
    let begin = Instant::now();
    loop {
        let running = [
            "get",
            "pods",
            "--field-selector=status.phase=Running",
            "-o",
            "jsonpath={.items[*].status.podIP}",
        ];
        let found = namespace.kubectl(&running);
        let found: Vec<String> = found.split_whitespace().map(str::to_owned).collect();
        if found.len() == replicas {
            return found;
        }
        assert!(begin.elapsed() < 2 * TIMEOUT, "the pods do not run: {found:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn wait(pod: &str, path: &str, text: &str, begin: Instant, pause: Duration) {
    let mut last = None;
    while last.as_deref() != Some(text) {
        assert!(begin.elapsed() < TIMEOUT, "{pod}{path} is not {text:.60}, but {last:?}");
        std::thread::sleep(pause);
        last = fetch_from((pod, PORT), path);
    }
}
