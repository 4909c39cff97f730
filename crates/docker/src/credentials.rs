//! Registry credentials from Docker's `config.json`.
//!
//! Read anew at each use: people log in while lilt runs. Credential helpers (`credsStore`, `credHelpers`) are asked
//! through their program, which may not take for ever.
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

/// What Docker's configuration says about logins.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The directory of `config.json`.
    directory: Option<PathBuf>,
    /// Where helpers are looked for; none: where this process looks.
    programs: Option<String>,
}

/// One login. Its `Debug` never shows the secret.
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
struct HelperAnswer {
    #[serde(rename = "Username")]
    username: String,
    #[serde(rename = "Secret")]
    secret: String,
}

/// Under which key Docker Hub's login is kept.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";
/// A helper that asks a locked keychain may never answer; then we go on without a login.
const HELPER_PATIENCE: Duration = Duration::from_secs(30);

impl Credentials {
    pub(crate) fn in_directory(directory: Option<&Path>) -> Self {
        Self { directory: directory.map(Path::to_owned), programs: None }
    }

    /// With the `PATH` that helpers are found in.
    #[must_use]
    pub(crate) fn with_programs(self, programs: Option<String>) -> Self {
        Self { programs, ..self }
    }

    /// The login for a registry's host, as `localhost:5000` or `docker.io`; none means anonymous. What cannot be
    /// read counts as none: the registry's own refusal is the better message.
    pub async fn login(&self, host: &str) -> Option<Login> {
        let config = self.read().await?;
        let key = key(host);
        let helper = config.helpers.get(&key).or_else(|| config.helpers.get(host));
        let helper = helper.cloned().or_else(|| Some(config.store.clone()).filter(|store| !store.is_empty()));
        if let Some(helper) = helper
            && let Some(login) = self.ask_helper(&helper, &key).await
        {
            return Some(login);
        }
        config.auths.iter().find(|(name, _)| same_registry(name, &key)).and_then(|(_, auth)| auth.login())
    }

    /// The header that the engine wants with a push.
    pub(crate) async fn registry_auth(&self, host: &str) -> String {
        let login = self.login(host).await;
        URL_SAFE.encode(login.map_or_else(|| serde_json::json!({}), |login| login.json(host)).to_string())
    }

    /// The header that a builder wants which cannot ask for logins.
    pub(crate) async fn registry_config(&self, hosts: &[String]) -> String {
        let mut logins = serde_json::Map::new();
        for host in hosts {
            if let Some(login) = self.login(host).await {
                logins.insert(key(host), login.json(host));
            }
        }
        URL_SAFE.encode(serde_json::Value::Object(logins).to_string())
    }

    async fn ask_helper(&self, helper: &str, key: &str) -> Option<Login> {
        let mut command = tokio::process::Command::new(format!("docker-credential-{helper}"));
        if let Some(programs) = &self.programs {
            command.env("PATH", programs);
        }
        let mut child = command
            .arg("get")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .ok()?;
        child.stdin.take()?.write_all(key.as_bytes()).await.ok()?;
        let output = tokio::time::timeout(HELPER_PATIENCE, child.wait_with_output()).await.ok()?.ok()?;
        if !output.status.success() {
            return None;
        }
        let answer: HelperAnswer = serde_json::from_slice(&output.stdout).ok()?;
        if answer.username == "<token>" {
            return Some(Login {
                username: String::new(),
                password: String::new(),
                identity_token: answer.secret,
            });
        }
        Some(Login { username: answer.username, password: answer.secret, identity_token: String::new() })
    }

    async fn read(&self) -> Option<Config> {
        let path = self.directory.as_ref()?.join("config.json");
        let text = tokio::task::spawn_blocking(move || std::fs::read(path)).await.ok()?.ok()?;
        serde_json::from_slice(&text).ok()
    }
}

impl Login {
    /// As the engine's headers want it.
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

/// Whether an entry's name, which may be an address with scheme and path, means this registry.
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
    async fn a_login_is_found_under_every_name_docker_uses() {
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
    async fn a_helper_that_does_not_exist_means_the_plain_entry() {
        let config = serde_json::json!({
            "credsStore": "no-such-helper-of-lilt", "auths": {"r.example.com": {"auth": STANDARD.encode("me:plain")}},
        });
        assert_eq!(login(config, "r.example.com").await, me("plain"));
    }

    #[test]
    fn a_secret_is_not_shown() {
        let login = me("hunter2").unwrap();
        assert!(!format!("{login:?}").contains("hunter2"));
    }
}
