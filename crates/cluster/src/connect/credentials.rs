//! The sources of credentials that are not in the kubeconfig itself: exec plugins, identity providers and token
//! files.
#![allow(clippy::disallowed_methods, reason = "token files that kubeconfig names are read here")]

use std::path::{Path, PathBuf};

use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use kube::Config;
use kube::config::ExecConfig;

use super::exec_plugin::{self, Credentials, LoginError, PluginOutput};
use super::oidc::Oidc;

/// Token files are reread after this time, as in client-go.
const TOKEN_FILE_PERIOD: SignedDuration = SignedDuration::from_secs(60);

/// The kubeconfig file that contains the user, and the user's name; none inside a pod.
pub(super) type Origin = Option<(PathBuf, String)>;

#[derive(Clone)]
pub(super) enum CredentialSource {
    Exec(Box<ExecConfig>),
    Oidc(Oidc),
    TokenFile(TokenFile),
}

impl CredentialSource {
    /// Removes the source from a configuration, so that kube does not use it as well.
    pub(super) fn take_from(config: &mut Config, origin: Origin) -> Option<Self> {
        let user = &mut config.auth_info;
        let (exec, file) = (user.exec.take(), user.token_file.take());
        let oidc = user.auth_provider.take_if(|provider| provider.name == "oidc");
        // Static credentials win.
        if user.token.is_some() || user.username.is_some() || user.auth_provider.is_some() {
            return None;
        }
        if let Some(path) = file {
            return Some(CredentialSource::TokenFile(TokenFile { path: path.into(), last: None }));
        }
        let oidc = oidc.map(|provider| CredentialSource::Oidc(Oidc::new(provider, origin)));
        oidc.or_else(|| exec.map(|exec| CredentialSource::Exec(Box::new(exec))))
    }

    pub(super) async fn get(&mut self, output: &PluginOutput) -> Result<Credentials, LoginError> {
        match self {
            CredentialSource::Exec(exec) => exec_plugin::run(exec, output).await,
            CredentialSource::Oidc(oidc) => oidc.get(output).await,
            CredentialSource::TokenFile(file) => file.get(),
        }
    }
}

#[derive(Clone)]
pub(super) struct TokenFile {
    path: PathBuf,
    /// Used while the file cannot be read: some processes remove it after the start.
    last: Option<HeaderValue>,
}

impl TokenFile {
    fn get(&mut self) -> Result<Credentials, LoginError> {
        match read(&self.path) {
            Ok(token) => self.last = Some(token),
            Err(cause) if self.last.is_none() => return Err(unreadable(&self.path, &cause)),
            Err(_) => {}
        }
        let expires = Some(Timestamp::now() + TOKEN_FILE_PERIOD);
        Ok(Credentials { token: self.last.clone(), identity: None, expires })
    }
}

fn read(path: &Path) -> Result<HeaderValue, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    exec_plugin::bearer(text.trim())
}

fn unreadable(path: &Path, cause: &str) -> LoginError {
    LoginError {
        message: format!("cannot read the token file {} of kubeconfig: {cause}", path.display()),
        output: String::new(),
        hint: "log in again, or check the user of this context in your kubeconfig".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_file_is_trimmed_and_its_last_content_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let mut file = TokenFile { path: path.clone(), last: None };
        assert!(file.get().is_err_and(|failed| failed.message.contains("cannot read the token file")));
        std::fs::write(&path, " \n").unwrap();
        assert!(file.get().is_err());
        std::fs::write(&path, "abc\n").unwrap();
        let credentials = file.get().ok().unwrap();
        assert_eq!(credentials.token, Some(HeaderValue::from_static("Bearer abc")));
        assert!(credentials.is_valid());
        std::fs::remove_file(&path).unwrap();
        assert!(file.get().is_ok_and(|again| again.token == credentials.token));
    }
}
