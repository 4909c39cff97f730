//! Random bodies and patches: each gets a response, and the session continues.

use http::{Request, header};
use kube::Client;
use lilt_api::kinds::kinds;
use lilt_e2e::seeded_random::SeededRandom;
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

/// Strings with a meaning somewhere in the API.
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

/// Generates a JSON value with such strings.
fn value(random: &mut SeededRandom, depth: usize) -> Value {
    match random.below(if depth == 0 { 8 } else { 11 }) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!(random.below(usize::MAX)),
        3 => json!(-1),
        4 => json!(1e300),
        5 => json!(random.of(&[
            "2026-13-45T99:00:00Z",
            "2026-01-01T00:00:00Z",
            "",
            "\u{0}\u{ffff}",
            "true",
            "-1"
        ])),
        6 => json!("x".repeat(random.below(2000))),
        7 => json!(random.of(&WORDS)),
        8 => (0..random.below(4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let members =
                (0..random.below(6)).map(|_| ((*random.of(&WORDS)).to_owned(), value(random, depth - 1)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

fn steps(random: &mut SeededRandom) -> Value {
    let one = |random: &mut SeededRandom| {
        let op = random.of(&["add", "remove", "replace", "move", "copy", "test", "odd"]);
        json!({"op": op, "path": random.of(&PATHS), "from": random.of(&PATHS), "value": value(random, 2)})
    };
    (0..1 + random.below(4)).map(|_| one(random)).collect()
}

fn body(random: &mut SeededRandom, kind: &str) -> Vec<u8> {
    let mut text = match random.below(8) {
        0 => steps(random).to_string(),
        1 => value(random, 5).to_string(),
        2 => format!("{}1{}", "[".repeat(3000), "]".repeat(3000)),
        3 => "{\"metadata\":".repeat(200),
        _ => {
            let mut object =
                json!({"apiVersion": "tilt.dev/v1alpha1", "kind": kind, "metadata": {"name": "odd"}});
            for _ in 0..1 + random.below(3) {
                object[*random.of(&WORDS)] = value(random, 4);
            }
            if random.below(2) == 0 && object["metadata"].is_object() {
                object["metadata"]["name"] = json!("odd");
            }
            object.to_string()
        }
    }
    .into_bytes();
    if random.below(10) == 0 && !text.is_empty() {
        let index = random.below(text.len());
        text[index] = u8::try_from(random.below(256)).expect("a byte");
    }
    text
}

async fn send(client: &Client, random: &mut SeededRandom) {
    let kinds = kinds().all();
    let kind = &kinds[random.below(kinds.len())];
    let name = random.of(&["odd", "one", "one-disable", "(Tiltfile)", "Tiltfile", "%2e%2e", "none"]);
    let half = random.of(&["", "", "/status"]);
    let query = random.of(&[
        "",
        "?fieldManager=me",
        "?force=true&fieldManager=me",
        "?dryRun=All",
        "?fieldValidation=Strict",
        "?dryRun=x",
    ]);
    let all = format!("/apis/tilt.dev/v1alpha1/{}", kind.plural);
    let (method, path) = match random.below(6) {
        0 | 1 => ("POST", format!("{all}{query}")),
        2 => ("PUT", format!("{all}/{name}{half}{query}")),
        3 => ("DELETE", format!("{all}/{name}{query}")),
        _ => ("PATCH", format!("{all}/{name}{half}{query}")),
    };
    let body = body(random, kind.name);
    let shown =
        format!("{method} {path} {}", String::from_utf8_lossy(&body).chars().take(300).collect::<String>());
    let request =
        Request::builder().method(method).uri(&path).header(header::CONTENT_TYPE, *random.of(&TYPES));
    let answer = client.send(request.body(body.into()).expect("a request")).await;
    let answer = answer.unwrap_or_else(|error| panic!("no answer to {shown}: {error}"));
    assert!(answer.status().as_u16() < 500, "{} to {shown}", answer.status());
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_breaks_nothing() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let client = session.client().await;
    let mut random = SeededRandom::new(7);
    for _ in 0..REQUESTS {
        send(&client, &mut random).await;
    }
    let printed = session.lilt.output();
    assert!(!printed.contains("panicked") && !printed.contains("a bug of ours"), "{printed}");
    session.lilt.quit();
}
