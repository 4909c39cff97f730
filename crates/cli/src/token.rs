//! The token of a session's web port, and links that let a browser in.
//!
//! Every session has a token of its own, in the file by which other commands find the session. With `--keep-token` it is
//! kept for the port, so that browsers stay signed in from one session to the next.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lilt_host::{environment, files, private_file};
use lilt_model::Failure;
use lilt_server::{AuthKeys, AuthOwner, CodeLifetime};

use crate::instances;

/// The shortest text that is taken for a token; a file that was cut off is not.
const SHORTEST: usize = 32;

fn file(port: u16) -> Option<PathBuf> {
    environment::tilt_folder().map(|folder| folder.join("tokens").join(port.to_string()))
}

/// Reads the token that was kept for a port, if any.
pub(crate) fn kept(port: u16) -> Result<Option<Arc<str>>, Failure> {
    let Some(path) = file(port) else { return Ok(None) };
    let text = private_file::read(&path)?.and_then(|text| String::from_utf8(text).ok()).unwrap_or_default();
    let token = text.trim();
    let is_sound = token.len() >= SHORTEST && token.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Ok(is_sound.then(|| Arc::from(token)))
}

fn keep(port: u16, token: &str) -> Result<(), Failure> {
    // Without a home it is for this session only.
    let Some(path) = file(port) else { return Ok(()) };
    files::save_private(&path, token.as_bytes()).map_err(|error| {
        Failure::environment(format!("cannot keep the token in {}: {error}", path.display()))
    })
}

/// Whether the user wants a session without a token.
fn is_disabled() -> bool {
    environment::variable(environment::TILT_DISABLE_HUD_AUTH).is_some_and(|value| value == "1")
}

/// Creates the token of a session, or reads the kept one. None if the user wants none.
pub(crate) fn of_session(port: u16, is_kept: bool, folder: &Path) -> Result<Option<AuthOwner>, Failure> {
    if is_disabled() {
        return Ok(None);
    }
    let found = if is_kept { kept(port)? } else { None };
    let token = match found {
        Some(token) => token,
        None => {
            let token = lilt_server::new_token()?;
            if is_kept {
                keep(port, &token)?;
            }
            token
        }
    };
    let folder = folder.to_owned();
    let save = move |token: &str| {
        if is_kept {
            keep(port, token)?;
        }
        instances::replace_token(&folder, token)
    };
    Ok(Some(AuthOwner::new(token, lilt_host::clock::now, Box::new(save)).with_kept_token(is_kept)))
}

/// Creates the token of a port that no other command asks for anything.
pub(crate) fn of_viewer() -> Result<Option<AuthOwner>, Failure> {
    if is_disabled() {
        return Ok(None);
    }
    let token = lilt_server::new_token()?;
    Ok(Some(AuthOwner::new(token, lilt_host::clock::now, Box::new(|_| Ok(())))))
}

/// Adds a new one-time code to an address of the page.
pub(crate) fn link(
    address: &str,
    keys: Option<&AuthKeys>,
    lifetime: CodeLifetime,
) -> Result<String, Failure> {
    let Some(keys) = keys else { return Ok(address.to_owned()) };
    let code = keys.mint_code(lilt_host::clock::now(), lifetime)?;
    let separator = if address.contains('?') { '&' } else { '?' };
    Ok(format!("{address}{separator}code={code}"))
}
