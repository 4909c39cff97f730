//! Objects of the API: what clients may write, and what follows from it.

use super::*;

fn command(argument: &str) -> Value {
    json!({"metadata": {"name": "c"}, "spec": {"args": ["echo", argument]}})
}

#[tokio::test(start_paused = true)]
async fn created_object_is_answered_when_it_is_visible_and_starts_its_task() {
    let mut fixture = Fixture::loaded(Mode::Up, project(Vec::new())).await;
    let created =
        fixture.write(Key::new(ObjectKind::Cmd, "c"), Action::Create { object: command("one") }).await;
    let created: Value = serde_json::from_str(created.expect("it is created").text()).unwrap();
    assert_eq!(fixture.get(ObjectKind::Cmd, "c"), Some(created));
    let (running, argv) = loop {
        let task = fixture.next_started().await;
        if let Task::Command { command, .. } = &task.task {
            let argv = command.argv.clone();
            break (task, argv);
        }
    };
    assert_eq!(argv, ["echo", "one"]);
    let again =
        fixture.write(Key::new(ObjectKind::Cmd, "c"), Action::Create { object: command("two") }).await;
    assert_eq!(again.map(drop), Err(Refusal::Exists));
    // A deletion ends the task, and is answered with the last state.
    let version = fixture.version(ObjectKind::Cmd, "c");
    let delete = Action::Delete { version, keep_owned: false };
    assert!(fixture.write(Key::new(ObjectKind::Cmd, "c"), delete).await.is_ok());
    assert!(running.is_cancelled() && fixture.get(ObjectKind::Cmd, "c").is_none());
    fixture.stop().await;
}

#[tokio::test(start_paused = true)]
async fn write_of_an_outdated_version_is_a_conflict() {
    let fixture = Fixture::loaded(Mode::Up, project(Vec::new())).await;
    let key = || Key::new(ObjectKind::Cmd, "c");
    fixture.write(key(), Action::Create { object: command("one") }).await.expect("it is created");
    let version = fixture.version(ObjectKind::Cmd, "c");
    let replace = Action::Replace { version: version + 1, object: command("two") };
    assert_eq!(fixture.write(key(), replace).await.map(drop), Err(Refusal::Conflict));
    let replace = Action::Replace { version, object: command("two") };
    fixture.write(key(), replace).await.expect("it is replaced");
    assert_eq!(fixture.get(ObjectKind::Cmd, "c").unwrap()["spec"]["args"][1], "two");
    let missing = Action::Delete { version, keep_owned: false };
    assert_eq!(fixture.write(Key::new(ObjectKind::Cmd, "d"), missing).await.map(drop), Err(Refusal::Missing));
    fixture.stop().await;
}

#[tokio::test(start_paused = true)]
async fn managed_objects_take_labels_and_nothing_else() {
    let mut fixture = Fixture::loaded(Mode::Up, project(vec![local("web")])).await;
    fixture.next_update().await;
    idle().await;
    let key = || Key::new(ObjectKind::UIResource, "web");
    let mut object = fixture.get(ObjectKind::UIResource, "web").expect("it exists");
    object["metadata"]["labels"]["team"] = "a".into();
    let replace = |fixture: &Fixture, object: &Value| {
        let version = fixture.version(ObjectKind::UIResource, "web");
        Action::Replace { version, object: object.clone() }
    };
    let write = replace(&fixture, &object);
    fixture.write(key(), write).await.expect("labels may be written");
    let labels =
        |fixture: &Fixture| fixture.get(ObjectKind::UIResource, "web").unwrap()["metadata"]["labels"].clone();
    assert_eq!(labels(&fixture)["team"], "a");
    object["status"]["order"] = 99.into();
    let write = replace(&fixture, &object);
    assert!(matches!(fixture.write(key(), write).await, Err(Refusal::Forbidden(_))));
    let delete =
        Action::Delete { version: fixture.version(ObjectKind::UIResource, "web"), keep_owned: false };
    assert!(matches!(fixture.write(key(), delete).await, Err(Refusal::Forbidden(_))));
    let other = json!({"metadata": {"name": "other"}});
    let create =
        fixture.write(Key::new(ObjectKind::UIResource, "other"), Action::Create { object: other }).await;
    assert!(matches!(create, Err(Refusal::Forbidden(_))));
    fixture.stop().await;
}

#[tokio::test(start_paused = true)]
async fn switch_of_a_resource_disables_it() {
    let mut fixture = Fixture::loaded(Mode::Up, project(vec![local("web")])).await;
    let update = fixture.next_update().await;
    idle().await;
    let mut switch = fixture.get(ObjectKind::ConfigMap, "web-disable").expect("it exists");
    switch["data"]["isDisabled"] = "true".into();
    let version = fixture.version(ObjectKind::ConfigMap, "web-disable");
    let replace = Action::Replace { version, object: switch };
    fixture.write(Key::new(ObjectKind::ConfigMap, "web-disable"), replace).await.expect("it may be switched");
    assert!(update.is_cancelled(), "its update ends");
    let switch = fixture.get(ObjectKind::ConfigMap, "web-disable").expect("it exists");
    assert_eq!(switch["data"]["isDisabled"], "true");
    fixture.stop().await;
}

#[tokio::test(start_paused = true)]
async fn readers_can_query_the_engine_while_the_session_runs() {
    let fixture = Fixture::loaded(Mode::Up, project(vec![local("web")])).await;
    let state = fixture.reader.engine_state().await.expect("the loop answers");
    assert!(state.to_string().contains("web"), "{state}");
    let reader = fixture.reader.clone();
    fixture.stop().await;
    assert_eq!(reader.engine_state().await, None);
}
