//! A command to run on this machine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub argv: Vec<String>,
    /// The working directory, absolute.
    pub dir: PathBuf,
    /// Variables to set in addition to lilt's own environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// Variables to remove from lilt's own environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
}

impl Command {
    /// Creates a command that runs a shell line with `sh -c`, as Tiltfiles run commands that are strings.
    pub fn shell(line: impl Into<String>, dir: impl Into<PathBuf>) -> Self {
        Self {
            argv: vec!["sh".into(), "-c".into(), line.into()],
            dir: dir.into(),
            env: Vec::new(),
            unset: Vec::new(),
        }
    }

    /// Returns the command as the user wrote it: the shell line, or else the words, quoted if they contain spaces.
    pub fn display(&self) -> String {
        match self.argv.as_slice() {
            [shell, flag, line] if shell == "sh" && flag == "-c" => line.clone(),
            [cmd, _, flag, line] if cmd == "cmd" && flag == "/C" => line.clone(),
            words => {
                let quoted =
                    |word: &String| if word.contains(' ') { format!("{word:?}") } else { word.clone() };
                words.iter().map(quoted).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_shown_as_it_was_written() {
        let words = |words: &[&str]| Command {
            argv: words.iter().map(|word| (*word).to_owned()).collect(),
            dir: PathBuf::new(),
            env: Vec::new(),
            unset: Vec::new(),
        };
        assert_eq!(Command::shell("a  'b'", "/").display(), "a  'b'");
        assert_eq!(words(&["cmd", "/S", "/C", "dir /b"]).display(), "dir /b");
        assert_eq!(words(&["echo", "a b", "c\""]).display(), "echo \"a b\" c\"");
    }
}
