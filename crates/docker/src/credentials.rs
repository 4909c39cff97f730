//! Reads registry credentials from Docker's `config.json` and from Podman's files.
//!
//! They are reread at each use, because people log in while lilt runs. Credential helpers (`credsStore`,
//! `credHelpers`) are programs, which get a timeout.
#![expect(
    clippy::disallowed_methods,
    reason = "Docker's logins are read here, and its credential helpers asked"
)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde::Deserialize;
use tokio::io::AsyncWriteExt as _;

/// The files with credentials.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// `config.json`, then the files of `podman login`, which have the same format. The first entry wins.
    files: Vec<PathBuf>,
    /// The `PATH` for helpers; none: that of this process.
    programs: Option<String>,
}

/// The credentials for a registry. `Debug` omits secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub username: String,
    pub password: String,
    pub identity_token: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("username", &self.username).finish_non_exhaustive()
    }
}

#[derive(Default, Deserialize)]
struct Config {
    #[serde(default)]
    auths: HashMap<String, Auth>,
    #[serde(default, rename = "credsStore")]
    store: String,
    #[serde(default, rename = "credHelpers")]
    helpers: HashMap<String, String>,
}

#[derive(Default, Deserialize)]
struct Auth {
    #[serde(default)]
    auth: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    identitytoken: String,
}

#[derive(Deserialize)]
struct HelperResponse {
    #[serde(rename = "Username")]
    username: String,
    #[serde(rename = "Secret")]
    secret: String,
}

/// The key of Docker Hub's credentials.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";
/// A helper that waits for a locked keychain may never respond; then there are no credentials.
const HELPER_TIMEOUT: Duration = Duration::from_secs(30);

impl Credentials {
    pub(crate) fn in_directory(directory: Option<&Path>) -> Self {
        Self { files: directory.map(|it| it.join("config.json")).into_iter().collect(), programs: None }
    }

    /// Adds the credentials of `podman login`.
    #[must_use]
    pub(crate) fn with_podman(
        mut self,
        environment: &dyn Fn(&str) -> Option<String>,
        home: Option<&Path>,
    ) -> Self {
        let variable = |name: &str| environment(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let runtime = variable("XDG_RUNTIME_DIR").map(|folder| folder.join("containers/auth.json"));
        let config = variable("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config")));
        let config = config.map(|folder| folder.join("containers/auth.json"));
        match variable("REGISTRY_AUTH_FILE") {
            Some(file) => self.files.push(file),
            None => self.files.extend(runtime.into_iter().chain(config)),
        }
        self
    }

    /// Sets the `PATH` for helpers.
    #[must_use]
    pub(crate) fn with_programs(self, programs: Option<String>) -> Self {
        Self { programs, ..self }
    }

    /// Returns the credentials for a registry, for example `localhost:5000` or `docker.io`; none: anonymous.
    ///
    /// Errors count as none, because the registry's error is more useful.
    pub async fn login(&self, host: &str) -> Option<Login> {
        let key = key(host);
        for file in &self.files {
            let Some(config) = read(file).await else { continue };
            if let Some(helper) = config.helper(host, &key)
                && let Ok(login) = self.run_helper(helper, &key).await
            {
                return Some(login);
            }
            let plain = config.auths.iter().find(|(name, _)| same_registry(name, &key));
            if let Some(login) = plain.and_then(|(_, auth)| auth.login()) {
                return Some(login);
            }
        }
        None
    }

    /// Returns the error of the helper that should have credentials for a host, for failures of the registry.
    pub(crate) async fn helper_error(&self, host: &str) -> Option<String> {
        let key = key(host);
        let config = read(self.files.first()?).await?;
        let helper = config.helper(host, &key)?;
        let why = self.run_helper(helper, &key).await.err()?;
        // Helpers report this if there is no login.
        let is_unknown = why.to_lowercase().contains("credentials not found");
        (!is_unknown).then(|| format!("docker-credential-{helper} gave no login for {host}: {why}"))
    }

    /// Returns the header with credentials for a push.
    pub(crate) async fn registry_auth(&self, host: &str) -> String {
        let login = self.login(host).await;
        URL_SAFE.encode(login.map_or_else(|| serde_json::json!({}), |login| login.json(host)).to_string())
    }

    /// Returns the header with credentials for a builder that cannot request them.
    pub(crate) async fn registry_config(&self, hosts: &[String]) -> String {
        let mut logins = serde_json::Map::new();
        for host in hosts {
            if let Some(login) = self.login(host).await {
                logins.insert(key(host), login.json(host));
            }
        }
        URL_SAFE.encode(serde_json::Value::Object(logins).to_string())
    }

    /// Runs a helper; returns its credentials or its error.
    async fn run_helper(&self, helper: &str, key: &str) -> Result<Login, String> {
        let mut command = tokio::process::Command::new(format!("docker-credential-{helper}"));
        if let Some(programs) = &self.programs {
            command.env("PATH", programs);
        }
        command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().map_err(|error| error.to_string())?;
        if let Some(mut input) = child.stdin.take() {
            // A helper that does not read its stdin reports why.
            let _ = input.write_all(key.as_bytes()).await;
        }
        let output = match tokio::time::timeout(HELPER_TIMEOUT, child.wait_with_output()).await {
            Ok(output) => output.map_err(|error| error.to_string())?,
            Err(_) => return Err(format!("no answer within {} seconds", HELPER_TIMEOUT.as_secs())),
        };
        if !output.status.success() {
            // Helpers print errors to stdout.
            let said =
                [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).trim().to_owned());
            let said = said.into_iter().find(|text| !text.is_empty());
            return Err(said.unwrap_or_else(|| output.status.to_string()));
        }
        let answer: HelperResponse =
            serde_json::from_slice(&output.stdout).map_err(|error| format!("not understood: {error}"))?;
        Ok(match answer.username.as_str() {
            "<token>" => {
                Login { username: String::new(), password: String::new(), identity_token: answer.secret }
            }
            _ => Login { username: answer.username, password: answer.secret, identity_token: String::new() },
        })
    }
}

