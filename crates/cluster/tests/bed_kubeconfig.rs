//! The same kubeconfig for kubectl and for lilt, against the real API server: where kubectl works, lilt works.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and uses this machine as it is"
)]

use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lilt_cluster::{Cluster, ConnectOptions};
use serde_json::{Value, json};

fn kubectl(arguments: &[&str]) -> String {
    let output = Command::new("kubectl").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A folder with the test bed's kubeconfig in parts.
struct Testbed {
    folder: tempfile::TempDir,
    config: Value,
}

impl Testbed {
    fn new() -> Self {
        let config = kubectl(&["config", "view", "--raw", "--flatten", "--minify", "-o", "json"]);
        let bed =
            Self { folder: tempfile::tempdir().unwrap(), config: serde_json::from_str(&config).unwrap() };
        let (cluster, user) = (bed.cluster(), bed.user());
        for (file, data) in [
            ("ca.crt", &cluster["certificate-authority-data"]),
            ("c.crt", &user["client-certificate-data"]),
            ("c.key", &user["client-key-data"]),
        ] {
            bed.write(file, STANDARD.decode(data.as_str().unwrap()).unwrap());
        }
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn cluster(&self) -> Value {
        self.config["clusters"][0]["cluster"].clone()
    }

    fn user(&self) -> Value {
        self.config["users"][0]["user"].clone()
    }

    fn with_user(&self, user: Value) -> Value {
        let mut config = self.config.clone();
        config["users"][0]["user"] = user;
        config
    }

    fn with_cluster(&self, cluster: Value) -> Value {
        let mut config = self.config.clone();
        config["clusters"][0]["cluster"] = cluster;
        config
    }

    /// Requires the same success or failure of kubectl and of lilt.
    async fn compare(&self, name: &str, config: &Value, is_good: bool) {
        let file = self.write(&format!("{name}.config"), config.to_string());
        self.compare_files(name, vec![file], is_good).await;
    }

    async fn compare_files(&self, name: &str, files: Vec<PathBuf>, is_good: bool) {
        let mut command = Command::new("kubectl");
        // Nodes cannot be read without credentials.
        command.args(["get", "--raw", "/api/v1/nodes?limit=1"]).stdin(Stdio::null());
        let output = command.env("KUBECONFIG", std::env::join_paths(&files).unwrap()).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), is_good, "{name}: kubectl says {complaint}");
        let found = read_nodes(files).await;
        assert_eq!(found.is_ok(), is_good, "{name}: lilt says {found:?}, kubectl says {complaint}");
    }
}

async fn read_nodes(files: Vec<PathBuf>) -> Result<(), String> {
    let options = ConnectOptions { kubeconfig: files, ..ConnectOptions::default() };
    let cluster = Cluster::connect(options).await.map_err(|failure| failure.to_string())?;
    cluster.probe().await.map_err(|failure| failure.to_string())?;
    cluster.container_runtime().await.map(|_| ()).ok_or("nodes cannot be read".to_owned())
}

fn with(base: &Value, fields: Value) -> Value {
    let mut entry = base.clone();
    entry.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    entry
}

/// A token of an account that may read nodes.
fn token() -> String {
    kubectl(&["-n", "kube-system", "create", "token", "node-controller"])
}

