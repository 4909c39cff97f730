//! No route accepts requests to a foreign host name or of a foreign page.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use super::harness::Server;

/// Every route of `routes.rs`, a path of it, its method and the status for authorized requests; and some paths that do not
/// exist. The server has an object API, but no engine.
const ROUTES: [(&str, &str, &str, u16); 38] = [
    ("GET", "/", "/", PAGE),
    ("GET", "/overview", "/overview", PAGE),
    ("GET", "/r/{resource}", "/r/web", PAGE),
    ("GET", "/r/{resource}/overview", "/r/web/overview", PAGE),
    ("GET", "/favicon.svg", "/favicon.svg", FILE),
    ("GET", "/login.css", "/login.css", FILE),
    ("GET", "/assets/{file}", "/assets/nothing.js", 404),
    ("GET", "/api/proof", PROOF, 200),
    ("POST", "/api/access", "/api/access", 204),
    ("POST", "/api/token/rotate", ROTATE, 409),
    ("GET", "/api/view", "/api/view", 200),
    ("GET", "/api/snapshot", "/api/snapshot", 200),
    ("GET", "/api/snapshot/{id}", "/api/snapshot/local", 200),
    ("GET", "/api/websocket_token", "/api/websocket_token", 200),
    ("GET", "/api/sessions", "/api/sessions", 200),
    ("GET", "/api/dump/logstore", "/api/dump/logstore", 200),
    ("GET", "/api/dump/engine", ENGINE, 200),
    ("GET", "/api/resources", "/api/resources", 200),
    ("GET", "/api/logs", "/api/logs", 200),
    ("GET", "/api/lines", "/api/lines?from=0", 200),
    ("GET", "/api/count", "/api/count?text=a", 200),
    ("GET", "/api/sections", "/api/sections?resource=a", 200),
    ("GET", "/api/timeline", "/api/timeline", 200),
    ("GET", "/api/notices", "/api/notices?resource=a", 404),
    ("GET", "/api/objects", "/api/objects?resource=a", 404),
    ("POST", "/api/request", "/api/request", 400),
    ("POST", "/api/trigger", "/api/trigger", 400),
    ("POST", "/api/override/trigger_mode", "/api/override/trigger_mode", 400),
    ("POST", "/api/set_tiltfile_args", "/api/set_tiltfile_args", 400),
    ("GET", "/ws", "/ws", 101),
    ("GET", "/ws/view", "/ws/view", 101),
    ("GET", "/proxy", "/proxy/apis/tilt.dev/v1alpha1/uibuttons", 200),
    ("POST", "/proxy", "/proxy/apis/tilt.dev/v1alpha1/cmds", 400),
    ("DELETE", "/proxy", "/proxy/apis/tilt.dev/v1alpha1/cmds/one", 404),
    ("GET", NONE, "/no/such/route", 404),
    ("GET", NONE, "/api/no/such/route", 404),
    ("GET", NONE, "/debug/pprof/", 404),
    ("POST", NONE, "/overview", 405),
];

/// Not a route.
const NONE: &str = "";
/// The page may or may not have been built where the tests run.
const PAGE: u16 = 1;
const FILE: u16 = 2;

/// Paths without token check, which the sign-in page needs.
const FILES: [&str; 4] = ["/favicon.svg", "/login.css", "/assets/nothing.js", PROOF];
/// The page's files. Browsers send an `Origin` with requests for its scripts, which is foreign behind a proxy that rewrites
/// `Host`. They contain nothing about the session.
const PAGE_FILES: [&str; 3] = ["/favicon.svg", "/login.css", "/assets/nothing.js"];
const PROOF: &str = "/api/proof?challenge=a";
/// Would replace the token of these tests. Tested in `sign_in.rs`.
const ROTATE: &str = "/api/token/rotate";
/// Needs the engine, which is missing here.
const ENGINE: &str = "/api/dump/engine";
/// Paths of the page, which show the sign-in page without a token.
const PAGES: [&str; 5] = ["/", "/overview", "/r/web", "/r/web/overview", "/no/such/route"];

