//! Normalizes the entries of a context the way client-go's `clientcmd` does, where kube differs.
//!
//! Empty strings mean "not set", a key counts only with its certificate, and of several kinds of credentials
//! kubectl's choice is used. Contradictions that kubectl rejects are errors.
#![allow(clippy::disallowed_methods, reason = "a token file that kubeconfig names is read here")]

use kube::config::{AuthInfo, Cluster, Kubeconfig};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

type Fields = Map<String, Value>;

const CERTIFICATE: &[&str] = &["client-certificate", "client-certificate-data"];

/// Normalizes the cluster and the user of a context. The error is a single line.
pub(super) fn normalize(kubeconfig: &mut Kubeconfig, context: &str) -> Result<(), String> {
    let Some(named) = kubeconfig.contexts.iter_mut().find(|known| known.name == context) else {
        return Ok(());
    };
    let Some(context) = named.context.as_mut() else { return Ok(()) };
    context.namespace.take_if(|namespace| namespace.is_empty());
    let entry = kubeconfig.clusters.iter_mut().find(|known| known.name == context.cluster);
    let mut is_secure = true;
    if let Some(cluster) = entry.and_then(|it| it.cluster.as_mut()) {
        *cluster = normalize_cluster(cluster)?;
        is_secure = cluster.server.as_deref().is_some_and(|server| !server.starts_with("http://"));
    }
    let entry = kubeconfig.auth_infos.iter_mut().find(|known| Some(&known.name) == context.user.as_ref());
    if let Some(user) = entry.and_then(|it| it.auth_info.as_mut()) {
        *user = normalize_user(user, is_secure)?;
    }
    Ok(())
}

fn normalize_cluster(cluster: &Cluster) -> Result<Cluster, String> {
    let mut fields = fields(cluster)?;
    refuse_both(&fields, "certificate-authority")?;
    let has_authority = has(&fields, &["certificate-authority", "certificate-authority-data"]);
    if has_authority && fields.get("insecure-skip-tls-verify") == Some(&Value::Bool(true)) {
        return Err("insecure-skip-tls-verify cannot be combined with a certificate-authority".to_owned());
    }
    if let Some(Value::String(server)) = fields.get_mut("server")
        && !server.contains("://")
    {
        *server = format!("http://{server}");
    }
    rebuild(fields)
}

fn normalize_user(user: &AuthInfo, is_secure: bool) -> Result<AuthInfo, String> {
    let mut fields = fields(user)?;
    validate_user(&fields)?;
    if let Some(provider) = &user.auth_provider {
        match provider.name.as_str() {
            "oidc" => super::oidc::validate(provider)?,
            "gcp" => {}
            name => return Err(format!("there is no auth-provider `{name}`: use an exec plugin")),
        }
    }
    if !is_secure {
        // Like kubectl, send no credentials without TLS.
        fields.retain(|name, _| name.starts_with("as"));
        return rebuild(fields);
    }
    let has_certificate = has(&fields, CERTIFICATE);
    if !has_certificate {
        fields.retain(|name, _| !name.starts_with("client-key"));
    }
    if has(&fields, &["token"]) && has(&fields, &["tokenFile"]) {
        // The file wins as long as it is readable.
        let file = fields["tokenFile"].as_str().map(std::fs::read_to_string);
        let is_usable = file.is_some_and(|text| text.is_ok_and(|text| !text.trim().is_empty()));
        fields.remove(if is_usable { "token" } else { "tokenFile" });
    }
    if let Some(file) = fields.get("tokenFile").and_then(Value::as_str) {
        match std::fs::read(file) {
            // It is reread when it is needed.
            Err(error) if !lilt_model::os_error::is_shortage(&error) => {
                return Err(format!("cannot read the tokenFile {file}: {error}"));
            }
            _ => {}
        }
    }
    let has_token = has(&fields, &["token", "tokenFile"]);
    let has_basic = has(&fields, &["username"]);
    if has_basic {
        fields.entry("password").or_insert_with(|| "".into());
    }
    if has_token || has_basic {
        fields.remove("auth-provider");
    }
    if has_token || has_basic || has_certificate {
        fields.remove("exec");
    }
    rebuild(fields)
}

/// Rejects what kubectl rejects.
fn validate_user(fields: &Fields) -> Result<(), String> {
    if !has(fields, &["as"]) && has(fields, &["as-uid", "as-groups", "as-user-extra"]) {
        return Err("as-uid, as-groups and as-user-extra need a user to impersonate in `as`".to_owned());
    }
    if has(fields, CERTIFICATE) {
        refuse_both(fields, "client-certificate")?;
        refuse_both(fields, "client-key")?;
        if !has(fields, &["client-key", "client-key-data"]) {
            return Err("a client-certificate needs a client-key or client-key-data".to_owned());
        }
    }
    if has(fields, &["exec"]) && has(fields, &["auth-provider"]) {
        return Err("exec and auth-provider cannot be combined".to_owned());
    }
    if fields.get("exec").is_some_and(|exec| exec.get("command").is_none()) {
        return Err("exec needs a command".to_owned());
    }
    if has(fields, &["token", "tokenFile"]) && has(fields, &["username"]) {
        return Err("a token and a username cannot be combined".to_owned());
    }
    let token = fields.get("token").and_then(Value::as_str).unwrap_or_default();
    if http::HeaderValue::from_str(token).is_err() {
        return Err("the token contains a line break or another control character".to_owned());
    }
    Ok(())
}

