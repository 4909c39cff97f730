//! Verbs of the proxied object API.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::client::Session;

#[test]
fn proxied_api_supports_every_verb() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    session.create("configmaps", "values", json!({"data": {"a": "1"}}));
    let mut watch = TcpStream::connect(("127.0.0.1", session.lilt.port())).expect("it listens");
    let port = session.lilt.port();
    let head = format!(
        "GET /proxy/apis/tilt.dev/v1alpha1/configmaps?watch=1&fieldSelector=metadata.name%3Dvalues HTTP/1.1\r\n\
         Host: localhost:{port}\r\n\r\n"
    );
    watch.write_all(head.as_bytes()).expect("it reads");
    let mut lines = BufReader::new(watch).lines().map_while(Result::ok);
    let mut next = || -> Value {
        let line = lines.by_ref().find(|line| line.starts_with("{\"type\"")).expect("an event");
        serde_json::from_str(&line).expect("JSON")
    };
    assert_eq!(next()["type"], "ADDED");
    session.patch("configmaps/values", &json!({"data": {"b": "2"}}));
    let event = next();
    assert_eq!(
        (&event["type"], &event["object"]["data"]),
        (&json!("MODIFIED"), &json!({"a": "1", "b": "2"}))
    );
    let mut object = session.get("configmaps/values");
    object["data"] = json!({"c": "3"});
    assert_eq!(session.request("PUT", "configmaps/values", &object).0, 200);
    assert_eq!(next()["object"]["data"], json!({"c": "3"}));
    session.delete("configmaps/values");
    assert_eq!(next()["type"], "DELETED");
    drop(lines);
    session.lilt.quit();
}

#[test]
fn owned_objects_are_deleted_unless_orphaned() {
    let session =
        Session::start(&[("Tiltfile", "local_resource('one', 'true')\nlocal_resource('two', 'true')\n")]);
    let owner = |kind: &str, path: &str| {
        let object = session.wait(path, "is there", |it| !it.is_null());
        json!({"apiVersion": "tilt.dev/v1alpha1", "kind": kind, "name": object["metadata"]["name"],
            "uid": object["metadata"]["uid"]})
    };
    let owned = |name: &str, owners: Value| {
        session.create("configmaps", name, json!({"metadata": {"ownerReferences": owners}}))
    };
    owned("of-one", json!([owner("UIResource", "uiresources/one")]));
    owned("of-both", json!([owner("UIResource", "uiresources/one"), owner("UIResource", "uiresources/two")]));
    let mut stranger = owner("UIResource", "uiresources/one");
    stranger["uid"] = json!("nobody");
    owned("of-nobody", json!([stranger]));
    session.wait("configmaps/of-nobody", "goes, since its owner is not there", Value::is_null);
    session.project.write("Tiltfile", "local_resource('two', 'true')\n");
    session.wait("configmaps/of-one", "goes with its owner", Value::is_null);
    let left = session.get("configmaps/of-both")["metadata"]["ownerReferences"].clone();
    assert_eq!(left.as_array().map(Vec::len), Some(1), "{left}");
    for (policy, stays) in [("Orphan", true), ("Background", false), ("Foreground", false)] {
        session.create("configmaps", "owner", json!({}));
        owned("child", json!([owner("ConfigMap", "configmaps/owner")]));
        let options = json!({"propagationPolicy": policy});
        assert_eq!(session.request("DELETE", "configmaps/owner", &options).0, 200);
        assert_eq!(session.get("configmaps/child").is_null(), !stays, "{policy}");
        session.request("DELETE", "configmaps/child", &Value::Null);
    }
    session.lilt.quit();
}
