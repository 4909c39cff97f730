//! Snapshots of the drawn model.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use lilt_api::{
    DisableResourceStatus, ObjectMeta, RuntimeStatus, UIBuildRunning, UIBuildTerminated, UIResource,
    UIResourceKubernetes, UIResourceLink, UIResourceLocal, UIResourceStatus, UISession, UISessionStatus,
    UnreachableService, UpdateStatus, annotation,
};
use lilt_client::sign_in::CurrentKeys;
use lilt_model::auth::AuthKeys;
use lilt_model::log::{Level, Line, Source};
use lilt_model::request::{Request, TriggerReason};
use lilt_model::resource::TriggerMode;
use lilt_model::{ResourceName, SpanId, Timestamp};
use lilt_store::Changes;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::draw::draw;
use super::keys_for;
use super::model::{Effect, Input, Model};
use super::window::{LogRequest, Page};

#[test]
fn only_the_dashboard_gets_a_code() {
    let keys = Arc::new(AuthKeys::new("token".into()));
    let keys = CurrentKeys::new(move || Arc::clone(&keys));
    let page = Some("http://localhost:10350/");
    let is_signed_in = |address: &str, page: Option<&str>| keys_for(address, page, Some(&keys)).is_some();
    assert!(is_signed_in("http://localhost:10350/", page));
    assert!(is_signed_in("http://localhost:10350/r/web/overview", page));
    for endpoint in
        ["http://localhost:8080/", "http://localhost:103500/", "https://localhost:10350/", "http://evil/"]
    {
        assert!(!is_signed_in(endpoint, page), "{endpoint}");
    }
    assert!(!is_signed_in("http://localhost:10350/", None));
    assert!(keys_for("http://localhost:10350/", page, None).is_none());
}

struct TestScreen {
    model: Model,
    lines: Vec<Line>,
}

impl TestScreen {
    fn new(columns: u16, rows: u16) -> TestScreen {
        let mut model = Model::new(Some("http://localhost:10350/".into()), false);
        model.update(Input::Resized(columns, rows));
        model.update(Input::Time(Timestamp(60_000_000)));
        TestScreen { model, lines: Vec::new() }
    }

    /// A project with resources of every kind and status.
    fn shop(columns: u16, rows: u16) -> TestScreen {
        let mut screen = TestScreen::new(columns, rows);
        screen.put(shop());
        screen.log(None, Level::Info, "Loading Tiltfile at: /shop/Tiltfile");
        for number in 1..=30 {
            screen.log(Some("api"), Level::Info, &format!("\x1b[32mGET\x1b[0m /items/{number} 200"));
        }
        screen.log(Some("web"), Level::Warn, "a peer dependency is missing");
        screen.log(Some("api"), Level::Error, "ERROR: Build Failed: exit code 1");
        screen
    }

    fn put(&mut self, resources: Vec<UIResource>) {
        self.put_with(resources, &[]);
    }

    /// Also sets the unreachable services.
    fn put_with(&mut self, resources: Vec<UIResource>, unreachable: &[UnreachableService]) {
        let mut metadata = ObjectMeta::default();
        if !unreachable.is_empty() {
            let list = serde_json::json!(unreachable).to_string();
            metadata.annotations.insert(annotation::UNREACHABLE.to_owned(), list);
        }
        let session = UISession::new(
            metadata,
            UISessionStatus { tiltfile_key: "/home/me/shop/Tiltfile".into(), ..Default::default() },
        );
        self.model.update(Input::State(Changes {
            revision: 1,
            complete: true,
            resources: resources.into_iter().map(Arc::new).collect(),
            removed: Vec::new(),
            session: Some(Arc::new(session)),
        }));
        self.read();
    }

    fn log(&mut self, resource: Option<&str>, level: Level, text: &str) {
        let seq = self.lines.len() as u64;
        self.lines.push(Line {
            seq,
            time: Timestamp(0),
            resource: resource.map(ResourceName::new),
            span: SpanId::new("span"),
            source: Source::Build,
            level,
            text: text.into(),
            continues: false,
            open: false,
            headline: false,
        });
        self.model.update(Input::Grown(seq + 1));
        self.read();
    }

    fn read(&mut self) {
        while let Some(want) = self.model.next_request() {
            let (range, reached) = match want {
                LogRequest::Older { before } => (0..before, 0),
                LogRequest::Newer { from } => (from..self.lines.len() as u64, self.lines.len() as u64),
            };
            let scope = self.model.scope();
            let lines = self.lines.iter().filter(|line| range.contains(&line.seq) && scope.matches(line));
            let page = Page { want, lines: lines.cloned().collect(), reached };
            self.model.update(Input::Lines(page));
        }
    }

