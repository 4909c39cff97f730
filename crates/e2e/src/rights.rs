//! Users of the cluster with few permissions.

use lilt_testbed_env::{Namespace, Project};
use serde_json::{Value, json};

/// Creates the kubeconfig of a user `somebody` who has only these permissions in the namespace.
pub fn restricted_kubeconfig(namespace: &Namespace, rules: &Value) -> Project {
    let meta = json!({"name": "somebody"});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta, "rules": rules});
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "somebody"},
        "subjects": [{"kind": "ServiceAccount", "name": "somebody"}],
    });
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta});
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [account, role, binding]}).to_string();
    let home = Project::new(&[("objects.json", &objects)]);
    namespace.kubectl(&["apply", "-f", &home.file("objects.json").to_string_lossy()]);
    let token = namespace.kubectl(&["create", "token", "somebody"]);
    let config = namespace.kubectl(&["config", "view", "--raw", "--flatten", "-o", "json"]);
    let mut config: Value = serde_json::from_str(&config).expect("kubectl prints JSON");
    config["users"] = json!([{"name": "somebody", "user": {"token": token.trim()}}]);
    config["contexts"][0]["context"]["user"] = json!("somebody");
    // Named differently than kind's: the Tiltfile sets the registry.
    config["clusters"][0]["name"] = json!("office");
    config["contexts"][0]["context"]["cluster"] = json!("office");
    config["contexts"][0]["name"] = json!("somebody");
    config["current-context"] = json!("somebody");
    home.write("kubeconfig", &config.to_string());
    home
}
