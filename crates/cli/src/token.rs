//! The token that lets people and programs in at the web port: one for each port of this user, so that a browser that was
//! let in once stays in and bookmarks work. It is in a file that only the user can read.

use std::path::PathBuf;
use std::sync::Arc;

use lilt_host::{environment, files};
use lilt_model::Failure;

/// The shortest text that is taken for a token; a file that was cut off is not.
const SHORTEST: usize = 32;

fn file(port: u16) -> Option<PathBuf> {
    environment::tilt_folder().map(|folder| folder.join("tokens").join(port.to_string()))
}

/// The token of a port, if there is one.
pub(crate) fn kept(port: u16) -> Option<Arc<str>> {
    let text = files::read(&file(port)?)?;
    let text = String::from_utf8(text).ok()?;
    let token = text.trim();
    let sound = token.len() >= SHORTEST && token.bytes().all(|byte| byte.is_ascii_alphanumeric());
    sound.then(|| Arc::from(token))
}

/// The token that a session on this port asks for; none if the user wants none. A port that was just any free one has a
/// new one each time.
pub(crate) fn of_session(port: u16, chosen: bool) -> Result<Option<Arc<str>>, Failure> {
    if environment::variable(environment::TILT_DISABLE_HUD_AUTH).is_some_and(|value| value == "1") {
        return Ok(None);
    }
    if let Some(token) = kept(port).filter(|_| chosen) {
        return Ok(Some(token));
    }
    let token = lilt_server::new_token()?;
    // Without a home it is for this session only.
    if let Some(path) = file(port).filter(|_| chosen) {
        files::save_private(&path, token.as_bytes()).map_err(|error| {
            Failure::environment(format!(
                "cannot keep the token of the web port in {}: {error}",
                path.display()
            ))
        })?;
    }
    Ok(Some(token))
}

/// An address of the page with what lets a browser in.
pub(crate) fn link(address: &str, token: Option<&str>) -> String {
    match token {
        Some(token) => format!("{address}?token={token}"),
        None => address.to_owned(),
    }
}
