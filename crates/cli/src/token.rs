//! The token of a session's web port.
//!
//! Every session has its own token, in the file by which other commands find the session. With `--keep-token` it is
//! kept for the port, so that browsers stay signed in from one session to the next.

use std::path::Path;

use lilt_client::{sessions, sign_in};
use lilt_host::environment;
use lilt_model::Failure;
use lilt_model::auth::new_token;
use lilt_server::AuthOwner;

/// Returns whether authentication is disabled.
fn is_disabled() -> bool {
    environment::variable(environment::TILT_DISABLE_HUD_AUTH).is_some_and(|value| value == "1")
}

/// Creates the token of a session, or reads the kept one. None if authentication is disabled.
pub(crate) fn of_session(port: u16, is_kept: bool, folder: &Path) -> Result<Option<AuthOwner>, Failure> {
    if is_disabled() {
        return Ok(None);
    }
    let found = if is_kept { sign_in::load_token(port)? } else { None };
    let token = match found {
        Some(token) => token,
        None => {
            let token = new_token()?;
            if is_kept {
                sign_in::store_token(port, &token)?;
            }
            token
        }
    };
    let folder = folder.to_owned();
    let save = move |token: &str| {
        if is_kept {
            sign_in::store_token(port, token)?;
        }
        sessions::replace_token(&folder, token)
    };
    Ok(Some(AuthOwner::new(token, lilt_host::clock::now, Box::new(save)).with_kept_token(is_kept)))
}

/// Creates the token of a snapshot's page, which no other command uses.
pub(crate) fn of_viewer() -> Result<Option<AuthOwner>, Failure> {
    if is_disabled() {
        return Ok(None);
    }
    let token = new_token()?;
    Ok(Some(AuthOwner::new(token, lilt_host::clock::now, Box::new(|_| Ok(())))))
}
