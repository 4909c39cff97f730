//! The user's editor.

use std::path::Path;

use lilt_model::Failure;

use crate::{environment, process};

/// Opens a file in the editor that the first of these variables names, else in vi, and waits for its end. Blocks.
pub fn open(path: &Path, variables: &[&str]) -> Result<(), Failure> {
    let editor = variables.iter().find_map(|name| environment::variable(name));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    // The editor may be a command with arguments.
    let script = format!("{editor} \"$1\"");
    let argv = ["sh", "-c", &script, &editor].map(str::to_owned).into_iter();
    let argv: Vec<String> = argv.chain([path.display().to_string()]).collect();
    let exit = process::run_in_terminal(&argv, &[])?;
    if exit.success() {
        return Ok(());
    }
    Err(Failure::user(format!("the editor `{editor}` ended with {exit}"))
        .hint(format!("{} choose another one", variables.join(" or "))))
}
