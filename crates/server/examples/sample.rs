//! A simulated session, for work on the page: `cargo run -p lilt-server --example sample -- PORT COUNT LINES STORM`.
//!
//! Resources update in turn, some fail, some wait; a trigger runs an update. LINES is the initial length of the log. With
//! STORM 1 all resources change ten times a second. Only the store and the server are real.

#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::expect_used)]

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lilt_api::{
    ObjectMeta, RuntimeStatus, UIBuildRunning, UIBuildTerminated, UIResource, UIResourceKubernetes,
    UIResourceLink, UIResourceLocal, UIResourceStatus, UISession, UISessionStatus, UpdateStatus, annotation,
};
use lilt_model::log::{Level, Source};
use lilt_model::request::Request;
use lilt_model::{ResourceName, SpanId, Timestamp};
use lilt_server::{ServeOptions, bind, serve};
use lilt_store::{Draft, LogWriter, Span, Writer, open};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const LABELS: [&str; 4] = ["backend", "frontend", "build", "test"];
const NAMES: [&str; 12] = [
    "api",
    "web",
    "codegen",
    "unit-tests",
    "worker",
    "docs",
    "lint",
    "smoke",
    "db",
    "storybook",
    "protos",
    "seed",
];

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or_default())
}

fn seconds_ago(seconds: u64) -> Timestamp {
    Timestamp(now().0 - i64::try_from(seconds * 1_000_000).unwrap_or_default())
}

fn resource(index: usize) -> UIResource {
    let round = index / NAMES.len();
    let base = NAMES[index % NAMES.len()];
    let name = if round == 0 { base.to_owned() } else { format!("{base}-{round}") };
    let mut metadata = ObjectMeta { name, ..ObjectMeta::default() };
    if index % 12 != 11 {
        let label = LABELS[index % LABELS.len()];
        metadata.labels = BTreeMap::from([(label.to_owned(), label.to_owned())]);
    }
    let finished = UIBuildTerminated {
        start_time: Some(seconds_ago(40 + index as u64 * 7)),
        finish_time: Some(Timestamp(
            seconds_ago(40 + index as u64 * 7).0 + 380_000 * (1 + index as i64 % 40),
        )),
        span_id: "build:1".to_owned(),
        ..UIBuildTerminated::default()
    };
    let mut status = UIResourceStatus {
        last_deploy_time: finished.finish_time,
        build_history: vec![finished],
        update_status: UpdateStatus::Ok,
        runtime_status: RuntimeStatus::NotApplicable,
        order: i32::try_from(index).unwrap_or_default() + 1,
        ..UIResourceStatus::default()
    };
    match index % NAMES.len() {
        0 | 1 | 4 | 8 => {
            status.runtime_status = RuntimeStatus::Ok;
            status.k8s_resource_info = Some(UIResourceKubernetes {
                pod_name: format!("{}-6b487f9d4c-x{}k2p", metadata.name, index % 10),
                pod_status: "Running".to_owned(),
                all_containers_ready: true,
                display_names: vec![
                    format!("{}:deployment", metadata.name),
                    format!("{}:service", metadata.name),
                ],
                ..UIResourceKubernetes::default()
            });
            status.endpoint_links = vec![UIResourceLink {
                url: format!("http://localhost:{}/", 8000 + index),
                name: String::new(),
            }];
            if index % NAMES.len() == 1 {
                status.endpoint_links.push(UIResourceLink {
                    url: "https://example.com/design/handbook".to_owned(),
                    name: "handbook".to_owned(),
                });
            }
        }
        6 => {
            status.update_status = UpdateStatus::Error;
            status.build_history[0].error = "Command \"npm run lint\" failed: exit status 1".to_owned();
            status.local_resource_info = Some(UIResourceLocal::default());
        }
        7 => {
            status.update_status = UpdateStatus::Pending;
            status.build_history.clear();
            status.last_deploy_time = None;
            metadata
                .annotations
                .insert(annotation::HOLD.to_owned(), "waiting for api to be ready".to_owned());
            status.local_resource_info = Some(UIResourceLocal { is_test: true, pid: 0 });
        }
        11 => {
            status.update_status = UpdateStatus::None;
            status.trigger_mode = 2;
            status.build_history.clear();
            status.last_deploy_time = None;
            status.local_resource_info = Some(UIResourceLocal::default());
            metadata.annotations.insert(annotation::HOLD.to_owned(), "starts when triggered".to_owned());
        }
        9 => {
            status.runtime_status = RuntimeStatus::Error;
            status.local_resource_info = Some(UIResourceLocal { pid: 4711, is_test: false });
            metadata.annotations.insert(
                annotation::RUNTIME_MESSAGE.to_owned(),
                "the server exited with status 3 after 2 seconds".to_owned(),
            );
        }
        _ => {
            status.local_resource_info = Some(UIResourceLocal::default());
        }
    }
    UIResource::new(metadata, status)
}

