//! Bodies and patches that nobody would write: each gets an answer, and the session goes on.

use http::{Request, header};
use kube::Client;
use lilt_api::kinds::kinds;
use lilt_e2e::chance::Chance;
use serde_json::{Map, Value, json};

use crate::client::Session;

const REQUESTS: u64 = 3000;

const TYPES: [&str; 6] = [
    "application/json",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "text/plain",
];

/// Words that mean something somewhere.
const WORDS: [&str; 28] = [
    "metadata",
    "spec",
    "status",
    "name",
    "labels",
    "annotations",
    "managedFields",
    "ownerReferences",
    "finalizers",
    "uid",
    "resourceVersion",
    "deletionTimestamp",
    "kind",
    "apiVersion",
    "data",
    "args",
    "inputs",
    "text",
    "location",
    "watchedPaths",
    "restartOn",
    "disableSource",
    "readinessProbe",
    "lastClickedAt",
    "$patch",
    "$retainKeys",
    "fieldsV1",
    "generateName",
];

const PATHS: [&str; 9] = [
    "",
    "/",
    "/metadata",
    "/metadata/name",
    "/spec/args/-",
    "/spec/args/999999",
    "/a~2b",
    "/spec//",
    "status",
];

/// Any value, with known words in it.
fn value(chance: &mut Chance, depth: usize) -> Value {
    match chance.below(if depth == 0 { 8 } else { 11 }) {
        0 => Value::Null,
        1 => json!(chance.below(2) == 0),
        2 => json!(chance.below(usize::MAX)),
        3 => json!(-1),
        4 => json!(1e300),
        5 => json!(chance.of(&[
            "2026-13-45T99:00:00Z",
            "2026-01-01T00:00:00Z",
            "",
            "\u{0}\u{ffff}",
            "true",
            "-1"
        ])),
        6 => json!("x".repeat(chance.below(2000))),
        7 => json!(chance.of(&WORDS)),
        8 => (0..chance.below(4)).map(|_| value(chance, depth - 1)).collect(),
        _ => {
            let members =
                (0..chance.below(6)).map(|_| ((*chance.of(&WORDS)).to_owned(), value(chance, depth - 1)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

fn steps(chance: &mut Chance) -> Value {
    let one = |chance: &mut Chance| {
        let op = chance.of(&["add", "remove", "replace", "move", "copy", "test", "odd"]);
        json!({"op": op, "path": chance.of(&PATHS), "from": chance.of(&PATHS), "value": value(chance, 2)})
    };
    (0..1 + chance.below(4)).map(|_| one(chance)).collect()
}

fn body(chance: &mut Chance, kind: &str) -> Vec<u8> {
    let mut text = match chance.below(8) {
        0 => steps(chance).to_string(),
        1 => value(chance, 5).to_string(),
        2 => format!("{}1{}", "[".repeat(3000), "]".repeat(3000)),
        3 => "{\"metadata\":".repeat(200),
        _ => {
            let mut object =
                json!({"apiVersion": "tilt.dev/v1alpha1", "kind": kind, "metadata": {"name": "odd"}});
            for _ in 0..1 + chance.below(3) {
                object[*chance.of(&WORDS)] = value(chance, 4);
            }
            if chance.below(2) == 0 && object["metadata"].is_object() {
                object["metadata"]["name"] = json!("odd");
            }
            object.to_string()
        }
    }
    .into_bytes();
    if chance.below(10) == 0 && !text.is_empty() {
        let place = chance.below(text.len());
        text[place] = u8::try_from(chance.below(256)).expect("a byte");
    }
    text
}

async fn send(client: &Client, chance: &mut Chance) {
    let kinds = kinds().all();
    let kind = &kinds[chance.below(kinds.len())];
    let name = chance.of(&["odd", "one", "one-disable", "(Tiltfile)", "Tiltfile", "%2e%2e", "none"]);
    let half = chance.of(&["", "", "/status"]);
    let query = chance.of(&[
        "",
        "?fieldManager=me",
        "?force=true&fieldManager=me",
        "?dryRun=All",
        "?fieldValidation=Strict",
        "?dryRun=x",
    ]);
    let all = format!("/apis/tilt.dev/v1alpha1/{}", kind.plural);
    let (method, path) = match chance.below(6) {
        0 | 1 => ("POST", format!("{all}{query}")),
        2 => ("PUT", format!("{all}/{name}{half}{query}")),
        3 => ("DELETE", format!("{all}/{name}{query}")),
        _ => ("PATCH", format!("{all}/{name}{half}{query}")),
    };
    let body = body(chance, kind.name);
    let shown =
        format!("{method} {path} {}", String::from_utf8_lossy(&body).chars().take(300).collect::<String>());
    let request =
        Request::builder().method(method).uri(&path).header(header::CONTENT_TYPE, *chance.of(&TYPES));
    let answer = client.send(request.body(body.into()).expect("a request")).await;
    let answer = answer.unwrap_or_else(|error| panic!("no answer to {shown}: {error}"));
    assert!(answer.status().as_u16() < 500, "{} to {shown}", answer.status());
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_breaks_nothing() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let client = session.client().await;
    let mut chance = Chance::new(7);
    for _ in 0..REQUESTS {
        send(&client, &mut chance).await;
    }
    let printed = session.lilt.output();
    assert!(!printed.contains("panicked") && !printed.contains("a bug of ours"), "{printed}");
    session.lilt.quit();
}