#[tokio::test]
async fn every_kind_of_user_works_as_with_kubectl() {
    let bed = Testbed::new();
    let user = bed.user();
    let (certificate, key) = (&user["client-certificate-data"], &user["client-key-data"]);
    let token = token();
    bed.write("token", format!("{token}\n"));
    bed.write("wrong", "wrong");
    bed.write("text.crt", format!("Certificate:\n  Version: 3\n{}", bed.read("c.crt")));
    bed.write("crlf.key", bed.read("c.key").replace('\n', "\r\n"));
    let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "false",
        "interactiveMode": "Never"});
    let empty = json!({"token": "", "tokenFile": "", "username": "", "password": "", "as": "",
        "client-certificate": "", "client-key": ""});
    let broken = |value: &Value| {
        let mut text = value.as_str().unwrap().to_owned();
        text.insert(10, '\n');
        text + "\n"
    };
    let impersonate = json!({"as": "someone", "as-uid": "7", "as-groups": ["system:masters"],
        "as-user-extra": {"example.com/a b": ["x", "y"]}});
    let rows = [
        ("certificate-data", user.clone(), true),
        ("certificate-files", json!({"client-certificate": "c.crt", "client-key": "c.key"}), true),
        ("file-and-data", json!({"client-certificate": "c.crt", "client-key-data": key}), true),
        ("certificate-twice", with(&user, json!({"client-certificate": "c.crt"})), false),
        ("key-twice", with(&user, json!({"client-key": "c.key"})), false),
        ("certificate-missing-file", json!({"client-certificate": "none", "client-key": "c.key"}), false),
        ("text-before-pem", json!({"client-certificate": "text.crt", "client-key": "crlf.key"}), true),
        (
            "line-breaks-in-data",
            json!({"client-certificate-data": broken(certificate), "client-key-data": broken(key)}),
            true,
        ),
        ("empty-strings", with(&user, empty.clone()), true),
        ("empty-strings-with-token", with(&empty, json!({"token": token})), true),
        ("certificate-alone", json!({"client-certificate-data": certificate}), false),
        ("token", json!({"token": token}), true),
        ("token-with-line-break", json!({"token": format!("{token}\n")}), false),
        ("token-file", json!({"tokenFile": "token"}), true),
        ("token-file-missing", json!({"tokenFile": "none"}), false),
        ("token-file-wins", json!({"tokenFile": "token", "token": "wrong"}), true),
        ("token-file-wins-when-wrong", json!({"tokenFile": "wrong", "token": token}), false),
        ("token-beside-missing-file", json!({"tokenFile": "none", "token": token}), true),
        ("token-and-key-data", json!({"token": token, "client-key-data": key}), true),
        ("token-and-missing-key", json!({"token": token, "client-key": "none"}), true),
        ("token-and-certificate", with(&user, json!({"token": token})), true),
        ("wrong-token-and-key", json!({"client-key-data": key, "token": "wrong"}), false),
        ("token-and-username", json!({"token": token, "username": "me", "password": "p"}), false),
        ("password-without-username", with(&user, json!({"password": "p"})), true),
        ("nothing", json!({}), false),
        ("exec-beside-certificate", with(&user, json!({"exec": exec})), true),
        ("exec-beside-token", json!({"exec": exec, "token": token}), true),
        ("exec-and-provider", json!({"exec": exec, "auth-provider": {"name": "oidc"}}), false),
        ("exec-without-command", json!({"exec": with(&exec, json!({"command": ""}))}), false),
        ("impersonation", with(&user, impersonate), true),
        ("impersonation-without-rights", with(&user, json!({"as": "someone"})), false),
        ("groups-without-user", with(&user, json!({"as-groups": ["system:masters"]})), false),
        ("empty-groups", with(&user, json!({"as-groups": [], "as-user-extra": {}})), true),
        ("unknown-field", with(&user, json!({"note": 1})), true),
        ("unknown-provider", with(&user, json!({"auth-provider": {"name": "other"}})), false),
    ];
    for (name, user, is_good) in rows {
        bed.compare(name, &bed.with_user(user), is_good).await;
    }
}

#[tokio::test]
async fn every_kind_of_cluster_works_as_with_kubectl() {
    let bed = Testbed::new();
    let cluster = bed.cluster();
    let server = cluster["server"].as_str().unwrap();
    let authority = json!({"server": server, "certificate-authority": "ca.crt"});
    bed.write("bundle", format!("# ours\n{}\nkey:\n{}", bed.read("ca.crt"), bed.read("c.key")));
    bed.write("garbage", "no certificate");
    let empty = json!({"tls-server-name": "", "proxy-url": "", "certificate-authority": ""});
    let proxy = ApiProxy::start();
    let plain = format!("127.0.0.1:{}", proxy.port);
    let rows = [
        ("authority-file", authority.clone(), true),
        ("authority-twice", with(&cluster, authority.clone()), false),
        ("authority-missing", with(&authority, json!({"certificate-authority": "none"})), false),
        ("authority-bundle", with(&authority, json!({"certificate-authority": "bundle"})), true),
        ("authority-garbage", with(&authority, json!({"certificate-authority": "garbage"})), false),
        ("no-authority", json!({"server": server}), false),
        ("empty-strings", with(&cluster, empty), true),
        ("server-name", with(&cluster, json!({"tls-server-name": "kubernetes.default.svc"})), true),
        ("wrong-server-name", with(&cluster, json!({"tls-server-name": "elsewhere.example"})), false),
        ("insecure", json!({"server": server, "insecure-skip-tls-verify": true}), true),
        ("insecure-with-authority", with(&cluster, json!({"insecure-skip-tls-verify": true})), false),
        ("trailing-slash", with(&cluster, json!({"server": format!("{server}/")})), true),
        ("unknown-proxy", with(&cluster, json!({"proxy-url": "ftp://127.0.0.1:1"})), false),
        ("closed-proxy", with(&cluster, json!({"proxy-url": "http://127.0.0.1:9"})), false),
        ("path", json!({"server": format!("http://{plain}/behind")}), true),
        ("path-with-slash", json!({"server": format!("http://{plain}/behind/")}), true),
        ("wrong-path", json!({"server": format!("http://{plain}/elsewhere")}), false),
        ("no-scheme", json!({"server": plain}), false),
    ];
    for (name, cluster, is_good) in rows {
        bed.compare(name, &bed.with_cluster(cluster), is_good).await;
    }
}

