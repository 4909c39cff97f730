//! On the test bed: from a save of a web server's page until the port forward serves it.
//!
//! The forward is polled without a pause, over a new connection each time because the server closes
//! them. The duration of one such request is reported for comparison, and is part of the measured time.

mod big;
pub(super) mod recovery;
pub(crate) mod soak;

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use lilt_testbed_env::{Namespace, Project, Testbed, free_port};

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::{Lilt, Session};
use crate::samples::{Samples, milliseconds};

const TIMEOUT: Duration = Duration::from_secs(60);
/// The pause between two saves; the effects of the former have settled by then.
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

/// A session that serves its page, in its own namespace. Fields are dropped in this order.
struct Site {
    session: Session,
    project: Project,
    port: u16,
    first: String,
    /// The time from the start of lilt until the page was served.
    cold: Duration,
    _namespace: Namespace,
}

impl Site {
    fn start(lilt: &Lilt) -> Self {
        let namespace = Testbed::get().namespace("bench");
        let port = free_port();
        let tiltfile = format!(
            "docker_build('bench-web', '.', live_update=[sync('www', '/www')])\n\
             k8s_yaml('web.yaml')\n\
             k8s_resource('web', port_forwards='{port}:8080')\n"
        );
        // A new text, so that the image is built and not cached.
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
    // The connection to the container is opened when the pod exists.
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
    remove_images(Testbed::get(), "bench-web");
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
        assert!(begin.elapsed() < TIMEOUT, "not served after {TIMEOUT:?}: {text:?}, but {last:?}");
        std::thread::sleep(pause);
        last = fetch(port);
    }
    begin.elapsed()
}

/// Returns the page's text; none without a response. Read by its length, as browsers do: containerd reports a connection
/// that a pod closed a second late.
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

/// Returns `None` if the response is incomplete, `Some(None)` if it is no page.
fn whole_page(answer: &[u8]) -> Option<Option<String>> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    if head.split(' ').nth(1) != Some("200") {
        return Some(None);
    }
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "))?;
    (length.parse() == Ok(body.len())).then(|| Some(body.to_owned()))
}

fn remove_images(testbed: &Testbed, name: &str) {
    let reference = format!("reference={}/{name}", testbed.registry());
    let images = testbed.docker(&["image", "ls", "-q", "--filter", &reference]);
    for image in images.lines() {
        // Layers in use are kept.
        let _ = testbed.try_docker(&["image", "rm", "-f", image]);
    }
}

#[cfg(test)]
mod tests {
    use super::whole_page;

    #[test]
    fn page_is_complete_when_its_length_has_arrived() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(whole_page(answer), Some(Some("hello".into())));
        assert_eq!(whole_page(&answer[..answer.len() - 1]), None);
        assert_eq!(whole_page(b"HTTP/1.1 404 Not Found\r\n\r\n"), Some(None));
    }
}
