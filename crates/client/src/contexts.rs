//! The file in which clients find the API of a session: a kubeconfig with one context per session.

use std::path::PathBuf;

use kube::config::Kubeconfig;
use lilt_host::environment;
use lilt_model::Failure;
use serde_json::{Value, json};

use crate::DEFAULT_PORT;

/// Returns the name of a session's context.
pub fn context_name(port: u16) -> String {
    if port == DEFAULT_PORT { "tilt-default".to_owned() } else { format!("tilt-{port}") }
}

/// Returns the file with the contexts of all sessions of this user.
pub fn config_file() -> Option<PathBuf> {
    if let Some(path) = environment::variable(environment::TILT_CONFIG) {
        return Some(PathBuf::from(path));
    }
    environment::tilt_folder().map(|folder| folder.join("config"))
}

/// The context of one session, as the session writes it.
#[derive(Clone, Debug)]
pub struct SessionContext {
    /// `tilt-default`, or `tilt-` and the port.
    pub name: String,
    /// `https://127.0.0.1:…`
    pub server: String,
    /// The server's certificate, PEM in base64.
    pub certificate: String,
    pub token: String,
}

/// Returns the text of the file with a session's context, in place of one of the same name.
pub fn add_context(text: &str, session: &SessionContext) -> Result<String, Failure> {
    let mut config = parse_without(text, &session.name)?;
    let SessionContext { name, server, certificate, token } = session;
    let mut add = |list: &str, value: Value| {
        if let Some(items) = config.get_mut(list).and_then(Value::as_array_mut) {
            items.push(value);
        }
    };
    let cluster = json!({"server": server, "certificate-authority-data": certificate});
    add("clusters", json!({"name": name, "cluster": cluster}));
    add("users", json!({"name": name, "user": {"token": token}}));
    add("contexts", json!({"name": name, "context": {"cluster": name, "user": name}}));
    write(&config)
}

/// Returns the text of the file without the context of this name.
pub fn remove_context(text: &str, name: &str) -> Result<String, Failure> {
    write(&parse_without(text, name)?)
}

/// Returns whether the context of this name exists and has this server.
pub fn context_has_server(text: &str, name: &str, server: &str) -> bool {
    let Ok(config) = Kubeconfig::from_yaml(text) else { return false };
    let named = config.clusters.iter().find(|cluster| cluster.name == name);
    named.and_then(|it| it.cluster.as_ref()).and_then(|it| it.server.as_deref()) == Some(server)
}

/// What a client needs to connect to a session.
#[derive(Clone)]
pub struct ContextAccess {
    /// `https://127.0.0.1:…`
    pub server: String,
    /// The server's certificate, PEM in base64.
    pub certificate: Option<String>,
    pub token: Option<String>,
    /// The client's own certificate and its key, PEM in base64.
    pub client: Option<(String, String)>,
}

impl std::fmt::Debug for ContextAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContextAccess").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Returns the access that a context gives; none if there is no context of this name.
pub fn find_access(kubeconfig: &str, name: &str) -> Result<Option<ContextAccess>, Failure> {
    let config = parse(kubeconfig)?;
    let named = |list: &str, name: &str| {
        let items = config.get(list).and_then(Value::as_array);
        items.into_iter().flatten().find(|item| item["name"] == *name)
    };
    let text = |item: Option<&Value>, pointer: &str| {
        item.and_then(|item| item.pointer(pointer)).and_then(Value::as_str).map(str::to_owned)
    };
    let context = named("contexts", name);
    let cluster = text(context, "/context/cluster").and_then(|name| named("clusters", &name));
    let user = text(context, "/context/user").and_then(|name| named("users", &name));
    let own_certificate = text(user, "/user/client-certificate-data");
    let access = |server| ContextAccess {
        server,
        certificate: text(cluster, "/cluster/certificate-authority-data"),
        token: text(user, "/user/token"),
        client: own_certificate.zip(text(user, "/user/client-key-data")),
    };
    Ok(text(cluster, "/cluster/server").map(access))
}

/// Parses the file; what no kubeconfig has is left out.
fn parse(text: &str) -> Result<Value, Failure> {
    let invalid =
        |error: &dyn std::fmt::Display| Failure::environment(format!("it is no kubeconfig: {error}"));
    let config = Kubeconfig::from_yaml(text).map_err(|error| invalid(&error))?;
    serde_json::to_value(config).map_err(|error| invalid(&error))
}

/// Parses the file and drops the context of one name.
fn parse_without(text: &str, without: &str) -> Result<Value, Failure> {
    let mut config = parse(text)?;
    config["apiVersion"] = json!("v1");
    config["kind"] = json!("Config");
    for list in ["clusters", "users", "contexts"] {
        if !config[list].is_array() {
            config[list] = json!([]);
        }
        if let Some(items) = config[list].as_array_mut() {
            items.retain(|item| item["name"] != *without);
        }
    }
    Ok(config)
}

/// Writes the file as JSON, which is YAML, too.
fn write(config: &Value) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(config).map_err(|error| Failure::internal(error.to_string()))?;
    Ok(format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_added_and_removed_individually() {
        let before = "apiVersion: v1\nkind: Config\nclusters:\n- name: other\n  cluster: {server: 'https://o'}\ncontexts: []\nusers: []\n";
        let session = SessionContext {
            name: "tilt-default".into(),
            server: "https://x".into(),
            certificate: "Yw==".into(),
            token: "t".into(),
        };
        let with = add_context(before, &session).expect("a config");
        let again = add_context(&with, &session).expect("a config");
        assert_eq!(with, again);
        assert!(
            context_has_server(&with, "tilt-default", "https://x")
                && context_has_server(&with, "other", "https://o")
        );
        let access = find_access(&with, "tilt-default").expect("a config").expect("a session");
        assert_eq!((access.server.as_str(), access.token.as_deref()), ("https://x", Some("t")));
        let without = remove_context(&with, "tilt-default").expect("a config");
        assert!(
            !context_has_server(&without, "tilt-default", "https://x")
                && context_has_server(&without, "other", "https://o")
        );
        assert!(add_context("", &session).is_ok());
        assert!(add_context("[1", &session).is_err());
    }
}
