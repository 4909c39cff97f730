//! On the test bed: a web server in a pod, its page edited, the port forward asked until it serves the new page.
//!
//! The forward is asked again and again without a pause, over a new connection each time because the server closes
//! them; what one such request takes by itself is told for comparison, and is part of what is measured.

mod big;
pub(super) mod recovery;
pub(crate) mod soak;

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use lilt_testbed_env::{Bed, Namespace, Project, free_port};

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::{Lilt, Session};
use crate::samples::{Samples, milliseconds};

const PATIENCE: Duration = Duration::from_secs(60);
/// Between two saves, as a fast typist's: what the one before caused has long settled.
const PAUSE: Duration = Duration::from_millis(150);
const PAGE: &str = "www/index.html";

const DOCKERFILE: &str = r#"FROM busybox
COPY www /www
CMD ["httpd", "-f", "-p", "8080", "-h", "/www"]
"#;

const YAML: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: bench-web}]
";

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let mut figures = small(lilt, effort);
    figures.extend(big::measure(lilt, effort));
    figures
}

/// A session that serves its page, in a namespace of its own. Fields go in this order.
struct Site {
    session: Session,
    project: Project,
    port: u16,
    first: String,
    /// From the start of lilt until the page was served.
    cold: Duration,
    _namespace: Namespace,
}

impl Site {
    fn start(lilt: &Lilt) -> Self {
        let namespace = Bed::get().namespace("bench");
        let port = free_port();
        let tiltfile = format!(
            "docker_build('bench-web', '.', live_update=[sync('www', '/www')])\n\
             k8s_yaml('web.yaml')\n\
             k8s_resource('web', port_forwards='{port}:8080')\n"
        );
        // A text that no earlier run had: the image is built, not found.
        let first = format!("{:?} first", std::time::SystemTime::now());
        let files =
            [("Tiltfile", &*tiltfile), ("Dockerfile", DOCKERFILE), ("web.yaml", YAML), (PAGE, &*first)];
        let project = Project::new(&files);
        let session = lilt.up(&project, namespace.variables());
        let cold = wait_until_served(port, &first, session.begin, Duration::from_millis(5));
        Self { session, project, port, first, cold, _namespace: namespace }
    }
}

fn small(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let cold = Samples::collect(effort.samples(5), |_| milliseconds(Site::start(lilt).cold));
    let site = Site::start(lilt);
    let Site { project, port, first, .. } = &site;
    let port = *port;
    // The channel into the container is opened when the pod is there.
    std::thread::sleep(Duration::from_secs(2));
    let ask = Samples::collect(effort.samples(20), |_| {
        let begin = Instant::now();
        assert_eq!(fetch(port).as_deref(), Some(first.as_str()), "the forward serves the page");
        milliseconds(begin.elapsed())
    });
    let saves = Samples::collect(effort.samples(50), |index| {
        std::thread::sleep(PAUSE);
        let text = format!("save number {index:04} {}", "x".repeat(1000));
        let begin = Instant::now();
        project.write(PAGE, &text);
        milliseconds(wait_until_served(port, &text, begin, Duration::ZERO))
    });
    drop(site);
    remove_images(Bed::get(), "bench-web");
    vec![
        Figure::new(
            "live-update",
            "save → served through live update and forward",
            Unit::Milliseconds,
            saves,
        )
        .at_most(40.0),
        Figure::new("live-request", "    one request through the forward by itself", Unit::Milliseconds, ask),
        Figure::new("cold-up", "lilt up → built, pushed, deployed and served", Unit::Milliseconds, cold)
            .at_most(1400.0),
    ]
}

fn wait_until_served(port: u16, text: &str, begin: Instant, pause: Duration) -> Duration {
    let mut last = None;
    while last.as_deref() != Some(text) {
        assert!(begin.elapsed() < PATIENCE, "not served after {PATIENCE:?}: {text:?}, but {last:?}");
        std::thread::sleep(pause);
        last = fetch(port);
    }
    begin.elapsed()
}

/// The page's text; none if there is no answer. Read by its length, as browsers do: that a pod has closed a connection
/// is told a second late by containerd.
fn fetch(port: u16) -> Option<String> {
    fetch_from(("127.0.0.1", port), "/index.html")
}

fn fetch_from(address: impl ToSocketAddrs, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).ok()?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let length = stream.read(&mut piece).ok().filter(|length| *length > 0)?;
        answer.extend_from_slice(&piece[..length]);
        if let Some(page) = whole_page(&answer) {
            return page;
        }
    }
}

/// None: more is to come. `Some(None)`: it is no page.
fn whole_page(answer: &[u8]) -> Option<Option<String>> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    if head.split(' ').nth(1) != Some("200") {
        return Some(None);
    }
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "))?;
    (length.parse() == Ok(body.len())).then(|| Some(body.to_owned()))
}

fn remove_images(bed: &Bed, name: &str) {
    let reference = format!("reference={}/{name}", bed.registry());
    let images = bed.docker(&["image", "ls", "-q", "--filter", &reference]);
    for image in images.lines() {
        // A layer that something else uses stays.
        let _ = bed.try_docker(&["image", "rm", "-f", image]);
    }
}

#[cfg(test)]
mod tests {
    use super::whole_page;

    #[test]
    fn a_page_is_whole_when_its_length_is_there() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(whole_page(answer), Some(Some("hello".into())));
        assert_eq!(whole_page(&answer[..answer.len() - 1]), None);
        assert_eq!(whole_page(b"HTTP/1.1 404 Not Found\r\n\r\n"), Some(None));
    }
}
