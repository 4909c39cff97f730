//! What `run` is told.

use std::time::Duration;

use super::GRACE;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Executables that are kept in the volume when they change.
    pub(crate) kept: Vec<String>,
    /// A write to this file asks for a restart.
    pub(crate) restart_file: Option<String>,
    /// When the process ends by itself, wait to be asked for another; the container ends otherwise.
    pub(crate) wait_when_ended: bool,
    /// How long a process that is to be started anew has to end.
    grace: Option<Duration>,
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
}

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Option<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        loop {
            match *words.next()? {
                "--keep" => options.kept.push((*words.next()?).to_owned()),
                "--restart-file" => options.restart_file = Some((*words.next()?).to_owned()),
                "--wait" => options.wait_when_ended = true,
                "--grace" => options.grace = Some(Duration::from_millis(words.next()?.parse().ok()?)),
                "--" => break,
                _ => return None,
            }
        }
        options.program = (*words.next()?).to_owned();
        options.arguments = words.map(|word| (*word).to_owned()).collect();
        Some(options)
    }

    pub(super) fn grace(&self) -> Duration {
        self.grace.unwrap_or(GRACE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_what_comes_after_the_dashes() {
        let options = Options::parse(&["--keep", "/web", "--wait", "--", "/web", "--", "x"]);
        let expected = Options {
            kept: vec!["/web".into()],
            wait_when_ended: true,
            program: "/web".into(),
            arguments: vec!["--".into(), "x".into()],
            ..Options::default()
        };
        assert_eq!(options, Some(expected));
        for wrong in [&[][..], &["--"], &["--frob", "--", "x"], &["--keep", "--"]] {
            assert_eq!(Options::parse(wrong), None, "{wrong:?}");
        }
    }
}