const SOCKETS: [&str; 2] = ["/ws", "/ws/view"];

/// A route that is added must be added here, too.
#[test]
fn every_route_is_in_the_table() {
    let source = include_str!("../../src/routes.rs");
    let named = |call: &str| -> Vec<&str> {
        source.split(call).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    };
    let routes = [named(".route(\""), named("nest_service(\"")].concat();
    assert!(routes.len() > 28, "they are found: {routes:?}");
    for route in &routes {
        assert!(ROUTES.iter().any(|(_, known, ..)| known == route), "{route} is not in the table");
    }
    for (_, known, path, _) in ROUTES.iter().filter(|(_, known, ..)| *known != NONE) {
        assert!(routes.contains(known), "{known} ({path}) is no route any more");
    }
}

const UPGRADE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

async fn status(server: &Server, method: &str, path: &str, headers: &str) -> u16 {
    let upgrade = if SOCKETS.contains(&path) { UPGRADE } else { "" };
    // An opened socket stays open, so only the status line is read.
    let head = format!("{method} {path} HTTP/1.1\r\n{headers}{upgrade}");
    if !SOCKETS.contains(&path) {
        return server.raw(&head, "").await.status;
    }
    server.handshake(&head).await
}

impl Server {
    /// Only the status line, since an opened WebSocket does not end.
    async fn handshake(&self, head: &str) -> u16 {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.expect("connect");
        let head = head.replace("{host}", &format!("localhost:{}", self.port));
        stream.write_all(format!("{head}\r\n").as_bytes()).await.expect("send");
        let mut line = [0; 12];
        super::harness::within("a status line", stream.read_exact(&mut line)).await.expect("receive");
        String::from_utf8_lossy(&line[9..]).parse().expect("a status")
    }
}

fn same(found: u16, wanted: u16) -> bool {
    match wanted {
        PAGE => found == 200 || found == 503,
        FILE => found == 200 || found == 404,
        exact => found == exact,
    }
}

/// Which requests are accepted.
enum Welcome {
    Everywhere,
    Files,
    Nowhere,
}

/// Returns the address of this machine in its network; none without a network.
fn outer_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // Chooses a route and sends nothing.
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_loopback())
}

/// A cookie that was leaked to a forwarded port on localhost cannot be used from other machines.
#[tokio::test]
async fn cookie_of_localhost_from_a_remote_peer_is_refused() {
    let server = Server::start_on("0.0.0.0", Some(TOKEN)).await;
    let cookie = server.cookie().await;
    let ask = async |address: IpAddr, host: &str| {
        let head = format!("GET /api/resources HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n");
        server.raw_to(address, &head, "").await.status
    };
    assert_eq!(ask(IpAddr::V4(Ipv4Addr::LOCALHOST), "{host}").await, 200);
    // Without a network there are no other machines. The tests of `origin_check` cover all names.
    let Some(address) = outer_address() else { return };
    assert_eq!(ask(address, "{host}").await, 403);
    let head = format!(
        "GET /api/resources HTTP/1.1\r\nHost: {address}:{}\r\nX-Tilt-Token: {TOKEN}\r\n",
        server.port
    );
    assert_eq!(server.raw_to(address, &head, "").await.status, 200);
}

