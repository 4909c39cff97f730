//! The options of `run`.

use std::time::Duration;

use super::GRACE;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Executables whose updated copies are stored in the volume.
    pub(crate) kept: Vec<String>,
    /// A write to this file requests a restart.
    pub(crate) restart_file: Option<String>,
    /// Whether to wait for a restart request when the process exits by itself, instead of ending the container.
    pub(crate) wait_when_ended: bool,
    /// How long a process has to exit at a restart.
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
    fn command_follows_double_dash() {
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
