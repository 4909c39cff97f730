//! On the test bed: the same requests through lilt's forward and through `kubectl port-forward`, alternating.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use lilt_testbed_env::{Namespace, Project, Testbed, free_port};

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::Lilt;
use crate::samples::{Samples, milliseconds};

const TIMEOUT: Duration = Duration::from_secs(60);
const MEGABYTES: usize = 100;
const AT_ONCE: usize = 200;
const BETWEEN: Duration = Duration::from_secs(2);

const YAML: &str = "
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: busybox
    command:
    - sh
    - -c
    - 'mkdir /www; echo hello >/www/small; dd if=/dev/zero of=/www/large bs=1000000 count=100; exec httpd -f -p 8080 -h /www'
";

/// Ends with the value.
struct Kubectl(Child);

impl Kubectl {
    fn forward(testbed: &Testbed, namespace: &Namespace, port: u16) -> Self {
        let mut command = testbed.command("kubectl");
        command.envs(namespace.variables()).args(["port-forward", "pod/web", &format!("{port}:8080")]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("kubectl starts"))
    }
}

impl Drop for Kubectl {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let testbed = Testbed::get();
    let namespace = testbed.namespace("bench-forward");
    let [ours, theirs] = [(); 2].map(|()| free_port());
    let tiltfile = format!("k8s_yaml('web.yaml')\nk8s_resource('web', port_forwards='{ours}:8080')\n");
    let project = Project::new(&[("Tiltfile", &tiltfile), ("web.yaml", YAML)]);
    let session = lilt.up(&project, namespace.variables());
    until_served(ours, session.begin);
    let kubectl = Kubectl::forward(testbed, &namespace, theirs);
    until_served(theirs, Instant::now());

    let turns = |count: usize, path: &str, length: usize| -> [Samples; 2] {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..count {
            for (port, times) in [ours, theirs].into_iter().zip(&mut times) {
                times.push(milliseconds(fetch(port, path, length).expect("the forward serves")));
            }
        }
        times.map(Samples::new)
    };
    let [quick, quick_kubectl] = turns(effort.samples(200), "/small", 6);
    let [burst, burst_kubectl] = bursts([ours, theirs], effort.samples(10));
    let [large, large_kubectl] = turns(effort.samples(10), "/large", MEGABYTES * 1_000_000);
    drop((kubectl, session));
    let against = |ours: &Samples, theirs: &Samples| ours.median() / theirs.median();
    let latency = against(&quick, &quick_kubectl);
    let throughput = against(&large, &large_kubectl);
    let at_once = against(&burst, &burst_kubectl);
    vec![
        Figure::new(
            "forward-latency",
            "forward: connect and ask, times what kubectl takes",
            Unit::Times,
            latency,
        )
        .at_most(1.0),
        Figure::new("forward-latency-own", "    through lilt", Unit::Milliseconds, quick),
        Figure::new("forward-latency-kubectl", "    through kubectl", Unit::Milliseconds, quick_kubectl),
        Figure::new(
            "forward-burst",
            "forward: 200 connections at once, times what kubectl takes",
            Unit::Times,
            at_once,
        )
        .at_most(1.0),
        Figure::new("forward-burst-own", "    through lilt", Unit::Milliseconds, burst),
        Figure::new("forward-burst-kubectl", "    through kubectl", Unit::Milliseconds, burst_kubectl),
        Figure::new(
            "forward-throughput",
            "forward: 100 MB from a pod, times what kubectl takes",
            Unit::Times,
            throughput,
        )
        .at_most(1.0),
        Figure::new("forward-throughput-own", "    through lilt", Unit::Milliseconds, large),
        Figure::new("forward-throughput-kubectl", "    through kubectl", Unit::Milliseconds, large_kubectl),
    ]
}

/// Alternating: opens as many connections at once as a page with many tabs, until the last one is answered. The pod needs a
/// pause between them to close connections.
fn bursts(ports: [u16; 2], count: usize) -> [Samples; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..count {
        for (port, times) in ports.into_iter().zip(&mut times) {
            let begin = Instant::now();
            std::thread::scope(|scope| {
                let all: Vec<_> =
                    (0..AT_ONCE).map(|_| scope.spawn(move || fetch(port, "/small", 6))).collect();
                for one in all {
                    one.join().expect("no panic").expect("the forward serves");
                }
            });
            times.push(milliseconds(begin.elapsed()));
            std::thread::sleep(BETWEEN);
        }
    }
    times.map(Samples::new)
}

fn until_served(port: u16, begin: Instant) {
    while fetch(port, "/small", 6).is_none() {
        assert!(begin.elapsed() < TIMEOUT, "port {port} does not serve");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How long one request over a new connection takes; none if it is not answered in full.
fn fetch(port: u16, path: &str, length: usize) -> Option<Duration> {
    let begin = Instant::now();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).ok()?;
    let mut buffer = vec![0; 1 << 20];
    let mut head = Vec::new();
    // Read by its length: containerd reports a connection that a pod closed a second late.
    let mut left = loop {
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        head.extend_from_slice(&buffer[..read]);
        if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            let is_good = head.starts_with(b"HTTP/1.1 200") || head.starts_with(b"HTTP/1.0 200");
            break is_good.then(|| length.saturating_sub(head.len() - end - 4))?;
        }
    };
    while left > 0 {
        left = left.saturating_sub(stream.read(&mut buffer).ok().filter(|read| *read > 0)?);
    }
    Some(begin.elapsed())
}