#[tokio::test]
async fn every_route_checks_host_and_origin() {
    let server = Server::start_with_api(&["devbox"], Some(TOKEN)).await;
    let port = server.port;
    // Foreign host names are refused even with the token.
    let token = format!("X-Tilt-Token: {TOKEN}\r\n");
    let cases = [
        ("own name, no origin", "Host: {host}\r\n".to_owned(), Welcome::Everywhere),
        (
            "own name, own origin",
            format!("Host: {{host}}\r\nOrigin: http://localhost:{port}\r\n"),
            Welcome::Everywhere,
        ),
        ("another own name", format!("Host: 127.0.0.1:{port}\r\n"), Welcome::Everywhere),
        (
            "the given name",
            format!("Host: devbox:{port}\r\nOrigin: http://devbox:{port}\r\n"),
            Welcome::Everywhere,
        ),
        ("foreign host", format!("Host: evil.example:{port}\r\n"), Welcome::Nowhere),
        ("foreign host that looks own", format!("Host: localhost.evil.example:{port}\r\n"), Welcome::Nowhere),
        ("foreign port", "Host: localhost:1\r\n".to_owned(), Welcome::Nowhere),
        ("no host", String::new(), Welcome::Nowhere),
        ("two hosts", "Host: {host}\r\nHost: evil.example\r\n".to_owned(), Welcome::Nowhere),
        ("foreign origin", "Host: {host}\r\nOrigin: http://evil.example\r\n".to_owned(), Welcome::Files),
        (
            "another port's origin",
            "Host: {host}\r\nOrigin: http://localhost:1\r\n".to_owned(),
            Welcome::Files,
        ),
        (
            "own address as the origin of another",
            format!("Host: {{host}}\r\nOrigin: http://127.0.0.1:{port}\r\n"),
            Welcome::Files,
        ),
        ("hidden origin", "Host: {host}\r\nOrigin: null\r\n".to_owned(), Welcome::Files),
        (
            "foreign host and origin",
            format!("Host: evil.example:{port}\r\nOrigin: http://evil.example:{port}\r\n"),
            Welcome::Nowhere,
        ),
    ];
    for (method, _, path, wanted) in ROUTES {
        for (case, headers, welcome) in &cases {
            let is_welcome = match welcome {
                Welcome::Everywhere if [ENGINE, ROTATE].contains(&path) => continue,
                Welcome::Everywhere => true,
                Welcome::Files => PAGE_FILES.contains(&path),
                Welcome::Nowhere => false,
            };
            let found = status(&server, method, path, &format!("{headers}{token}")).await;
            if is_welcome {
                assert!(same(found, wanted), "{method} {path}, {case}: {found}");
            } else {
                // hyper itself answers 400 to some of these.
                assert!(found == 403 || found == 400, "{method} {path}, {case}: {found}");
            }
        }
    }
}