    fn press(&mut self, key: KeyCode) -> Option<Effect> {
        let effect = self.model.update(Input::Key(KeyEvent::new(key, KeyModifiers::NONE)));
        self.read();
        effect
    }

    fn types(&mut self, keys: &str) -> Option<Effect> {
        keys.chars()
            .map(|key| self.press(if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) }))
            .last()?
    }

    fn rendered(&self) -> String {
        let areas = self.model.areas();
        let all = [areas.header, areas.banner, areas.list, areas.details, areas.log, areas.footer];
        let columns = all.iter().map(|area| area.right()).max().unwrap_or(0);
        let rows = all.iter().map(|area| area.bottom()).max().unwrap_or(0);
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| draw(&self.model, frame)).unwrap();
        terminal.backend().to_string()
    }

    fn selected(&self) -> &str {
        self.model.list.selected().unwrap().as_str()
    }
}

fn resource(name: &str, order: i32, update: UpdateStatus, runtime: RuntimeStatus) -> UIResource {
    let status = UIResourceStatus {
        order,
        update_status: update,
        runtime_status: runtime,
        local_resource_info: Some(UIResourceLocal::default()),
        ..UIResourceStatus::default()
    };
    UIResource::new(ObjectMeta { name: name.into(), ..ObjectMeta::default() }, status)
}

fn labelled(mut resource: UIResource, labels: &[&str], notes: &[(&str, &str)]) -> UIResource {
    let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let labels: Vec<(&str, &str)> = labels.iter().map(|label| (*label, *label)).collect();
    resource.metadata.labels = pairs(&labels);
    resource.metadata.annotations = pairs(notes);
    resource
}

fn ended(error: &str) -> Vec<UIBuildTerminated> {
    let times = (Some(Timestamp(1_000_000)), Some(Timestamp(2_640_000)));
    vec![UIBuildTerminated {
        error: error.into(),
        start_time: times.0,
        finish_time: times.1,
        ..Default::default()
    }]
}

fn shop() -> Vec<UIResource> {
    let mut tiltfile = resource("(Tiltfile)", 0, UpdateStatus::Ok, RuntimeStatus::NotApplicable);
    tiltfile.status.local_resource_info = None;
    let mut api = labelled(
        resource("api", 1, UpdateStatus::Error, RuntimeStatus::Ok),
        &["backend"],
        &[(annotation::CAUSE, "2 Files Changed: [api/main.go api/go.mod]")],
    );
    api.status.build_history = ended("exit code 1: go build ./...\nmain.go:12:3: undefined: items");
    api.status.endpoint_links = vec![
        UIResourceLink { url: "http://localhost:8080/".into(), name: String::new() },
        UIResourceLink { url: "http://localhost:8081/debug".into(), name: "debug".into() },
    ];
    api.status.local_resource_info = None;
    api.status.k8s_resource_info = Some(UIResourceKubernetes {
        pod_name: "api-5f7c9d-x2x4".into(),
        pod_status: "Running".into(),
        pod_restarts: 2,
        ..Default::default()
    });
    let mut web = labelled(
        resource("web", 2, UpdateStatus::InProgress, RuntimeStatus::Pending),
        &["frontend"],
        &[(annotation::CAUSE, "1 File Changed: [web/index.html]")],
    );
    web.status.current_build =
        Some(UIBuildRunning { start_time: Some(Timestamp(48_000_000)), span_id: String::new() });
    let waiting = labelled(
        resource("migrations", 3, UpdateStatus::Pending, RuntimeStatus::None),
        &["backend"],
        &[(annotation::HOLD, "waiting for db (starting: pod pending, image pull)")],
    );
    let mut off = resource("search", 4, UpdateStatus::None, RuntimeStatus::None);
    off.status.disable_status =
        Some(DisableResourceStatus { disabled_count: 1, state: "Disabled".into(), ..Default::default() });
    let mut manual = labelled(
        resource("seed", 5, UpdateStatus::None, RuntimeStatus::NotApplicable),
        &[],
        &[(annotation::HOLD, "waiting for a trigger")],
    );
    manual.status.trigger_mode = 2;
    vec![tiltfile, api, web, waiting, off, manual]
}

#[test]
fn small_terminal() {
    let mut screen = TestScreen::shop(80, 24);
    screen.press(KeyCode::Down);
    insta::assert_snapshot!(screen.rendered());
}

#[test]
fn large_terminal() {
    let mut screen = TestScreen::shop(120, 40);
    screen.types("jl");
    insta::assert_snapshot!(screen.rendered());
}