fn tiltfile() -> UIResource {
    let mut made = resource(2);
    made.metadata = ObjectMeta { name: "(Tiltfile)".to_owned(), ..ObjectMeta::default() };
    made.status.order = 0;
    made.status.build_history[0].warnings =
        vec!["Tiltfile:12: allow_k8s_contexts has no effect here".to_owned()];
    made
}

struct SimulatedSession {
    writer: Writer,
    logs: LogWriter,
    resources: Vec<UIResource>,
    spans: Vec<Span>,
}

impl SimulatedSession {
    fn commit(&mut self, index: usize) {
        self.writer.put(Draft::resource(self.resources[index].clone().into(), None));
        self.writer.commit(now());
    }

    fn begin(&mut self, index: usize, cause: &str) {
        let resource = &mut self.resources[index];
        resource.status.update_status = UpdateStatus::InProgress;
        resource.status.current_build =
            Some(UIBuildRunning { start_time: Some(now()), span_id: "build:2".to_owned() });
        resource.metadata.annotations.insert(annotation::CAUSE.to_owned(), cause.to_owned());
        let name = ResourceName::new(&resource.metadata.name);
        let mut span = self.logs.span(SpanId::new("build:2"), Some(name.clone()), Source::Build);
        span.info(&format!("\u{1b}[1mUpdating {name}\u{1b}[0m: {cause}"));
        span.write(b"\x1b[36mSTEP 1/2\x1b[0m \xe2\x80\x94 Building\n  \x1b[2m=> [1/4] FROM node:20\x1b[0m\n  => [2/4] COPY . /app\n");
        self.commit(index);
    }

    fn end(&mut self, index: usize) {
        let resource = &mut self.resources[index];
        let Some(running) = resource.status.current_build.take() else { return };
        let failed = index % NAMES.len() == 6;
        let error = if failed { "Command \"npm run lint\" failed: exit status 1" } else { "" };
        resource.status.update_status = if failed { UpdateStatus::Error } else { UpdateStatus::Ok };
        resource.metadata.annotations.remove(annotation::HOLD);
        resource.status.last_deploy_time = Some(now());
        resource.status.build_history.insert(
            0,
            UIBuildTerminated {
                error: error.to_owned(),
                start_time: running.start_time,
                finish_time: Some(now()),
                span_id: running.span_id,
                ..UIBuildTerminated::default()
            },
        );
        resource.status.build_history.truncate(10);
        let name = ResourceName::new(&resource.metadata.name);
        let mut span = self.logs.span(SpanId::new("build:2"), Some(name), Source::Build);
        if failed {
            span.write(b"src/app.ts(3,1): \x1b[31merror TS2304\x1b[0m: Cannot find name 'x'.\n");
            span.print(Level::Error, error);
        } else {
            span.info("\u{1b}[32mdone\u{1b}[0m in 0.8s");
        }
        self.commit(index);
    }

