//! The file in which clients find the API of a session: a kubeconfig with one context per session.

use kube::config::Kubeconfig;
use lilt_model::Failure;
use serde_json::{Value, json};

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

fn read(text: &str, without: &str) -> Result<Value, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::environment(format!("it is no kubeconfig: {error}"));
    let config = Kubeconfig::from_yaml(text).map_err(|error| wrong(&error))?;
    let mut config = serde_json::to_value(config).map_err(|error| wrong(&error))?;
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
        let without = without_entry(&with, "tilt-default").expect("a config");
        assert!(!leads_to(&without, "tilt-default", "https://x") && leads_to(&without, "other", "https://o"));
        assert!(with_entry("", &entry).is_ok());
        assert!(with_entry("[1", &entry).is_err());
    }
}
