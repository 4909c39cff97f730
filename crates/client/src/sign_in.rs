//! Sign-in of browsers: links with one-time codes, and tokens stored for a port.

use std::path::PathBuf;
use std::sync::Arc;

use lilt_host::{environment, files, private_file};
use lilt_model::Failure;
use lilt_model::auth::{AuthKeys, CodeLifetime};

/// The minimum length of a token, to detect a truncated file.
const MIN_TOKEN_LENGTH: usize = 32;

fn token_file(port: u16) -> Option<PathBuf> {
    environment::tilt_folder().map(|folder| folder.join("tokens").join(port.to_string()))
}

/// Reads the token that was stored for a port, if any.
pub fn load_token(port: u16) -> Result<Option<Arc<str>>, Failure> {
    let Some(path) = token_file(port) else { return Ok(None) };
    let text = private_file::read(&path)?.and_then(|text| String::from_utf8(text).ok()).unwrap_or_default();
    let token = text.trim();
    let is_sound = token.len() >= MIN_TOKEN_LENGTH && token.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Ok(is_sound.then(|| Arc::from(token)))
}

/// Stores a token for the next sessions on a port.
pub fn store_token(port: u16, token: &str) -> Result<(), Failure> {
    // Without a home folder it is not stored.
    let Some(path) = token_file(port) else { return Ok(()) };
    files::save_private(&path, token.as_bytes()).map_err(|error| {
        Failure::environment(format!("cannot keep the token in {}: {error}", path.display()))
    })
}

/// Returns the keys of a session's token that are valid now: the token may be replaced.
#[derive(Clone)]
pub struct CurrentKeys(Arc<dyn Fn() -> Arc<AuthKeys> + Send + Sync>);

impl CurrentKeys {
    pub fn new(keys: impl Fn() -> Arc<AuthKeys> + Send + Sync + 'static) -> Self {
        Self(Arc::new(keys))
    }

    pub fn get(&self) -> Arc<AuthKeys> {
        (self.0)()
    }
}

impl std::fmt::Debug for CurrentKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CurrentKeys").finish_non_exhaustive()
    }
}

/// Adds a new one-time code to an address of the page.
pub fn link(address: &str, keys: Option<&AuthKeys>, lifetime: CodeLifetime) -> Result<String, Failure> {
    let Some(keys) = keys else { return Ok(address.to_owned()) };
    let code = keys.mint_code(lilt_host::clock::now(), lifetime)?;
    let separator = if address.contains('?') { '&' } else { '?' };
    Ok(format!("{address}{separator}code={code}"))
}