async fn read(path: &Path) -> Option<Config> {
    let path = path.to_owned();
    let text = tokio::task::spawn_blocking(move || std::fs::read(path)).await.ok()?.ok()?;
    serde_json::from_slice(&text).ok()
}

impl Config {
    /// Returns the helper for a registry.
    fn helper(&self, host: &str, key: &str) -> Option<&str> {
        let own = self.helpers.get(key).or_else(|| self.helpers.get(host));
        own.or(Some(&self.store)).map(String::as_str).filter(|name| !name.is_empty())
    }
}

impl Login {
    /// Encodes the credentials for the engine's headers.
    fn json(&self, host: &str) -> serde_json::Value {
        if !self.identity_token.is_empty() {
            return serde_json::json!({"identitytoken": self.identity_token, "serveraddress": key(host)});
        }
        serde_json::json!({"username": self.username, "password": self.password, "serveraddress": key(host)})
    }
}

impl Auth {
    fn login(&self) -> Option<Login> {
        let (mut username, mut password) = (self.username.clone(), self.password.clone());
        if !self.auth.is_empty() {
            let decoded = String::from_utf8(STANDARD.decode(&self.auth).ok()?).ok()?;
            let (name, secret) = decoded.split_once(':')?;
            (username, password) = (name.to_owned(), secret.trim_end_matches('\0').to_owned());
        }
        if username.is_empty() && self.identitytoken.is_empty() {
            return None;
        }
        Some(Login { username, password, identity_token: self.identitytoken.clone() })
    }
}

fn key(host: &str) -> String {
    match host {
        "docker.io" | "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB.to_owned(),
        _ => host.to_owned(),
    }
}