#[tokio::test]
async fn refusal_says_what_to_run() {
    let server = Server::start().await;
    let ask = async |host: &str, accept: &str| {
        let answer = server.raw(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n{accept}"), "").await;
        assert_eq!(answer.status, 403);
        (answer.header("content-type").unwrap_or_default().to_owned(), answer.body)
    };
    let (kind, text) = ask("dev.example", "").await;
    assert_eq!(kind, "text/plain; charset=utf-8");
    assert!(text.contains("does not answer to the host name \"dev.example\""), "{text}");
    assert!(text.contains(": lilt up --allowed-host dev.example\n"), "{text}");
    let (kind, page) = ask("dev.example:8443", "Accept: text/html,*/*\r\n").await;
    assert_eq!(kind, "text/html; charset=utf-8");
    assert!(page.contains("<pre>lilt up --allowed-host dev.example:8443</pre>"), "{page}");
    let (kind, body) = ask("dev.example", "Accept: application/json\r\n").await;
    let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(
        (kind.as_str(), &body["command"]),
        ("application/json", &"lilt up --allowed-host dev.example".into())
    );
    let (_, page) = ask("a\"><script>", "Accept: text/html\r\n").await;
    assert!(!page.contains("<script") && !page.contains("--allowed-host"), "{page}");
    let foreign = "GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.example\r\n";
    let answer = server.raw(foreign, "").await;
    assert!(answer.body.contains("other sites"), "{}", answer.body);
}

#[tokio::test]
async fn every_response_has_security_headers() {
    let server = Server::start_with_api(&[], None).await;
    for (method, _, path, _) in ROUTES.into_iter().filter(|(_, _, path, _)| *path != "/ws" && *path != ENGINE)
    {
        let answer = server.raw(&format!("{method} {path} HTTP/1.1\r\nHost: {{host}}\r\n"), "").await;
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("script-src 'self';"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
        if path.starts_with("/api/") || path.starts_with("/proxy/") {
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        }
    }
}

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Credentials, and whether they are sufficient to read and to change.
fn visitors(port: u16, cookie: &str) -> Vec<(&'static str, String, bool, bool)> {
    let own = format!("Origin: http://localhost:{port}\r\n");
    let foreign = "Origin: http://evil.example\r\n";
    let header = format!("X-Tilt-Token: {TOKEN}\r\n");
    let (name, value) = cookie.split_once('=').expect("name and value");
    let cookie = format!("Cookie: other=1; {cookie}\r\n");
    let tilts = format!("Cookie: Tilt-Token={TOKEN}\r\n");
    let wrong = "0123456789abcdef0123456789abcdee";
    vec![
        ("nothing", String::new(), false, false),
        ("only an origin", own.clone(), false, false),
        ("a wrong header", format!("X-Tilt-Token: {wrong}\r\n{own}"), false, false),
        ("a wrong cookie", format!("Cookie: {name}={wrong}\r\n{own}"), false, false),
        ("the token as cookie", format!("Cookie: {name}={TOKEN}\r\n{own}"), false, false),
        ("the cookie as header", format!("X-Tilt-Token: {value}\r\n{own}"), false, false),
        ("the cookie as bearer", format!("Authorization: Bearer {value}\r\n{own}"), false, false),
        ("half a token", format!("X-Tilt-Token: {}\r\n", &TOKEN[..16]), false, false),
        ("an empty token", format!("X-Tilt-Token: \r\nCookie: {name}=\r\n"), false, false),
        ("another port's cookie", format!("Cookie: lilt-session-1={value}\r\n{own}"), false, false),
        (
            "a wrong header beside a right cookie",
            format!("X-Tilt-Token: {wrong}\r\n{cookie}{own}"),
            false,
            false,
        ),
        ("as a bearer", format!("Authorization: Bearer {TOKEN}\r\n{own}"), false, false),
        ("the header, as scripts do", header.clone(), true, true),
        ("the header and the own origin", format!("{header}{own}"), true, true),
        ("the header from a foreign page", format!("{header}{foreign}"), false, false),
        ("the cookie and the own origin", format!("{cookie}{own}"), true, true),
        ("Tilt's cookie", format!("{tilts}{own}"), true, true),
        ("the cookie without an origin", cookie.clone(), true, false),
        ("the cookie from a foreign page", format!("{cookie}{foreign}"), false, false),
    ]
}

#[tokio::test]
async fn requests_without_the_token_are_refused() {
    let mut server = Server::start_with_api(&[], Some(TOKEN)).await;
    let cookie = server.cookie().await;
    for (who, headers, reads, changes) in visitors(server.port, &cookie) {
        for (method, _, path, welcome) in ROUTES {
            let allowed = if method == "GET" && !SOCKETS.contains(&path) { reads } else { changes };
            if allowed && [ENGINE, ROTATE].contains(&path) {
                continue;
            }
            let head = format!("Host: {{host}}\r\n{headers}");
            let found = status(&server, method, path, &head).await;
            let foreign = headers.contains("evil.example");
            let wanted = match () {
                () if foreign && !PAGE_FILES.contains(&path) => 403,
                () if allowed || FILES.contains(&path) => welcome,
                () if method == "GET" && PAGES.contains(&path) => 401,
                () => 403,
            };
            assert!(same(found, wanted), "{who}: {method} {path}: {found} and not {wanted}");
        }
    }
    assert!(server.requests.try_recv().is_err(), "nothing was asked of the session");
    assert!(server.writes.as_mut().expect("it has an API").try_recv().is_err(), "nor of its objects");
}

/// The cookie is sent when somebody follows a link of another site, which may only open the page.
#[tokio::test]
async fn another_site_may_link_to_the_page_and_nothing_else() {
    let server = Server::start_with_api(&[], Some(TOKEN)).await;
    let cookie = format!("Host: {{host}}\r\nCookie: {}\r\n", server.cookie().await);
    for site in ["cross-site", "same-site"] {
        let site = format!("{cookie}Sec-Fetch-Site: {site}\r\n");
        let followed = format!("{site}Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n");
        assert!(same(status(&server, "GET", "/r/web/overview", &followed).await, PAGE));
        assert_eq!(status(&server, "GET", "/api/resources", &followed).await, 403);
        let framed = format!("{site}Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n");
        assert_eq!(status(&server, "GET", "/", &framed).await, 403);
        for (method, _, path, _) in ROUTES {
            let image = format!("{site}Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n");
            assert_eq!(status(&server, method, path, &image).await, 403, "{method} {path} as an image");
        }
    }
    let foreign = format!("{cookie}Origin: http://evil.example\r\n");
    for (method, _, path, _) in ROUTES {
        if method != "GET" || SOCKETS.contains(&path) {
            assert_eq!(
                status(&server, method, path, &cookie).await,
                403,
                "{method} {path} without an origin"
            );
        }
        if !PAGE_FILES.contains(&path) {
            assert_eq!(status(&server, method, path, &foreign).await, 403, "{method} {path} from elsewhere");
        }
    }
}

#[tokio::test]
async fn mistyped_paths_are_answered_with_the_page() {
    let server = Server::start().await;
    for (path, meant) in [
        ("/overview/", "/overview"),
        ("/r/web/?term=a%20b", "/r/web?term=a%20b"),
        ("/r/web/overview/", "/r/web/overview"),
    ] {
        let answer = server.get(path).await;
        assert_eq!((answer.status, answer.header("location")), (307, Some(meant)), "{path}");
    }
    let typed = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {{host}}\r\nAccept: text/html,*/*\r\n");
    let answer = server.raw(&typed("/overveiw"), "").await;
    assert!(answer.body.contains("<html") && answer.body.contains("lilt"), "{}", answer.body);
    assert!([404, 503].contains(&answer.status), "{}", answer.status);
    for path in ["/api/veiw", "/debug/pprof/", "/ws/no", "//evil.example/", "/favicon.ico"] {
        let answer = server.raw(&typed(path), "").await;
        assert_eq!((answer.status, answer.body.as_str()), (404, ""), "{path}");
    }
}

/// The socket token, which Tilt's scripts get with the session's token, is sufficient for that socket only.
#[tokio::test]
async fn socket_token_is_valid_for_its_socket_only() {
    let server = Server::start_guarded(&[], Some(TOKEN)).await;
    let port = server.port;
    let asked = format!("GET /api/websocket_token HTTP/1.1\r\nHost: {{host}}\r\nX-Tilt-Token: {TOKEN}\r\n");
    let given = server.raw(&asked, "").await.body;
    assert!(given.len() >= 32 && given != TOKEN, "{given}");
    let cases = [
        (format!("/ws/view?csrf={given}"), String::new(), 101),
        (format!("/ws/view?csrf={given}"), format!("Origin: http://localhost:{port}\r\n"), 101),
        (format!("/ws/view?csrf={given}"), "Origin: http://evil.example\r\n".to_owned(), 403),
        (format!("/ws/view?csrf={given}"), "X-Tilt-Token: wrong\r\n".to_owned(), 403),
        (format!("/ws/view?csrf=&csrf={given}"), String::new(), 403),
        (format!("/ws/view?csrf={TOKEN}"), String::new(), 403),
        ("/ws/view?csrf=".to_owned(), String::new(), 403),
        (format!("/ws?csrf={given}"), String::new(), 403),
    ];
    for (path, headers, wanted) in cases {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {{host}}\r\n{headers}{UPGRADE}");
        assert_eq!(server.handshake(&head).await, wanted, "{path} {headers}");
    }
    let view = server.get(&format!("/api/view?csrf={given}")).await;
    assert_eq!(view.status, 403);
}
