//! Calls the object API with arbitrary requests, for fuzzing. Panics if an invariant is violated.

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, header};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use lilt_api::check::check;
use lilt_api::kinds::{Kind, kinds};
use lilt_model::Timestamp;
use lilt_store::{Draft, Key, LogWriter};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::api::{Api, router};

/// Methods, paths and content types of the requests. Nothing is written: the session would decide that.
const REQUESTS: [(&str, &str, &str); 11] = [
    ("POST", "", "application/json"),
    ("PUT", "/known", "application/json"),
    ("PUT", "/known/status", "application/json"),
    ("PATCH", "/known", "application/json-patch+json"),
    ("PATCH", "/known", "application/merge-patch+json"),
    ("PATCH", "/known", "application/strategic-merge-patch+json"),
    ("PATCH", "/known", "application/apply-patch+yaml"),
    ("PATCH", "/known/status", "application/merge-patch+json"),
    ("PATCH", "/new", "application/apply-patch+yaml"),
    ("DELETE", "/known", "application/json"),
    ("GET", "", "application/json"),
];

/// Sends the request that `bytes` describe. Returns the object that would be written, if any.
///
/// The first two bytes select the request and the kind. A line with the query and the body follow.
///
/// # Panics
/// If the API fails internally, or accepts an object that it would not serve.
pub fn api(bytes: &[u8]) -> Option<(&'static Kind, Value)> {
    let [kind, asked, rest @ ..] = bytes else { return None };
    let kind = &kinds().all()[usize::from(*kind) % kinds().all().len()];
    let (method, path, form) = REQUESTS[usize::from(*asked) % REQUESTS.len()];
    let (query, body) = match rest.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&rest[..end], &rest[end + 1..]),
        None => (&[][..], rest),
    };
    let query = std::str::from_utf8(query).ok()?;
    let address =
        format!("/apis/tilt.dev/v1alpha1/{}{path}?dryRun=All&fieldManager=fuzz&{query}", kind.plural);
    let request = Request::builder()
        .method(method)
        .uri(address)
        .header(header::CONTENT_TYPE, form)
        .body(Body::from(body.to_vec()))
        // Not a valid URL.
        .ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("invariant: a runtime without threads and sockets can be made");
    let (code, text) = runtime.block_on(respond(kind, request));
    assert!(code < 500, "{code} {}", String::from_utf8_lossy(&text));
    let written = (200..300).contains(&code) && method != Method::GET && method != Method::DELETE;
    let object: Value = serde_json::from_slice(&text).unwrap_or_default();
    if !written {
        return None;
    }
    let violations = check(kind, &object);
    assert!(violations.is_empty(), "{object}: {violations:?}");
    Some((kind, object))
}

/// Returns the response of a session with one object of the kind.
async fn respond(kind: &'static Kind, request: Request<Body>) -> (u16, Vec<u8>) {
    let (_, logs) = LogWriter::open(None, || Timestamp::ZERO);
    let (mut writer, _, reader) = lilt_store::open(logs);
    let metadata = json!({"name": "known", "labels": {"a": "b"}, "managedFields": [{
        "manager": "other", "operation": "Apply", "apiVersion": "tilt.dev/v1alpha1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}},
    }]});
    let draft =
        Draft::new(Key::new(kind.kind, "known"), None, &metadata.to_string(), "{\"spec\":{},\"status\":{}}");
    writer.put(draft);
    writer.commit(Timestamp::ZERO);
    let (writes, _) = mpsc::channel(1);
    let closing = CancellationToken::new();
    // Ends watches at once.
    closing.cancel();
    let api = Api { reader, writes, clock: || Timestamp::ZERO, version: "0".into(), closing };
    let answer = TowerToHyperService::new(router(api)).call(request).await;
    let answer = answer.expect("invariant: a router always answers");
    let code = answer.status().as_u16();
    let text = to_bytes(answer.into_body(), usize::MAX).await.expect("invariant: it is in memory");
    (code, text.to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates JSON, some of which is like objects and patches.
    fn body() -> impl Strategy<Value = String> {
        let name = prop::sample::select(vec![
            "apiVersion",
            "kind",
            "metadata",
            "name",
            "spec",
            "status",
            "data",
            "labels",
            "annotations",
            "managedFields",
            "fieldsV1",
            "f:spec",
            "finalizers",
            "ownerReferences",
            "resourceVersion",
            "args",
            "env",
            "text",
            "location",
            "inputs",
            "watchedPaths",
            "yaml",
            "op",
            "path",
            "value",
            "from",
            "$patch",
            "$retainKeys",
            "",
            "x",
        ]);
        let text = prop::sample::select(vec![
            "tilt.dev/v1alpha1",
            "known",
            "new",
            "add",
            "remove",
            "replace",
            "move",
            "/spec",
            "/metadata/labels/a",
            "/spec/args/-",
            "",
            "~",
            "2026-01-01T00:00:00Z",
            "fuzz",
            "1s",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text.prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        let value = leaf.prop_recursive(5, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(name.clone(), inner, 0..6).prop_map(|members| {
                    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
                }),
            ]
        });
        prop_oneof![8 => value.prop_map(|value| value.to_string()), 1 => ".{0,40}"]
    }

    proptest! {
        #[test]
        fn every_request_is_answered(kind: u8, asked: u8, query in "[a-zA-Z=&,!()%0-9.]{0,30}", body in body()) {
            let mut bytes = vec![kind, asked];
            bytes.extend(format!("{query}\n{body}").into_bytes());
            api(&bytes);
        }
    }

    #[test]
    fn valid_objects_are_accepted_in_every_form() {
        let place = kinds().all().iter().position(|kind| kind.name == "ConfigMap").expect("a kind");
        let place = u8::try_from(place).expect("few kinds");
        let ask = |asked: u8, body: &str| {
            let mut bytes = vec![place, asked, b'\n'];
            bytes.extend(body.bytes());
            api(&bytes).map(|(_, object)| object["data"].clone())
        };
        let data = json!({"k": "v"});
        let bodies = [
            (0, r#"{"metadata":{"name":"mine"},"data":{"k":"v"}}"#),
            (1, r#"{"metadata":{"name":"known"},"data":{"k":"v"}}"#),
            (3, r#"[{"op":"add","path":"/data","value":{"k":"v"}}]"#),
            (4, r#"{"data":{"k":"v"}}"#),
            (5, r#"{"data":{"k":"v"}}"#),
            (6, r#"{"data":{"k":"v"}}"#),
            (8, r#"{"data":{"k":"v"}}"#),
        ];
        for (asked, body) in bodies {
            assert_eq!(ask(asked, body), Some(data.clone()), "{asked}");
        }
    }
}