/// Whether the name of an entry, which may be a URL, is this registry.
fn same_registry(name: &str, key: &str) -> bool {
    let bare = |text: &str| {
        let text = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
        text.split('/').next().unwrap_or_default().to_owned()
    };
    name == key || bare(name) == bare(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn login(config: serde_json::Value, host: &str) -> Option<Login> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("config.json"), config.to_string()).unwrap();
        Credentials::in_directory(Some(directory.path())).login(host).await
    }

    fn me(password: &str) -> Option<Login> {
        Some(Login { username: "me".into(), password: password.into(), identity_token: String::new() })
    }

    #[tokio::test]
    async fn credentials_are_found_under_every_registry_name() {
        let config = serde_json::json!({"auths": {
            "https://index.docker.io/v1/": {"auth": STANDARD.encode("me:hub")},
            "localhost:5000": {"username": "me", "password": "local"},
            "https://gcr.io/v2/": {"auth": STANDARD.encode("me:a:b")},
            "empty.example.com": {},
        }});
        assert_eq!(login(config.clone(), "docker.io").await, me("hub"));
        assert_eq!(login(config.clone(), "registry-1.docker.io").await, me("hub"));
        assert_eq!(login(config.clone(), "localhost:5000").await, me("local"));
        assert_eq!(login(config.clone(), "gcr.io").await, me("a:b"));
        assert_eq!(login(config.clone(), "empty.example.com").await, None);
        assert_eq!(login(config, "localhost:5001").await, None);
    }

    #[tokio::test]
    async fn missing_helper_falls_back_to_the_plain_entry() {
        let config = serde_json::json!({
            "credsStore": "no-such-helper-of-lilt", "auths": {"r.example.com": {"auth": STANDARD.encode("me:plain")}},
        });
        assert_eq!(login(config, "r.example.com").await, me("plain"));
    }

    #[tokio::test]
    async fn docker_credentials_win_over_podman() {
        let folder = tempfile::tempdir().unwrap();
        let entry = |password: &str| serde_json::json!({"auth": STANDARD.encode(format!("me:{password}"))});
        let write = |name: &str, auths: serde_json::Value| {
            std::fs::write(folder.path().join(name), serde_json::json!({"auths": auths}).to_string())
                .unwrap();
        };
        write("config.json", serde_json::json!({"both.example.com": entry("docker")}));
        let podmans =
            serde_json::json!({"both.example.com": entry("podman"), "quay.io/team": entry("podman")});
        write("auth.json", podmans);
        let file = folder.path().join("auth.json").display().to_string();
        let environment = |name: &str| (name == "REGISTRY_AUTH_FILE").then(|| file.clone());
        let credentials = Credentials::in_directory(Some(folder.path())).with_podman(&environment, None);
        assert_eq!(credentials.login("both.example.com").await, me("docker"));
        assert_eq!(credentials.login("quay.io").await, me("podman"));
        assert_eq!(credentials.login("other.example.com").await, None);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn helper_error_is_reported() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let helper = |name: &str, script: &str| {
            let path = folder.path().join(format!("docker-credential-{name}"));
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        helper("expired", "echo 'the session has expired' >&2; exit 1");
        helper("empty", "echo 'credentials not found in native keychain'; exit 1");
        let helpers = serde_json::json!({"a.example.com": "expired", "b.example.com": "empty",
            "c.example.com": "absent"});
        let config = serde_json::json!({"credHelpers": helpers}).to_string();
        std::fs::write(folder.path().join("config.json"), config).unwrap();
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let credentials = Credentials::in_directory(Some(folder.path())).with_programs(Some(path));
        let trouble = async |host: &str| credentials.helper_error(host).await.unwrap_or_default();
        assert_eq!(
            trouble("a.example.com").await,
            "docker-credential-expired gave no login for a.example.com: the session has expired"
        );
        assert_eq!(trouble("b.example.com").await, "", "nobody has logged in: that is no trouble");
        assert!(trouble("c.example.com").await.contains("No such file"));
        assert_eq!(trouble("d.example.com").await, "");
    }

    #[test]
    fn debug_omits_secrets() {
        let login = me("hunter2").unwrap();
        assert!(!format!("{login:?}").contains("hunter2"));
    }
}
