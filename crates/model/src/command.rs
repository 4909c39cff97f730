//! A command to run on this machine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub argv: Vec<String>,
    /// Absolute.
    pub dir: PathBuf,
    /// Set on top of lilt's own environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// Taken out of lilt's own environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
}

impl Command {
    /// A shell line, as a Tiltfile's string commands are run: by `sh -c`.
    pub fn shell(line: impl Into<String>, dir: impl Into<PathBuf>) -> Self {
        Self {
            argv: vec!["sh".into(), "-c".into(), line.into()],
            dir: dir.into(),
            env: Vec::new(),
            unset: Vec::new(),
        }
    }

    /// What the user wrote: the line of a shell command, else the words, in quotes where they hold spaces.
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
