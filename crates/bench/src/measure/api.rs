//! The object API: one command, a long list, and many who watch while everything changes.

use std::path::Path;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Client, Config};
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
const PATIENCE: Duration = Duration::from_secs(60);
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
    let client = runtime.block_on(connect(&session, &config));
    let port = session.port.to_string();
    let arguments = ["get", "uiresource", "r500", "--port", &port];
    let gets = Samples::collect(effort.samples(50), |_| {
        milliseconds(lilt.run_with(project.path(), &arguments, variables))
    });
    let lists = Samples::collect(effort.samples(50), |_| milliseconds(runtime.block_on(list(&client))));
    let mut figures = vec![
        Figure::new("api-get", "lilt get uiresource NAME, start to exit", Unit::Milliseconds, gets)
            .at_most(15.0),
        Figure::new("api-list", "list of 1,000 UIResources", Unit::Milliseconds, lists).at_most(10.0),
    ];
    figures.extend(changes(&runtime, &client, &session));
    figures
}

/// Waits until all is loaded.
async fn connect(session: &Session, config: &Path) -> Client {
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < PATIENCE, "the session does not load");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let Ok(file) = Kubeconfig::read_from(config) else { continue };
        let context = Some(format!("tilt-{}", session.port));
        let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
        let Ok(config) = Config::from_custom_kubeconfig(file, &options).await else { continue };
        let Ok(client) = Client::try_from(config) else { continue };
        let found = api(&client, "UIResource", "uiresources").list_metadata(&ListParams::default()).await;
        if found.is_ok_and(|found| found.items.len() > RESOURCES) {
            return client;
        }
    }
}

fn api(client: &Client, kind: &str, plural: &str) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("tilt.dev", "v1alpha1", kind);
    Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&gvk, plural))
}

fn get(path: &str) -> http::Request<kube::client::Body> {
    http::Request::get(format!("{BASE}{path}")).body(kube::client::Body::empty()).expect("a request")
}

async fn list(client: &Client) -> Duration {
    let begin = Instant::now();
    let answer = client.send(get("/uiresources")).await.expect("an answer");
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    assert!(body.len() > RESOURCES * 100, "a long list");
    begin.elapsed()
}

/// Reads until so many changes were told.
async fn watch(client: Client, from: String, wanted: usize) {
    let path = format!("/configmaps?watch=true&resourceVersion={from}");
    let answer = client.send(get(&path)).await.expect("an answer");
    let mut body = answer.into_body();
    let mut seen = 0;
    while seen < wanted {
        let frame = body.frame().await.expect("the watch goes on").expect("a piece");
        seen += frame.data_ref().map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
    }
}

fn changes(runtime: &tokio::runtime::Runtime, client: &Client, session: &Session) -> Vec<Figure> {
    let maps = api(client, "ConfigMap", "configmaps");
    let ticks = || memory::ticks(session.pid()).expect("the session runs") as f64;
    let megabytes = || memory::megabytes(session.pid(), "status", "RssAnon").expect("the session runs");
    let (took, spent, grown) = runtime.block_on(async {
        for writer in 0..WRITERS {
            let map = serde_json::json!({
                "apiVersion": "tilt.dev/v1alpha1", "kind": "ConfigMap", "data": {"value": "0"},
                "metadata": {"name": format!("bench-{writer}"), "labels": {"bench": "1"}},
            });
            let map: DynamicObject = serde_json::from_value(map).expect("an object");
            maps.create(&PostParams::default(), &map).await.expect("a creation");
        }
        let listed = maps.list_metadata(&ListParams::default()).await.expect("a list");
        let from = listed.metadata.resource_version.expect("a version");
        let watching: Vec<_> =
            (0..WATCHERS).map(|_| tokio::spawn(watch(client.clone(), from.clone(), CHANGES))).collect();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (begin, ticks_before, before) = (Instant::now(), ticks(), megabytes());
        let writing: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(write(maps.clone(), writer))).collect();
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

async fn write(maps: Api<DynamicObject>, writer: usize) {
    for number in 1..=CHANGES / WRITERS {
        let change = serde_json::json!({"data": {"value": number.to_string()}});
        let name = format!("bench-{writer}");
        maps.patch(&name, &PatchParams::default(), &Patch::Merge(&change)).await.expect("a change");
    }
}
