//! The built page, embedded in release builds and read from disk in debug builds.
//!
//! Everything under `assets/` has a hash in its name and never changes; `index.html` names the current ones.

use std::borrow::Cow;

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct BuiltPage;

const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const REVALIDATE: &str = "no-cache";

const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><title>lilt: page not built</title>\
    <h1>The page is not part of this build</h1>\
    <p>Build it in the project's folder, then reload:</p>\
    <pre>cd web &amp;&amp; npm ci &amp;&amp; npm run build</pre>\
    <p>A release binary must be built anew after that.</p></html>";

/// Serves the page for all its routes. The page evaluates the URL itself.
pub(crate) async fn page(headers: HeaderMap) -> Response {
    match file("index.html", &headers, REVALIDATE) {
        Some(response) => response,
        None => (StatusCode::SERVICE_UNAVAILABLE, Html(NOT_BUILT)).into_response(),
    }
}

pub(crate) async fn icon(headers: HeaderMap) -> Response {
    file("favicon.svg", &headers, REVALIDATE).unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
}

/// Serves the stylesheet of the sign-in page.
pub(crate) async fn login_style(headers: HeaderMap) -> Response {
    file("login.css", &headers, REVALIDATE).unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
}

pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    // No subfolders and no `..`, which debug builds would follow.
    if name.contains(['/', '\\']) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let path = format!("assets/{name}");
    file(&path, &headers, IMMUTABLE).unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
}

fn file(path: &str, headers: &HeaderMap, caching: &'static str) -> Option<Response> {
    let kind = content_type(path)?;
    let plain = BuiltPage::get(path)?;
    let tag = entity_tag(&plain.metadata.sha256_hash());
    let common = [
        (header::CACHE_CONTROL, caching.to_owned()),
        (header::ETAG, tag.clone()),
        (header::VARY, "accept-encoding".to_owned()),
    ];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return Some((StatusCode::NOT_MODIFIED, common).into_response());
    }
    let packed = if accepts_gzip(headers) { BuiltPage::get(&format!("{path}.gz")) } else { None };
    Some(match packed {
        Some(packed) => {
            (common, [(header::CONTENT_TYPE, kind), (header::CONTENT_ENCODING, "gzip")], body(packed.data))
                .into_response()
        }
        None => (common, [(header::CONTENT_TYPE, kind)], body(plain.data)).into_response(),
    })
}

fn body(data: Cow<'static, [u8]>) -> axum::body::Body {
    match data {
        Cow::Borrowed(bytes) => axum::body::Body::from(bytes),
        Cow::Owned(bytes) => axum::body::Body::from(bytes),
    }
}

fn entity_tag(hash: &[u8]) -> String {
    let digits: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted =
        headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("gzip") && !parts.any(|weight| weight == "q=0")
    })
}

/// Returns the content type of a file; none for kinds of files that the page does not have.
fn content_type(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "woff2" => "font/woff2",
        _ => return None,
    })
}
