//! Opens an address in the user's browser, where there is one.

use std::path::PathBuf;
use std::time::Duration;

use lilt_host::environment;
use lilt_host::process::{Launch, run_detached};
use lilt_model::auth::{BROWSER_LIFETIME, CodeLifetime};

use crate::sign_in::{self, CurrentKeys};

/// How long to wait for a program that passes the address to a running browser; the browser itself keeps running.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(3);

/// Opens an address; the error is the reason why it cannot be opened.
pub async fn open(address: &str) -> Result<(), String> {
    let Some(argv) = command(address, &environment::variable) else {
        return Err("no browser here".to_owned());
    };
    let program = argv[0].clone();
    let launch = Launch { argv, dir: PathBuf::from("/"), env: Vec::new(), unset: Vec::new() };
    match tokio::time::timeout(HAND_OVER_TIMEOUT, run_detached(&launch)).await {
        Ok(Ok(exit)) if !exit.success() => {
            Err(format!("cannot open the browser: {program} ended with {exit}"))
        }
        Ok(Err(failure)) => Err(format!("cannot open the browser: {}", failure.message)),
        // It has passed the address on, or is the browser itself, which keeps running.
        Ok(Ok(_)) | Err(_) => Ok(()),
    }
}

/// Opens an address, signing the browser in where `keys` are given, and returns what to show the user.
///
/// Other users can read the link in the list of processes: its code works once, and not for long.
pub async fn open_signed_in(address: String, keys: Option<CurrentKeys>) -> String {
    let keys = keys.map(|keys| keys.get());
    let link = |lifetime| sign_in::link(&address, keys.as_deref(), lifetime);
    let opened = match link(BROWSER_LIFETIME) {
        Ok(link) => open(&link).await,
        Err(failure) => Err(failure.message),
    };
    match opened {
        Ok(()) => format!("opened {address}"),
        Err(reason) => {
            let link = link(CodeLifetime::UntilSessionEnds).unwrap_or_else(|_| address.clone());
            format!("{reason}; open {link} where you have one")
        }
    }
}

/// Returns the command that opens an address; none without a display.
fn command(address: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    // `BROWSER` is used everywhere: editors that work over ssh set it.
    if let Some(named) = variable(environment::BROWSER) {
        let first = named.split(':').find(|part| !part.trim().is_empty())?;
        let mut argv: Vec<String> =
            first.split_whitespace().map(|word| word.replace("%s", address)).collect();
        if !first.contains("%s") {
            argv.push(address.to_owned());
        }
        return Some(argv);
    }
    let remote =
        [environment::SSH_CONNECTION, environment::SSH_TTY].iter().any(|name| variable(name).is_some());
    let display = [environment::DISPLAY, environment::WAYLAND_DISPLAY, environment::WSL_DISTRO_NAME]
        .iter()
        .any(|name| variable(name).is_some());
    if cfg!(target_os = "macos") {
        return (!remote).then(|| vec!["open".to_owned(), address.to_owned()]);
    }
    if remote || !display {
        return None;
    }
    let known = ["xdg-open", "wslview", "x-www-browser", "www-browser"];
    let program = known.into_iter().find(|name| environment::find_program(name).is_some())?;
    Some(vec![program.to_owned(), address.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Option<Vec<String>> {
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        command("http://localhost:10350/", &find)
    }

    #[test]
    fn browser_variable_has_precedence() {
        let opened = with(&[("BROWSER", "firefox -P work:chromium"), ("SSH_CONNECTION", "1 2 3 4")]);
        assert_eq!(opened.unwrap(), ["firefox", "-P", "work", "http://localhost:10350/"]);
        let opened = with(&[("BROWSER", "browse --to=%s --quiet")]);
        assert_eq!(opened.unwrap(), ["browse", "--to=http://localhost:10350/", "--quiet"]);
    }

    #[test]
    fn browser_is_not_opened_over_ssh_or_without_display() {
        if cfg!(target_os = "linux") {
            assert_eq!(with(&[]), None);
        }
        assert_eq!(with(&[("DISPLAY", ":0"), ("SSH_CONNECTION", "1 2 3 4")]), None);
    }
}