/// `kubectl proxy`: the API server without TLS, below the path `/behind`.
struct ApiProxy {
    process: std::process::Child,
    port: u16,
}

impl ApiProxy {
    fn start() -> Self {
        let mut command = Command::new("kubectl");
        command.args(["proxy", "--port=0", "--api-prefix=/behind"]).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit_once(':').unwrap().1.parse().unwrap();
        Self { process, port }
    }
}

impl Drop for ApiProxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn several_files_are_merged_as_with_kubectl() {
    let bed = Testbed::new();
    let part = |name: &str, fields: Value| bed.write(name, fields.to_string());
    let config = &bed.config;
    let clusters = part("clusters", json!({"clusters": config["clusters"]}));
    let users = part("users", json!({"apiVersion": "v1", "kind": "Config", "users": config["users"]}));
    let contexts = part(
        "contexts",
        json!({"contexts": config["contexts"], "current-context": config["current-context"]}),
    );
    let unset = part("unset", json!({"current-context": "", "clusters": null, "users": []}));
    let mut user = config["users"][0].clone();
    user["user"] = json!({"token": "wrong"});
    let wrong_user = part("wrong-user", json!({"users": [user]}));
    let wrong_context = part("wrong-context", json!({"current-context": "elsewhere"}));
    let incomplete = json!({"contexts": [{"name": "a", "context": {"user": "x"}}, {"name": "b"}],
        "users": [{"name": "c"}, {"name": "d", "user": null}], "clusters": [{"name": "e", "cluster": {}}]});
    let incomplete = part("incomplete", incomplete);
    let (empty, garbage) = (bed.write("empty", ""), bed.write("garbage", "users: ["));
    std::fs::create_dir(bed.path("below")).unwrap();
    let below = bed.with_user(json!({"client-certificate": "../c.crt", "client-key": "../c.key"}));
    let below = bed.write("below/config", below.to_string());
    let missing = bed.path("missing");
    let all = [&clusters, &users, &contexts];
    let rows: [(&str, Vec<&PathBuf>, bool); 9] = [
        ("parts", all.to_vec(), true),
        ("missing-and-empty", [&[&missing, &empty], &all[..]].concat(), true),
        ("unset-current-context", [&[&unset], &all[..]].concat(), true),
        ("first-user-wins", [&[&wrong_user], &all[..]].concat(), false),
        ("later-user-is-ignored", [&all[..], &[&wrong_user]].concat(), true),
        ("first-current-context-wins", [&[&wrong_context], &all[..]].concat(), false),
        ("incomplete-entries", [&[&incomplete], &all[..]].concat(), true),
        ("garbage", [&all[..], &[&garbage]].concat(), false),
        ("paths-relative-to-their-file", vec![&below], true),
    ];
    for (name, files, is_good) in rows {
        bed.compare_files(name, files.into_iter().cloned().collect(), is_good).await;
    }
}

