//! `lilt version`.

use std::process::ExitCode;

use lilt_host::terminal;
use lilt_model::COMPATIBLE_TILT_VERSION;

use crate::arguments;
use crate::arguments::Version;

/// Returns the output of `lilt version` and `lilt --version`.
pub(crate) fn text() -> String {
    format!("v{COMPATIBLE_TILT_VERSION}, lilt v{}", arguments::version())
}

pub(crate) fn run(version: &Version) -> anyhow::Result<ExitCode> {
    let own = arguments::version();
    if version.json {
        let json = serde_json::json!({"lilt": own, "tilt": COMPATIBLE_TILT_VERSION});
        terminal::line(&json.to_string());
    } else {
        terminal::line(&text());
    }
    Ok(ExitCode::SUCCESS)
}
