//! Reading single objects and lists.

use lilt_api::ObjectKind;
use lilt_model::Timestamp;
use lilt_store::{Draft, Key, Snapshot};
use serde_json::{Value, json};

use super::{command, command_key, delete, put, resource, resource_key, store};

fn names(objects: &[Snapshot]) -> Vec<&str> {
    objects.iter().map(|object| &*object.key.name).collect()
}

#[test]
fn objects_are_complete_and_versions_increase() {
    let (mut writer, reader) = store();
    let at = Timestamp(1_500_000);
    writer.put(command("a", "1"));
    writer.put(command("b", "1"));
    writer.commit(at);
    writer.put(command("a", "1"));
    writer.commit(at);
    assert_eq!(reader.revision(), 2, "what stays the same is no change");
    writer.put(command("a", "2"));
    writer.commit(Timestamp(9_000_000));
    let object = reader.get(&command_key("a")).expect("it exists");
    assert_eq!(
        &**object.text(),
        "{\"apiVersion\":\"tilt.dev/v1alpha1\",\"kind\":\"Cmd\",\"metadata\":{\"creationTimestamp\":\"1970-01-01T00:00:01Z\",\
         \"resourceVersion\":\"3\",\"uid\":\"uid-a\",\"name\":\"a\"},\"spec\":\"2\"}"
    );
    put(&mut writer, [Draft::new(command_key("c"), Some("u"), "{\"name\":\"c\"}", "{}")]);
    assert!(reader.get(&command_key("c")).expect("it exists").text().ends_with("\"name\":\"c\"}}"));
}

#[test]
fn typed_object_is_written_with_what_the_store_adds() {
    let (mut writer, reader) = store();
    put(&mut writer, [command("main", ""), resource("web", 3).owned_by(Some(command_key("main")))]);
    let object = reader.get(&resource_key("web")).expect("it exists");
    let text: Value = serde_json::from_str(object.text()).expect("JSON");
    assert_eq!(text["kind"], "UIResource");
    assert_eq!(text["metadata"]["resourceVersion"], "2");
    assert_eq!(text["metadata"]["uid"], json!(&*object.uid()));
    assert_eq!(text["metadata"]["ownerReferences"][0]["uid"], "uid-main");
    assert_eq!((&text["spec"], &text["status"]["order"]), (&json!({}), &json!(3)));
    let typed = reader.resource("web").expect("the same object");
    assert_eq!(serde_json::to_value(&typed.status).expect("JSON"), text["status"]);
}

#[test]
fn managed_fields_are_for_readers_of_text_only() {
    let (mut writer, reader) = store();
    put(&mut writer, [resource("web", 1)]);
    let object = reader.resource("web").expect("it exists");
    put(&mut writer, [Draft::resource(object.clone(), Some(json!([{"manager": "me"}])))]);
    assert_eq!(reader.revision(), 2);
    assert!(reader.get(&resource_key("web")).expect("it exists").text().contains("\"manager\":\"me\""));
    assert_eq!(reader.resource("web"), Some(object));
}

#[test]
fn session_is_joined_from_its_fragments() {
    let (mut writer, reader) = store();
    let key = Key::new(ObjectKind::Session, "Tiltfile");
    let rest = "{\"status\":{\"targets\":[1]}}";
    put(&mut writer, [Draft::new(key.clone(), Some("u"), "{\"name\":\"Tiltfile\"}", rest)]);
    writer.put_fragment("b".into(), Some("3,4".into()));
    writer.put_fragment("a".into(), Some("2".into()));
    writer.commit(Timestamp::ZERO);
    let session = reader.get(&key).expect("it exists");
    assert!(session.text().ends_with("{\"targets\":[1,2,3,4]}}"), "{}", session.text());
    let (version, events) = reader.events_since(ObjectKind::Session, 1).expect("all is remembered");
    assert_eq!((version, events.len(), events[0].object.version), (3, 1, 3));
    writer.put_fragment("b".into(), None);
    writer.put_fragment("a".into(), Some("2".into()));
    writer.commit(Timestamp::ZERO);
    assert!(reader.get(&key).expect("it exists").text().ends_with("[1,2]}}"));
    assert!(reader.events_since(ObjectKind::Session, 4).expect("nothing since").1.is_empty());
}

#[test]
fn object_names_its_owner_while_that_exists() {
    let (mut writer, reader) = store();
    let owned = || command("b", "").owned_by(Some(command_key("a")));
    let names_owner = || {
        reader.get(&command_key("b")).expect("it exists").text().contains(
            "\"uid\":\"uid-b\",\"ownerReferences\":[{\"apiVersion\":\"tilt.dev/v1alpha1\",\"kind\":\"Cmd\",\
             \"name\":\"a\",\"uid\":\"uid-a\",\"controller\":true,\"blockOwnerDeletion\":true}],\"name\":\"b\"",
        )
    };
    put(&mut writer, [owned()]);
    assert!(!names_owner());
    put(&mut writer, [command("a", ""), owned()]);
    assert!(names_owner());
    delete(&mut writer, command_key("a"));
    assert!(!names_owner());
}

#[test]
fn templated_objects_keep_their_texts() {
    let (mut writer, reader) = store();
    let button = |of: &str, is_on: bool| {
        let (name, rest) = (format!("toggle-{of}"), format!("{{\"spec\":\"{of}: {is_on}\"}}"));
        let metadata = format!("{{\"name\":\"{name}\"}}");
        Draft::new(Key::new(ObjectKind::UIButton, &name), None, &metadata, &rest).alike_but_for(of)
    };
    let text = |of: &str| {
        let found = reader.get(&Key::new(ObjectKind::UIButton, &format!("toggle-{of}"))).expect("it exists");
        serde_json::from_str::<Value>(found.text()).expect("JSON")["spec"].clone()
    };
    put(&mut writer, [button("web", true), button("api", true)]);
    put(&mut writer, [button("web", true), button("api", false)]);
    assert_eq!(reader.revision(), 3, "one changed");
    assert_eq!((text("web"), text("api")), (json!("web: true"), json!("api: false")));
}

#[test]
fn lists_come_in_pages_of_one_kind() {
    let (mut writer, reader) = store();
    put(&mut writer, [command("a", ""), command("b", ""), command("c", "")]);
    put(&mut writer, [Draft::new(Key::new(ObjectKind::ConfigMap, "x"), Some("u"), "{\"name\":\"x\"}", "{}")]);
    let (version, page) = reader.list(ObjectKind::Cmd, None, 2);
    assert_eq!((version, names(&page)), (4, vec!["a", "b"]));
    assert_eq!(names(&reader.list(ObjectKind::Cmd, Some("b"), 2).1), ["c"]);
    assert_eq!(
        (
            reader.count(ObjectKind::Cmd),
            reader.count(ObjectKind::ConfigMap),
            reader.count(ObjectKind::UIButton)
        ),
        (3, 1, 0)
    );
}