    fn change_all(&mut self, turn: usize) {
        for (index, resource) in self.resources.iter_mut().enumerate() {
            let busy = (turn + index).is_multiple_of(2);
            resource.status.update_status = if busy { UpdateStatus::InProgress } else { UpdateStatus::Ok };
            resource.status.current_build =
                busy.then(|| UIBuildRunning { start_time: Some(now()), span_id: "build:2".to_owned() });
        }
        for resource in &self.resources {
            self.writer.put(Draft::resource(resource.clone().into(), None));
        }
        self.writer.commit(now());
    }

    fn chatter(&mut self, turn: usize) {
        let index = turn % self.spans.len();
        let status =
            if turn.is_multiple_of(17) { "\u{1b}[33m404\u{1b}[0m" } else { "\u{1b}[32m200\u{1b}[0m" };
        let line = format!("GET /v1/items/{turn} {status} {}ms\n", 3 + turn % 23);
        self.spans[index].write(line.as_bytes());
        if turn.is_multiple_of(61) {
            self.spans[index].print(Level::Warn, "slow query: 1.2s (items by owner)");
        }
    }
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>().expect("a number"));
    let port = arguments.next().unwrap_or(10350);
    let count = arguments.next().unwrap_or(12);
    let lines = arguments.next().unwrap_or(400);
    let storm = arguments.next() == Some(1);
    // In files, so that all lines are stored.
    let folder = std::env::temp_dir().join(format!("lilt-sample-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (logs, log_reader) = LogWriter::open(Some(folder.clone()), now);
    let (mut writer, _queries, reader) = open(log_reader);
    let mut resources: Vec<UIResource> = (0..count).map(resource).collect();
    resources.push(tiltfile());
    let session = UISession::new(
        ObjectMeta { name: "Tiltfile".to_owned(), ..ObjectMeta::default() },
        UISessionStatus { tiltfile_key: "/home/me/shop/Tiltfile".to_owned(), ..UISessionStatus::default() },
    );
    for resource in &resources {
        writer.put(Draft::resource(resource.clone().into(), None));
    }
    writer.put(Draft::session(session.into(), None));
    writer.commit(now());
    let spans = resources
        .iter()
        .filter(|resource| resource.status.runtime_status == RuntimeStatus::Ok)
        .map(|resource| {
            logs.span(SpanId::new("pod:1"), Some(ResourceName::new(&resource.metadata.name)), Source::Runtime)
        })
        .collect();
    let mut session = SimulatedSession { writer, logs, resources, spans };
    for turn in 0..lines {
        session.chatter(turn);
    }
    // Clicks are rare; a full channel makes the server wait.
    let (requests, mut asked) = mpsc::channel(16);
    let listener = bind("localhost", u16::try_from(port).expect("a port")).await.expect("a free port");
    println!("http://localhost:{port}/");
    let options = ServeOptions { version: "0.1.0-sample".to_owned(), ..ServeOptions::default() };
    let cancel = CancellationToken::new();
    let served = serve(listener, options, reader, requests, cancel.clone());
    tokio::pin!(served);
    let mut tick = tokio::time::interval(Duration::from_millis(if storm { 100 } else { 200 }));
    let mut turn = lines;
    loop {
        tokio::select! {
            () = &mut served => {
                std::fs::remove_dir_all(&folder).expect("the folder goes away");
                return;
            }
            _ = tokio::signal::ctrl_c() => cancel.cancel(),
            Some(Request::Trigger { resource, .. }) = asked.recv() => {
                let found = session.resources.iter().position(|known| known.metadata.name == resource.as_str());
                if let Some(index) = found {
                    session.begin(index, "triggered by hand");
                }
            }
            _ = tick.tick() => {
                turn += 1;
                session.chatter(turn);
                if storm {
                    session.change_all(turn);
                    continue;
                }
                let resources = session.resources.len();
                if turn % 15 == 0 {
                    session.begin(turn / 15 % resources, "changed: src/app.ts");
                }
                if turn % 15 == 8 {
                    (0..resources).for_each(|index| session.end(index));
                }
            }
        }
    }
}