#[test]
fn help_overlay() {
    let mut screen = TestScreen::shop(80, 24);
    screen.types("?");
    insta::assert_snapshot!(screen.rendered());
}

#[test]
fn typing_filter() {
    let mut screen = TestScreen::shop(80, 24);
    screen.types("/back");
    insta::assert_snapshot!(screen.rendered());
    // A group whose label matches keeps all resources; others that do not match are hidden.
    assert_eq!(screen.selected(), "api");
    screen.types("zzz\n");
    assert!(screen.rendered().contains("Nothing matches the filter."));
    screen.press(KeyCode::Esc);
    assert!(screen.rendered().contains("(Tiltfile)"));
}

#[test]
fn failed_tiltfile() {
    let mut screen = TestScreen::new(80, 24);
    assert!(screen.rendered().contains("Waiting for the Tiltfile"));
    let mut tiltfile = resource("(Tiltfile)", 0, UpdateStatus::Error, RuntimeStatus::NotApplicable);
    tiltfile.status.build_history =
        ended("Tiltfile:3:1: no such file: app.yaml\nk8s_yaml('app.yaml')\nhint: paths are relative");
    screen.put(vec![tiltfile]);
    screen.log(Some("(Tiltfile)"), Level::Error, "Tiltfile:3:1: no such file: app.yaml");
    insta::assert_snapshot!(screen.rendered());
}

/// Returns the row below the header.
fn banner_row(screen: &TestScreen) -> String {
    screen.rendered().lines().nth(1).unwrap().trim_matches('"').trim_end().to_owned()
}

#[test]
fn banner_at_80_columns_shows_the_unreachable_cluster_and_the_key() {
    let cluster = UnreachableService {
        title: "Cluster kind-dev is unreachable".into(),
        message: "cannot reach the cluster kind-dev at https://127.0.0.1:9: Connection refused".into(),
        server: Some("https://127.0.0.1:9".into()),
        hint: Some("is the cluster running?".into()),
        since: Timestamp(0),
    };
    let mut screen = TestScreen::shop(80, 24);
    assert_eq!(screen.types("R"), None);
    assert!(screen.rendered().contains("nothing is unreachable"));
    screen.put_with(shop(), std::slice::from_ref(&cluster));
    insta::assert_snapshot!(screen.rendered());
    assert_eq!(screen.types("R"), Some(Effect::Ask(Request::Reconnect)));
    let registry =
        UnreachableService { title: "The registry localhost:5000 is unreachable".into(), ..cluster.clone() };
    screen.put_with(shop(), &[cluster, registry]);
    assert!(banner_row(&screen).starts_with(" ✗ (and 1 more) Cluster kind-dev is unreachable: "));
    screen.put(shop());
    assert!(!banner_row(&screen).contains("unreachable"), "{}", banner_row(&screen));
}

#[test]
fn failed_reload_of_the_tiltfile_is_a_banner_until_it_loads() {
    let mut resources = shop();
    resources[0].status.update_status = UpdateStatus::Error;
    resources[0].status.build_history = ended("Tiltfile:3:1: no such file: app.yaml\nk8s_yaml('app.yaml')");
    let mut screen = TestScreen::shop(80, 24);
    screen.put(resources.clone());
    let banner = banner_row(&screen);
    let words = " ✗ The Tiltfile has an error: Tiltfile:3:1: no such file: app.yaml";
    assert!(banner.starts_with(words) && banner.ends_with("e errors"), "{banner}");
    assert!(screen.rendered().contains("2 failing"), "{}", screen.rendered());
    // The banner stays until the next load ends.
    resources[0].status.update_status = UpdateStatus::InProgress;
    screen.put(resources);
    assert!(banner_row(&screen).starts_with(words));
    screen.put(shop());
    assert!(!banner_row(&screen).contains("error"));
}

#[test]
fn long_and_wide_names() {
    let mut screen = TestScreen::new(80, 24);
    let name = |number: i32| match number % 3 {
        0 => format!("a-resource-with-a-very-long-name-indeed-{number}"),
        1 => format!("日本語の名前のリソース-{number}-とても長い"),
        _ => format!("e\u{301}te\u{301}-{number}"),
    };
    let many = (0..1000).map(|number| resource(&name(number), number, UpdateStatus::Ok, RuntimeStatus::Ok));
    screen.put(many.collect());
    screen.types("jjj");
    insta::assert_snapshot!(screen.rendered());
    screen.press(KeyCode::End);
    assert_eq!(screen.selected(), "a-resource-with-a-very-long-name-indeed-999");
    assert!(screen.rendered().contains("999"), "the chosen one is in sight");
    screen.press(KeyCode::Home);
    assert!(screen.rendered().contains("resources (1000)"));
}

