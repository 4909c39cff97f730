//! Offers a starter Tiltfile.

use std::path::Path;

use lilt_host::files;
use lilt_host::terminal;
use lilt_model::Failure;

const TILTFILE: &str = include_str!("starter/Tiltfile");

/// Offers to write a Tiltfile if there is none. Returns false if the user cancelled.
pub(crate) fn offer(path: &Path) -> Result<bool, Failure> {
    if path.is_dir() {
        return Err(Failure::user(format!("{} is a folder, not a Tiltfile", path.display()))
            .hint("-f names the Tiltfile itself"));
    }
    if path.exists() || !terminal::is_interactive() {
        return Ok(true);
    }
    let shown = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    terminal::line(&format!(
        "There is no Tiltfile at {}.\nlilt can write one to start from.",
        shown.display()
    ));
    loop {
        terminal::print("Create a starter Tiltfile? (y/n) ");
        let Some(answer) = terminal::read_line() else {
            terminal::line("");
            return Ok(false);
        };
        match answer.trim().to_lowercase().chars().next() {
            Some('y') => break,
            // The session reports the missing Tiltfile, and waits for it.
            Some('n') => return Ok(true),
            _ => {}
        }
    }
    files::save(path, TILTFILE.as_bytes())
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", shown.display())))?;
    terminal::line(&format!("Tiltfile generated at {}", shown.display()));
    Ok(true)
}