fn has(fields: &Fields, names: &[&str]) -> bool {
    names.iter().any(|name| fields.contains_key(*name))
}

fn refuse_both(fields: &Fields, field: &str) -> Result<(), String> {
    let data = format!("{field}-data");
    if has(fields, &[field]) && has(fields, &[&data]) {
        return Err(format!("{field} and {data} cannot be combined"));
    }
    Ok(())
}

/// Returns the fields of an entry that are set. Serializing is the only way to read secrets from kube's types.
fn fields(entry: &impl Serialize) -> Result<Fields, String> {
    let Value::Object(mut fields) = serde_json::to_value(entry).map_err(|error| error.to_string())? else {
        return Err("an entry of the kubeconfig is not a mapping".to_owned());
    };
    let is_empty = |value: &Value| {
        value.is_null()
            || value == ""
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(Map::is_empty)
    };
    fields.retain(|_, value| !is_empty(value));
    // Go ignores line breaks in base64.
    for (name, value) in &mut fields {
        if let Value::String(data) = value
            && name.ends_with("-data")
        {
            data.retain(|letter| letter != '\n' && letter != '\r');
        }
    }
    Ok(fields)
}

fn rebuild<T: DeserializeOwned>(fields: Fields) -> Result<T, String> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(fields: Value, is_secure: bool) -> Result<Value, String> {
        let user: AuthInfo = serde_json::from_value(fields).unwrap();
        normalize_user(&user, is_secure).map(|user| serde_json::to_value(user).unwrap())
    }

    fn cluster(fields: Value) -> Result<Value, String> {
        let cluster: Cluster = serde_json::from_value(fields).unwrap();
        normalize_cluster(&cluster).map(|cluster| serde_json::to_value(cluster).unwrap())
    }

    #[test]
    fn key_without_certificate_is_ignored() {
        let token = json!({"token": "t"});
        assert_eq!(user(json!({"token": "t", "client-key-data": "a2V5"}), true).unwrap(), token);
        assert_eq!(user(json!({"token": "t", "client-key": "/nowhere"}), true).unwrap(), token);
        assert!(user(json!({"client-certificate-data": "eA=="}), true).is_err());
    }

    #[test]
    fn empty_values_are_not_set() {
        let empty = json!({"token": "", "tokenFile": "", "client-certificate": "", "client-key-data": "",
            "username": "", "password": "", "as": "", "as-groups": [], "as-user-extra": {}});
        assert_eq!(user(empty, true).unwrap(), json!({}));
        let broken = json!({"client-certificate-data": "ZQ\n==\n", "client-key": "/k"});
        let expected = json!({"client-certificate-data": "ZQ==", "client-key": "/k"});
        assert_eq!(user(broken, true).unwrap(), expected);
        let empty = json!({"server": "https://x", "tls-server-name": "", "proxy-url": "",
            "certificate-authority": "", "certificate-authority-data": "ZQ=="});
        assert_eq!(
            cluster(empty).unwrap(),
            json!({"server": "https://x", "certificate-authority-data": "ZQ=="})
        );
    }

    #[test]
    fn token_file_wins_over_a_token_while_it_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t");
        let both = json!({"token": "t", "tokenFile": file});
        assert_eq!(user(both.clone(), true).unwrap(), json!({"token": "t"}));
        std::fs::write(&file, "from-file\n").unwrap();
        assert_eq!(user(both, true).unwrap(), json!({"tokenFile": file}));
    }

    #[test]
    fn exec_plugin_is_used_only_without_other_credentials() {
        let exec = json!({"command": "login"});
        let kept = |fields: Value| user(fields, true).unwrap().get("exec").is_some();
        assert!(kept(json!({"exec": exec})));
        assert!(!kept(json!({"exec": exec, "token": "t"})));
        assert!(!kept(json!({"exec": exec, "username": "me"})));
        assert!(!kept(json!({"exec": exec, "client-certificate-data": "eA==", "client-key-data": "eA=="})));
        let provider = json!({"name": "oidc", "config": {"idp-issuer-url": "https://i", "client-id": "c"}});
        let token = json!({"token": "t", "auth-provider": provider});
        assert_eq!(user(token, true).unwrap(), json!({"token": "t"}));
    }

    #[test]
    fn contradictions_are_errors() {
        assert!(user(json!({"token": "t", "username": "me"}), true).is_err());
        assert!(user(json!({"exec": {}, "auth-provider": {"name": "oidc"}}), true).is_err());
        assert!(user(json!({"as-groups": ["g"]}), true).is_err());
        assert!(user(json!({"auth-provider": {"name": "oidc"}}), true).is_err());
        assert!(user(json!({"token": "t", "auth-provider": {"name": "other"}}), true).is_err());
        assert!(user(json!({"exec": {"apiVersion": "v1"}}), true).is_err());
        assert!(user(json!({"token": "two\nlines"}), true).is_err());
        let both = json!({"client-certificate": "/c", "client-certificate-data": "eA==", "client-key": "/k"});
        assert!(user(both, true).is_err());
        let insecure = json!({"server": "https://x", "insecure-skip-tls-verify": true,
            "certificate-authority-data": "eA=="});
        assert!(cluster(insecure).is_err());
    }

    #[test]
    fn no_credentials_are_sent_without_tls() {
        assert_eq!(user(json!({"token": "t", "as": "you"}), false).unwrap(), json!({"as": "you"}));
        assert_eq!(
            cluster(json!({"server": "127.0.0.1:80"})).unwrap(),
            json!({"server": "http://127.0.0.1:80"})
        );
    }
}