#[test]
fn every_size_is_drawn_without_panic() {
    let mut screen = TestScreen::shop(80, 24);
    for (columns, rows) in (0..14).flat_map(|rows| [(0, rows), (1, rows), (9, rows), (33, rows)]) {
        screen.model.update(Input::Resized(columns, rows));
        for keys in ["j", "\t", "l", "z", "/a", "\n", "?", "x", "G", "k"] {
            screen.types(keys);
            screen.press(KeyCode::PageUp);
            let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
            terminal.draw(|frame| draw(&screen.model, frame)).unwrap();
        }
        screen.press(KeyCode::Esc);
    }
    // The screen may be smaller than the model assumes.
    screen.model.update(Input::Resized(200, 60));
    let mut terminal = Terminal::new(TestBackend::new(3, 2)).unwrap();
    terminal.draw(|frame| draw(&screen.model, frame)).unwrap();
}

#[test]
fn keys_return_the_actions_of_the_page() {
    let mut screen = TestScreen::shop(80, 24);
    let api = ResourceName::new("api");
    screen.types("j");
    assert_eq!(screen.selected(), "api");
    assert_eq!(
        screen.types("r"),
        Some(Effect::Ask(Request::Trigger { resource: api.clone(), reason: TriggerReason::TERMINAL }))
    );
    assert_eq!(
        screen.types("\n"),
        Some(Effect::Ask(Request::Trigger { resource: api.clone(), reason: TriggerReason::TERMINAL }))
    );
    let disable = Request::Switch { enable: Vec::new(), disable: vec![api.clone()] };
    assert_eq!(screen.types("d"), Some(Effect::Ask(disable)));
    let manual = Request::SetTriggerMode { resources: vec![api], mode: TriggerMode::Manual };
    assert_eq!(screen.types("m"), Some(Effect::Ask(manual)));
    assert_eq!(screen.types("b"), Some(Effect::Open("http://localhost:8080/".into())));
    assert_eq!(screen.types("o"), Some(Effect::Open("http://localhost:10350/r/api/overview".into())));
    assert_eq!(screen.types("y"), Some(Effect::Copy("the pod's name", "api-5f7c9d-x2x4".into())));
    assert_eq!(screen.types("c"), None);
    assert!(screen.rendered().contains("api is not updating"));

    let web = ResourceName::new("web");
    screen.types("/web\n");
    assert_eq!(screen.types("c"), Some(Effect::Ask(Request::Cancel { resource: web })));
    screen.press(KeyCode::Esc);

    let search = ResourceName::new("search");
    screen.types("/search\n");
    assert_eq!(screen.types("r"), None, "it is disabled");
    let enable = Request::Switch { enable: vec![search], disable: Vec::new() };
    assert_eq!(screen.types("d"), Some(Effect::Ask(enable)));
    screen.press(KeyCode::Esc);

    screen.types("/seed\n");
    let seed =
        Request::SetTriggerMode { resources: vec![ResourceName::new("seed")], mode: TriggerMode::Auto };
    assert_eq!(screen.types("m"), Some(Effect::Ask(seed)));
    screen.press(KeyCode::Esc);

    screen.types("e");
    assert_eq!(screen.selected(), "api");
    assert_eq!(screen.types("qn"), None);
    assert_eq!(screen.types("qy"), Some(Effect::Quit));
}

#[test]
fn endpoint_with_other_scheme_is_not_opened() {
    let mut screen = TestScreen::new(80, 24);
    let mut it = resource("it", 0, UpdateStatus::Ok, RuntimeStatus::Ok);
    it.status.endpoint_links = vec![UIResourceLink { url: "file:///etc/passwd".into(), name: String::new() }];
    screen.put(vec![it]);
    assert_eq!(screen.types("b"), None);
    assert!(screen.rendered().contains("it has no endpoint"));
}

#[test]
fn selected_resource_stays_selected() {
    let mut screen = TestScreen::shop(80, 24);
    screen.types("/seed\n");
    screen.press(KeyCode::Esc);
    assert_eq!(screen.selected(), "seed");
    let mut fewer = shop();
    fewer.remove(1);
    screen.put(fewer);
    assert_eq!(screen.selected(), "seed");
    let none = shop().into_iter().filter(|it| it.metadata.name != "seed").collect();
    screen.put(none);
    assert_eq!(screen.selected(), "search", "the nearest one");
}