/// A plugin that records its input and prints a token.
fn plugin(bed: &Testbed, version: &str, token: &str, fields: Value) -> Value {
    let answer = json!({"apiVersion": version, "kind": "ExecCredential", "status": {"token": token}});
    let script = "printf %s \"$KUBERNETES_EXEC_INFO\" > info; printf %s \"$GREETING\" > greeting";
    let script = format!("#!/bin/sh\ncd \"$(dirname \"$0\")\"\n{script}\necho '{answer}'\n");
    make_executable(&bed.write("login", script));
    let exec = json!({"apiVersion": version, "command": "./login", "interactiveMode": "Never",
        "env": [{"name": "GREETING", "value": "hello"}]});
    bed.with_user(json!({"exec": with(&exec, fields)}))
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn exec_plugins_work_as_with_kubectl() {
    let bed = Testbed::new();
    let token = token();
    let (v1, v1beta1) = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1");
    let rows = [
        ("never", v1, json!({}), true),
        ("if-available", v1, json!({"interactiveMode": "IfAvailable"}), true),
        ("always", v1, json!({"interactiveMode": "Always"}), false),
        ("beta", v1beta1, json!({"interactiveMode": ""}), true),
        ("cluster-info", v1, json!({"provideClusterInfo": true}), true),
        ("missing-command", v1, json!({"command": "./none"}), false),
    ];
    for (name, version, fields, is_good) in rows {
        let mut config = plugin(&bed, version, &token, fields);
        config["clusters"][0]["cluster"]["extensions"] = json!([{"name": "client.authentication.k8s.io/exec",
            "extension": {"audience": "us", "empty": ""}}]);
        let file = bed.write(&format!("{name}.config"), config.to_string());
        let mut given = Vec::new();
        for is_kubectl in [true, false] {
            let _ = std::fs::remove_file(bed.path("info"));
            let works = if is_kubectl {
                let mut command = Command::new("kubectl");
                command.args(["get", "--raw", "/api/v1/nodes?limit=1", "--kubeconfig"]).arg(&file);
                command.stdin(Stdio::null()).output().unwrap().status.success()
            } else {
                read_nodes(vec![file.clone()]).await.is_ok()
            };
            assert_eq!(works, is_good, "{name}, kubectl: {is_kubectl}");
            if is_good {
                assert_eq!(bed.read("greeting"), "hello");
                let mut info: Value = serde_json::from_str(&bed.read("info")).unwrap();
                // kubectl also writes unset fields.
                if let Some(cluster) = info["spec"].get_mut("cluster").and_then(Value::as_object_mut) {
                    cluster.retain(|_, value| !value.is_null());
                }
                given.push(info);
            }
        }
        if is_good {
            assert_eq!(given[1], given[0], "{name}");
        }
    }
}

/// Responds to one request with an error and returns its impersonation headers.
fn record_impersonation(server: &std::net::TcpListener) -> Vec<String> {
    let (mut connection, _) = server.accept().unwrap();
    let mut lines = Vec::new();
    for line in std::io::BufReader::new(&connection).lines() {
        match line.unwrap() {
            line if line.is_empty() => break,
            line => lines.push(line),
        }
    }
    std::io::Write::write_all(&mut connection, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        .unwrap();
    let headers = lines.iter().filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| format!("{}: {value}", name.to_ascii_lowercase()));
    let mut headers: Vec<_> = headers.filter(|header| header.starts_with("impersonate-")).collect();
    headers.sort();
    headers
}

#[tokio::test]
async fn impersonation_is_sent_as_by_kubectl() {
    let bed = Testbed::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    let mut config = bed.with_user(json!({"as": "someone", "as-uid": "7", "as-groups": ["one", "two"],
        "as-user-extra": {"example.com/a b%": ["x", "y"], "Scopes": ["z"]}}));
    config["clusters"][0]["cluster"] = json!({"server": address});
    let file = bed.write("impersonation.config", config.to_string());
    let mut command = Command::new("kubectl");
    command.args(["get", "--raw", "/version", "--kubeconfig"]).arg(&file);
    let mut kubectl = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let expected = record_impersonation(&server);
    kubectl.wait().unwrap();
    assert_eq!(expected.len(), 7, "{expected:?}");
    let recorded = std::thread::spawn(move || record_impersonation(&server));
    assert!(read_nodes(vec![file]).await.is_err());
    assert_eq!(recorded.join().unwrap(), expected);
}

/// Persistent failures are retried less often.
#[tokio::test]
async fn refused_login_and_certificate_are_persistent_failures() {
    let bed = Testbed::new();
    let cluster = bed.cluster();
    let plugin = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "./none",
        "interactiveMode": "Never"});
    let rows = [
        ("wrong-token", bed.with_user(json!({"token": "wrong"})), true),
        ("missing-plugin", bed.with_user(json!({"exec": plugin})), true),
        ("no-authority", bed.with_cluster(json!({"server": cluster["server"]})), true),
        (
            "wrong-name",
            bed.with_cluster(with(&cluster, json!({"tls-server-name": "elsewhere.example"}))),
            true,
        ),
        ("no-server", bed.with_cluster(with(&cluster, json!({"server": "https://127.0.0.1:1"}))), false),
    ];
    for (name, config, is_persistent) in rows {
        let file = bed.write(&format!("{name}.config"), config.to_string());
        let options = ConnectOptions { kubeconfig: vec![file], ..ConnectOptions::default() };
        let failure = Cluster::connect(options).await.unwrap().probe().await.unwrap_err();
        assert_eq!(failure.kind.is_persistent(), is_persistent, "{name}: {failure}");
    }
}
