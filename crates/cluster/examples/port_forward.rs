//! Compares the two transports of port forwards, on the test bed: SPDY connections that are reused, and one WebSocket for each
//! connection. Prints medians.
//!
//!     eval "$(testbed/testbed env)" && cargo run --release -p lilt-cluster --example port_forward
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark, which may panic and print"
)]

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use lilt_cluster::{Cluster, ConnectOptions, Forwarder, NamespaceEvent};
use lilt_model::Timestamp;
use lilt_model::cluster::PodRef;
use lilt_testbed_env::Testbed;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Instant;

const LARGE: usize = 100_000_000;
const CONCURRENT: usize = 200;
const SERVER: &str = "mkdir /www; echo hello >/www/small; dd if=/dev/zero of=/www/large bs=1000000 count=100; exec httpd -f -p \
     8080 -h /www";

#[tokio::main]
async fn main() {
    let namespace = Testbed::get().namespace("forward");
    let options = ConnectOptions {
        kubeconfig: vec![namespace.kubeconfig().to_owned()],
        namespace: Some(namespace.name().to_owned()),
        ..ConnectOptions::default()
    };
    let cluster = Cluster::connect(options).await.unwrap();
    let pod = start_server(&cluster).await;
    let forwarders = [("SPDY", cluster.forwarder()), ("WebSocket", cluster.websocket_forwarder())];
    let (mut latency, mut burst, mut throughput) = Default::default();
    // In turns, so that both see the same load of the machine.
    for _ in 0..200 {
        measure(&forwarders, &mut latency, |forwarder| fetch(forwarder, &pod, "/small", 6)).await;
    }
    for _ in 0..10 {
        measure(&forwarders, &mut burst, |forwarder| async {
            join_all((0..CONCURRENT).map(|_| fetch(forwarder, &pod, "/small", 6))).await;
        })
        .await;
    }
    for _ in 0..5 {
        measure(&forwarders, &mut throughput, |forwarder| fetch(forwarder, &pod, "/large", LARGE)).await;
    }
    println!("{:<30}{:>12}{:>12}", "milliseconds", "SPDY", "WebSocket");
    for (what, [spdy, websocket]) in [
        ("connect and request", &mut latency),
        ("200 concurrent requests", &mut burst),
        ("100 MB", &mut throughput),
    ] {
        println!("{what:<30}{:>12.1}{:>12.1}", median(spdy), median(websocket));
    }
}

async fn start_server(cluster: &Cluster) -> PodRef {
    let mut events = cluster.watch_namespace(cluster.namespace(), Timestamp::ZERO);
    let object = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [{
            "name": "main", "image": "busybox", "command": ["sh", "-c", SERVER],
            "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1},
        }]}
    });
    cluster.apply(&[object], Duration::from_secs(30)).await.unwrap();
    loop {
        match events.next().await.unwrap() {
            NamespaceEvent::PodChanged(pod) if pod.ready => return pod.reference(),
            NamespaceEvent::PodsListed(pods) => {
                if let Some(pod) = pods.iter().find(|pod| pod.ready) {
                    return pod.reference();
                }
            }
            _ => {}
        }
    }
}

/// Runs `work` with each forwarder and records the milliseconds that it takes.
async fn measure<'f, F: Future<Output = ()>>(
    forwarders: &'f [(&str, Forwarder); 2],
    times: &mut [Vec<f64>; 2],
    work: impl Fn(&'f Forwarder) -> F,
) {
    for ((_, forwarder), times) in forwarders.iter().zip(times) {
        let start = Instant::now();
        work(forwarder).await;
        times.push(start.elapsed().as_secs_f64() * 1000.0);
    }
}

/// Requests a file over a new connection and reads all of it.
async fn fetch(forwarder: &Forwarder, pod: &PodRef, path: &str, length: usize) {
    let mut stream = forwarder.open(pod, 8080).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
    let (mut head, mut buffer) = (Vec::new(), vec![0; 256 << 10]);
    let mut left = loop {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "the response ended early");
        head.extend_from_slice(&buffer[..read]);
        if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            break length.saturating_sub(head.len() - end - 4);
        }
    };
    while left > 0 {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "the response ended early");
        left = left.saturating_sub(read);
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
