//! Opening a page in the user's browser.

use lilt_host::environment;
use lilt_host::process::{Launch, detached};

use crate::terminal;

/// Asks the system to open it. If it cannot, the user still has the address.
pub(crate) async fn open(address: &str) {
    let openers = if cfg!(target_os = "macos") { ["open"].as_slice() } else { &["xdg-open", "wslview"] };
    let Some(opener) = openers.iter().find(|opener| environment::find_program(opener).is_some()) else {
        return terminal::aside(&format!("there is no {} to open a browser with", openers.join(" or ")));
    };
    let launch = Launch {
        argv: vec![(*opener).to_owned(), address.to_owned()],
        dir: "/".into(),
        env: Vec::new(),
        unset: Vec::new(),
    };
    // It ends at once; the browser goes on by itself.
    let failed = match detached(&launch).await {
        Ok(exit) => (!exit.success()).then(|| exit.to_string()),
        Err(failure) => Some(failure.message),
    };
    if let Some(how) = failed {
        terminal::aside(&format!("{opener} could not open a browser: {how}"));
    }
}
