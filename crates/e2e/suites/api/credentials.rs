//! Authentication: every route without, with wrong and with right credentials.

use http::Request;
use kube::config::AuthInfo;
use kube::{Client, Config};
use lilt_api::kinds::kinds;

use crate::client::Session;

/// The response to an authenticated client.
fn routes() -> Vec<(&'static str, String, u16)> {
    let fixed = ["/api", "/apis", "/apis/tilt.dev", "/apis/tilt.dev/v1alpha1", "/openapi/v2", "/openapi/v3"];
    let more = ["/openapi/v3/apis/tilt.dev/v1alpha1", "/version", "/healthz", "/livez", "/readyz"];
    let mut routes: Vec<_> = fixed.iter().chain(&more).map(|path| ("GET", (*path).to_owned(), 200)).collect();
    for kind in kinds().all() {
        let plural = kind.plural;
        let collection = format!("/apis/tilt.dev/v1alpha1/{plural}");
        routes.push(("GET", collection.clone(), 200));
        routes.push(("GET", format!("{collection}?watch=true&timeoutSeconds=0"), 200));
        routes.push(("POST", collection.clone(), 400));
        for method in ["GET", "DELETE"] {
            routes.push((method, format!("{collection}/missing"), 404));
        }
        for method in ["PUT", "PATCH"] {
            routes.push((method, format!("{collection}/missing"), if method == "PUT" { 400 } else { 415 }));
        }
        routes.push(("GET", format!("{collection}/missing/status"), 404));
    }
    routes.push(("GET", "/nowhere".to_owned(), 404));
    routes
}

async fn status(client: &Client, method: &str, path: &str) -> u16 {
    let request = Request::builder().method(method).uri(path).body(kube::client::Body::empty());
    let answer = client.send(request.expect("a request")).await.expect("an answer");
    answer.status().as_u16()
}

fn with(config: &Config, token: Option<&str>) -> Client {
    let token = token.map(|token| token.to_owned().into());
    let mut config = config.clone();
    config.auth_info = AuthInfo { token, ..AuthInfo::default() };
    Client::try_from(config).expect("a client")
}

#[tokio::test]
async fn every_route_wants_the_token() {
    let session = Session::start(&[("Tiltfile", "local_resource('one', 'true')\n")]);
    let config = session.configuration().await;
    let right = Client::try_from(config.clone()).expect("a client");
    let (none, wrong, empty) = (with(&config, None), with(&config, Some("wrong")), with(&config, Some("")));
    for (method, path, expected) in routes() {
        for stranger in [&none, &wrong, &empty] {
            assert_eq!(status(stranger, method, &path).await, 401, "{method} {path}");
        }
        assert_eq!(status(&right, method, &path).await, expected, "{method} {path}");
    }
    session.lilt.quit();
}
