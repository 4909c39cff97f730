//! The page's files.

use super::harness::Server;

#[tokio::test]
async fn deep_links_lead_to_the_page() {
    let server = Server::start().await;
    let root = server.get("/").await;
    // Without a built page it says how to build one.
    assert!(
        root.status == 200 || (root.status == 503 && root.body.contains("npm run build")),
        "{}",
        root.body
    );
    for path in ["/overview", "/r/web", "/r/web/overview", "/r/(all)/overview", "/r/a%2Fb/overview"] {
        let answer = server.get(path).await;
        assert_eq!((answer.status, &answer.body), (root.status, &root.body), "{path}");
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
    }
}

#[tokio::test]
async fn paths_outside_of_the_page_are_refused() {
    let server = Server::start().await;
    for path in [
        "/assets/..%2f..%2f..%2fCargo.toml",
        "/assets/..%2f..%2fsrc%2fmain.tsx",
        "/assets/..%2findex.html",
        "/assets/%2fetc%2fpasswd",
        "/assets/../../Cargo.toml",
    ] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
    }
}

/// The names of the built assets, as the page names them; none without a built page.
fn assets_of(page: &str) -> Vec<String> {
    page.split('"').filter(|part| part.starts_with("/assets/")).map(str::to_owned).collect()
}

#[tokio::test]
async fn assets_are_immutable_and_compressed_on_request() {
    let server = Server::start().await;
    let page = server.get("/").await;
    if page.status == 503 {
        return assert!(assets_of(&page.body).is_empty());
    }
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let assets = assets_of(&page.body);
    assert!(assets.iter().any(|path| path.ends_with(".js")), "{assets:?}");
    for path in assets {
        let plain = server.get(&path).await;
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{path}");
        assert!(plain.header("cache-control").is_some_and(|value| value.contains("immutable")), "{path}");
        let head = format!("GET {path} HTTP/1.1\r\nHost: {{host}}\r\nAccept-Encoding: br, gzip\r\n");
        let packed = server.raw(&head, "").await;
        assert_eq!((packed.status, packed.header("content-encoding")), (200, Some("gzip")), "{path}");
        let tag = plain.header("etag").expect("a tag");
        let known = server
            .raw(&format!("GET {path} HTTP/1.1\r\nHost: {{host}}\r\nIf-None-Match: {tag}\r\n"), "")
            .await;
        assert_eq!((known.status, known.body.as_str()), (304, ""), "{path}");
    }
}
