//! The file in which clients find the API of a session: a kubeconfig with one context per session.

use std::path::PathBuf;

use kube::config::Kubeconfig;
use lilt_host::environment;
use lilt_model::Failure;
use serde_json::{Value, json};

use crate::DEFAULT_PORT;

/// The name of a session's context.
pub fn context_name(port: u16) -> String {
    if port == DEFAULT_PORT { "tilt-default".to_owned() } else { format!("tilt-{port}") }
}

/// The file with the contexts of all sessions of this user.
pub fn config_file() -> Option<PathBuf> {
    if let Some(path) = environment::variable(environment::TILT_CONFIG) {
        return Some(PathBuf::from(path));
    }
    environment::tilt_folder().map(|folder| folder.join("config"))
}

/// How to reach one session.
#[derive(Clone, Debug)]
pub struct Entry {
    /// `tilt-default`, or `tilt-` and the port.
    pub name: String,
    /// `https://127.0.0.1:…`
    pub server: String,
    /// The server's certificate, PEM in base64.
    pub certificate: String,
    pub token: String,
}

/// The text of the file with an entry; one of the same name is replaced.
pub fn with_entry(text: &str, entry: &Entry) -> Result<String, Failure> {
    let mut config = read(text, &entry.name)?;
    let Entry { name, server, certificate, token } = entry;
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

/// The text of the file without the entry of this name.
pub fn without_entry(text: &str, name: &str) -> Result<String, Failure> {
    write(&read(text, name)?)
}

/// Whether the entry of this name is there and leads to this server.
pub fn leads_to(text: &str, name: &str, server: &str) -> bool {
    let Ok(config) = Kubeconfig::from_yaml(text) else { return false };
    let named = config.clusters.iter().find(|cluster| cluster.name == name);
    named.and_then(|it| it.cluster.as_ref()).and_then(|it| it.server.as_deref()) == Some(server)
}

/// What a client needs to speak to a session.
#[derive(Clone)]
pub struct Access {
    /// `https://127.0.0.1:…`
    pub server: String,
    /// The server's certificate, PEM in base64.
    pub certificate: Option<String>,
    pub token: Option<String>,
    /// The client's own certificate and its key, PEM in base64.
    pub client: Option<(String, String)>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("server", &self.server).finish_non_exhaustive()
    }
}

/// What the file says about a context; none if it has none of this name.
pub fn access(text: &str, name: &str) -> Result<Option<Access>, Failure> {
    let config = values(text)?;
    let named = |list: &str, name: &str| {
        let items = config.get(list).and_then(Value::as_array);
        items.into_iter().flatten().find(|item| item["name"] == *name)
    };
    let said = |item: Option<&Value>, pointer: &str| {
        item.and_then(|item| item.pointer(pointer)).and_then(Value::as_str).map(str::to_owned)
    };
    let context = named("contexts", name);
    let cluster = said(context, "/context/cluster").and_then(|name| named("clusters", &name));
    let user = said(context, "/context/user").and_then(|name| named("users", &name));
    let own_certificate = said(user, "/user/client-certificate-data");
    let access = |server| Access {
        server,
        certificate: said(cluster, "/cluster/certificate-authority-data"),
        token: said(user, "/user/token"),
        client: own_certificate.zip(said(user, "/user/client-key-data")),
    };
    Ok(said(cluster, "/cluster/server").map(access))
}

/// The file as plain data, as far as kubeconfigs go.
fn values(text: &str) -> Result<Value, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::environment(format!("it is no kubeconfig: {error}"));
    let config = Kubeconfig::from_yaml(text).map_err(|error| wrong(&error))?;
    serde_json::to_value(config).map_err(|error| wrong(&error))
}

fn read(text: &str, without: &str) -> Result<Value, Failure> {
    let mut config = values(text)?;
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

/// JSON is YAML too.
fn write(config: &Value) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(config).map_err(|error| Failure::internal(error.to_string()))?;
    Ok(format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_and_go_and_leave_others_alone() {
        let before = "apiVersion: v1\nkind: Config\nclusters:\n- name: other\n  cluster: {server: 'https://o'}\ncontexts: []\nusers: []\n";
        let entry = Entry {
            name: "tilt-default".into(),
            server: "https://x".into(),
            certificate: "Yw==".into(),
            token: "t".into(),
        };
        let with = with_entry(before, &entry).expect("a config");
        let again = with_entry(&with, &entry).expect("a config");
        assert_eq!(with, again);
        assert!(leads_to(&with, "tilt-default", "https://x") && leads_to(&with, "other", "https://o"));
        let access = access(&with, "tilt-default").expect("a config").expect("an entry");
        assert_eq!((access.server.as_str(), access.token.as_deref()), ("https://x", Some("t")));
        let without = without_entry(&with, "tilt-default").expect("a config");
        assert!(!leads_to(&without, "tilt-default", "https://x") && leads_to(&without, "other", "https://o"));
        assert!(with_entry("", &entry).is_ok());
        assert!(with_entry("[1", &entry).is_err());
    }
}
