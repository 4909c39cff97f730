//! Writes new tokens of an auth provider into the kubeconfig that has the user, as client-go does.
#![allow(clippy::disallowed_methods, reason = "the one place that writes kubeconfig files")]

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use lilt_model::yaml;
use serde_json::Value;

/// Sets fields of `auth-provider.config` of a user. The rest of the file, including comments, is kept if possible.
pub(super) fn write_tokens(file: &Path, user: &str, changes: &[(&str, String)]) -> Result<(), String> {
    if changes.is_empty() {
        return Ok(());
    }
    let _lock = Lock::take(file)?;
    let file = std::fs::canonicalize(file).map_err(|error| error.to_string())?;
    let before = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
    let after = change(&before, user, changes)?;
    replace(&file, after.as_bytes()).map_err(|error| error.to_string())
}

/// Returns those of these fields of `auth-provider.config` of a user that are set.
pub(super) fn read_tokens(file: &Path, user: &str, fields: &[&str]) -> Result<Vec<(String, String)>, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let documents = lilt_model::kubeconfig::documents(&bytes)?;
    let users = documents.iter().filter_map(|document| document.get("users")?.as_array()).flatten();
    let entry = users.into_iter().find(|known| known["name"] == user);
    let config = entry.and_then(|entry| entry.pointer("/user/auth-provider/config"));
    let value = |field: &&str| Some(((*field).to_owned(), config?.get(*field)?.as_str()?.to_owned()));
    Ok(fields.iter().filter_map(value).collect())
}

fn change(before: &str, user: &str, changes: &[(&str, String)]) -> Result<String, String> {
    let parse = |text: &str| yaml::document(text).map_err(|error| error.to_string());
    let mut wanted = parse(before)?;
    let users = wanted.get_mut("users").and_then(Value::as_array_mut);
    let entry = users.and_then(|users| users.iter_mut().find(|known| known["name"] == user));
    let config = entry.and_then(|entry| entry.pointer_mut("/user/auth-provider/config"));
    let config = config.and_then(Value::as_object_mut).ok_or("the user is no longer there")?;
    let mut text = before.to_owned();
    for (field, value) in changes {
        let old = config.insert((*field).to_owned(), value.clone().into());
        if let Some(old) = old.as_ref().and_then(Value::as_str).filter(|old| !old.is_empty()) {
            text = text.replace(old, value);
        }
    }
    // Tokens are long and occur once, but only parsing shows that nothing else was changed.
    match parse(&text) {
        Ok(found) if found == wanted => Ok(text),
        _ => yaml::encode(&wanted).map_err(|error| error.to_string()),
    }
}

/// Replaces a file atomically where its folder allows that.
fn replace(file: &Path, content: &[u8]) -> io::Result<()> {
    let permissions = std::fs::metadata(file)?.permissions();
    let unfinished = appended(file, ".lilt-unfinished");
    let written = (|| {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&unfinished)?.write_all(content)?;
        std::fs::set_permissions(&unfinished, permissions)?;
        std::fs::rename(&unfinished, file)
    })();
    written.or_else(|error| {
        let _ = std::fs::remove_file(&unfinished);
        // Write in place only if the folder prevents the rename: on a full disk that would truncate the file.
        match error.kind() {
            io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::CrossesDevices
            | io::ErrorKind::ResourceBusy => std::fs::write(file, content),
            _ => Err(error),
        }
    })
}

/// client-go's lock: a file beside the kubeconfig.
struct Lock(PathBuf);

impl Lock {
    fn take(file: &Path) -> Result<Self, String> {
        let path = appended(file, ".lock");
        let taken = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
        taken.map(|_| Self(path.clone())).map_err(|error| format!("{}: {error}", path.display()))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn appended(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "# mine\nusers:\n- name: me\n  user:\n    auth-provider:\n      name: oidc\n      config:\n        \
                          id-token: old-id # expires\n        refresh-token: old-refresh\n- name: you\n";

    fn changes() -> [(&'static str, String); 2] {
        [("id-token", "new-id".to_owned()), ("refresh-token", "new-refresh".to_owned())]
    }

    #[test]
    fn tokens_are_replaced_and_the_rest_of_the_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, CONFIG).unwrap();
        write_tokens(&file, "me", &changes()).unwrap();
        let expected = CONFIG.replace("old-id", "new-id").replace("old-refresh", "new-refresh");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
        assert!(!folder.path().join("config.lock").exists());
        assert!(write_tokens(&file, "you", &changes()).is_err());
        std::fs::write(folder.path().join("config.lock"), "").unwrap();
        assert!(write_tokens(&file, "me", &changes()).is_err());
        assert!(folder.path().join("config.lock").exists(), "the lock of another process stays");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_on_a_full_disk_keeps_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, CONFIG).unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join("config.lilt-unfinished")).unwrap();
        assert!(write_tokens(&file, "me", &changes()).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), CONFIG);
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().map(|it| it.path()).collect();
        assert_eq!(left, [file]);
    }

    #[test]
    fn new_field_is_added_and_nothing_else_changes() {
        let text = "users:\n- {name: me, user: {auth-provider: {name: oidc, config: {refresh-token: me}}}}\n";
        let after = change(text, "me", &changes()).unwrap();
        let after = yaml::document(&after).unwrap();
        let config = serde_json::json!({"id-token": "new-id", "refresh-token": "new-refresh"});
        assert_eq!(after["users"][0]["user"]["auth-provider"]["config"], config);
        assert_eq!(after["users"][0]["name"], "me");
    }
}
