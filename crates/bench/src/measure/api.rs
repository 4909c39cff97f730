//! The object API: one command, a long list, and many watchers while objects change.

use std::path::Path;
use std::time::{Duration, Instant};

use http::Method;
use lilt_api::kinds::{Kind, kinds};
use lilt_client::object_api::{Api, ApiPath, ObjectForm, PatchType};
use lilt_testbed_env::Project;

use crate::Effort;
use crate::figure::{Figure, Unit};
use crate::lilt::{Lilt, Session};
use crate::memory;
use crate::samples::{Samples, milliseconds};

const RESOURCES: usize = 1000;
const CHANGES: usize = 10_000;
const WATCHERS: usize = 50;
const WRITERS: usize = 8;
const TIMEOUT: Duration = Duration::from_secs(60);
const BASE: &str = "/apis/tilt.dev/v1alpha1";

pub(crate) fn measure(lilt: &Lilt, effort: Effort) -> Vec<Figure> {
    let tiltfile =
        format!("for i in range({RESOURCES}):\n    local_resource('r%d' % i, 'true', auto_init=False)\n");
    let project = Project::new(&[("Tiltfile", &tiltfile)]);
    let config = project.file("config");
    let place = config.to_string_lossy().into_owned();
    let variables = [("TILT_CONFIG", place.as_str())];
    let session = lilt.up(&project, variables);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let mut client = runtime.block_on(loaded(&session, &config));
    let port = session.port.to_string();
    let arguments = ["get", "uiresource", "r500", "--port", &port];
    let gets = Samples::collect(effort.samples(50), |_| {
        milliseconds(lilt.run_with(project.path(), &arguments, variables))
    });
    let lists = Samples::collect(effort.samples(50), |_| milliseconds(runtime.block_on(list(&mut client))));
    let mut figures = vec![
        Figure::new("api-get", "lilt get uiresource NAME, start to exit", Unit::Milliseconds, gets)
            .at_most(15.0),
        Figure::new("api-list", "list of 1,000 UIResources", Unit::Milliseconds, lists).at_most(10.0),
    ];
    figures.extend(changes(&runtime, client, &session, &config));
    figures
}

fn connect(session: &Session, config: &Path) -> Option<Api> {
    let ignore_warnings = |_: &str| {};
    Api::in_context(config, &format!("tilt-{}", session.port), ignore_warnings).ok()
}

/// Waits until all resources are loaded.
async fn loaded(session: &Session, config: &Path) -> Api {
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < TIMEOUT, "the session does not load");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let Some(mut client) = connect(session, config) else { continue };
        let found = client.get(&ApiPath::all(kind("UIResource")), ObjectForm::Whole).await;
        if found.is_ok_and(|found| found["items"].as_array().is_some_and(|items| items.len() > RESOURCES)) {
            return client;
        }
    }
}

fn kind(name: &str) -> &'static Kind {
    kinds().named(name).expect("the kind is lilt's")
}

async fn list(client: &mut Api) -> Duration {
    let begin = Instant::now();
    let body = client.raw(Method::GET, &format!("{BASE}/uiresources")).await.expect("an answer");
    assert!(body.len() > RESOURCES * 100, "a long list");
    begin.elapsed()
}

/// Reads a watch until `wanted` changes have arrived.
async fn watch(client: Api, from: String, wanted: usize) {
    let path = ApiPath::all(kind("ConfigMap")).with_query("resourceVersion", from);
    let mut stream = client.watch(&path, ObjectForm::Whole).await.expect("an answer");
    let mut seen = 0;
    while seen < wanted {
        let piece = stream.next_chunk().await.expect("a piece").expect("the watch goes on");
        seen += piece.iter().filter(|byte| **byte == b'\n').count();
    }
}

fn changes(
    runtime: &tokio::runtime::Runtime,
    mut client: Api,
    session: &Session,
    config: &Path,
) -> Vec<Figure> {
    let maps = ApiPath::all(kind("ConfigMap"));
    let ticks = || memory::ticks(session.pid()).expect("the session runs") as f64;
    let megabytes = || memory::megabytes(session.pid(), "status", "RssAnon").expect("the session runs");
    let another = || connect(session, config).expect("the session has a context");
    let (took, spent, grown) = runtime.block_on(async {
        for writer in 0..WRITERS {
            let map = serde_json::json!({
                "apiVersion": "tilt.dev/v1alpha1", "kind": "ConfigMap", "data": {"value": "0"},
                "metadata": {"name": format!("bench-{writer}"), "labels": {"bench": "1"}},
            });
            client.create(&maps, &map).await.expect("a creation");
        }
        let listed = client.get(&maps, ObjectForm::Whole).await.expect("a list");
        let from = listed["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
        let watching: Vec<_> =
            (0..WATCHERS).map(|_| tokio::spawn(watch(another(), from.clone(), CHANGES))).collect();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (begin, ticks_before, before) = (Instant::now(), ticks(), megabytes());
        let writing: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(write(another(), writer))).collect();
        for task in writing.into_iter().chain(watching) {
            task.await.expect("all goes well");
        }
        (begin.elapsed(), ticks() - ticks_before, megabytes() - before)
    });
    vec![
        Figure::new(
            "api-changes",
            "10,000 changes with 50 watchers: processor time",
            Unit::Seconds,
            spent / 100.0,
        )
        .at_most(2.0),
        Figure::new("api-changes-time", "    until all have seen all", Unit::Seconds, took.as_secs_f64()),
        Figure::new("api-changes-memory", "    memory grown by", Unit::Megabytes, grown).at_most(8.0),
    ]
}

async fn write(mut client: Api, writer: usize) {
    let path = ApiPath::one(kind("ConfigMap"), &format!("bench-{writer}"));
    for number in 1..=CHANGES / WRITERS {
        let change = serde_json::json!({"data": {"value": number.to_string()}});
        client.patch(&path, PatchType::Merge, &change).await.expect("a change");
    }
}
