//! Causes of updates.

use lilt_model::ResourceName;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Its first update.
    Initial,
    /// These files changed. Paths are relative to the Tiltfile's folder if they are below it.
    Files(Vec<String>),
    /// A manual trigger.
    Triggered,
    /// Its first update since it was enabled.
    Enabled,
    /// The Tiltfile arguments changed.
    Arguments(Vec<String>),
    /// Its definition changed, because these files of the Tiltfile changed.
    Configuration(Vec<String>),
    /// These dependencies were updated (only if the session cascades).
    Dependencies(Vec<ResourceName>),
    /// A container restarted from its image and lacks the files that were copied into the previous one.
    Replaced,
    /// A container started and needs an initial sync of all files.
    Started,
    /// Files could not be copied into the running container.
    LiveUpdateFailed,
    /// Applied objects were deleted or changed in the cluster. The text describes them.
    Drift(String),
}

impl Cause {
    /// Returns the first line of an update's log. Scripts rely on the first two forms.
    pub fn headline(&self) -> String {
        match self {
            Cause::Initial => "Initial Build".into(),
            Cause::Files(files) => files_changed(files),
            Cause::Configuration(files) if files.is_empty() => "Configuration Changed".into(),
            Cause::Configuration(files) => files_changed(files),
            Cause::Enabled => "Initial Build (enabled)".into(),
            Cause::Arguments(args) => format!("Tiltfile Args Changed: [{}]", args.join(" ")),
            Cause::Dependencies(names) => {
                let names: Vec<&str> = names.iter().map(ResourceName::as_str).collect();
                format!("Dependencies Updated: [{}]", names.join(" "))
            }
            Cause::Triggered => "Triggered by Hand".into(),
            Cause::Replaced => "Container Replaced: copying what changed since its image was built".into(),
            Cause::Started => "Initial Sync: copying all synced files".into(),
            Cause::Drift(words) => format!("Put Right: {words}"),
            Cause::LiveUpdateFailed => {
                "Full Build: the running container could not be updated in place".into()
            }
        }
    }
}

fn files_changed(files: &[String]) -> String {
    /// The maximum number of names to list.
    const NAMED: usize = 5;
    let plural = if files.len() == 1 { "" } else { "s" };
    let mut names = files.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(" ");
    if files.len() > NAMED {
        names.push_str(" …");
    }
    format!("{} File{plural} Changed: [{names}]", files.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headlines_have_the_forms_that_scripts_match() {
        let files = |names: &[&str]| Cause::Files(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(Cause::Initial.headline(), "Initial Build");
        assert_eq!(files(&["a.txt"]).headline(), "1 File Changed: [a.txt]");
        assert_eq!(files(&["a", "b"]).headline(), "2 Files Changed: [a b]");
        assert_eq!(files(&["a", "b", "c", "d", "e", "f"]).headline(), "6 Files Changed: [a b c d e …]");
    }
}
