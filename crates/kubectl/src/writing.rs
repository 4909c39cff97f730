//! What commands that write have in common: how they tell of it, and the annotation that remembers what was applied.

use lilt_host::terminal;
use lilt_model::yaml;
use serde_json::{Value, json};

use super::Outcome;
use super::flags::{Dry, Printing};
use super::printers::{Output, name_of};
use super::problem::Problem;

/// Tells what was done: a line for people, or the object in the form that was asked for.
pub(crate) struct Report {
    output: Output,
    begun: bool,
}

impl Report {
    pub(crate) fn new(printing: &Printing) -> Result<Self, Problem> {
        Ok(Self { output: Output::plain(printing)?, begun: false })
    }

    /// Whether only names are to be printed.
    pub(crate) fn is_brief(&self) -> bool {
        matches!(&self.output, Output::Formed(printer) if printer.is_name())
    }

    /// `cmd.tilt.dev/x created`
    pub(crate) fn tell(&mut self, object: &Value, verb: &str, dry: Dry) -> Outcome {
        let again = std::mem::replace(&mut self.begun, true);
        let text = match &self.output {
            Output::Plain { .. } => format!("{} {verb}{}\n", name_of(object), dry.suffix()),
            Output::Formed(printer) => {
                let line = if again && printer.is_yaml() { "---\n" } else { "" };
                format!("{line}{}", printer.one(object)?)
            }
        };
        terminal::write(text.as_bytes()).map_err(Problem::Output)
    }
}

pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What was applied the last time, if anything was.
pub(crate) fn last_applied(object: &Value) -> Option<Value> {
    let text = object.pointer("/metadata/annotations")?.get(LAST_APPLIED)?.as_str()?;
    serde_json::from_str(text).ok()
}

/// The object with an annotation that says what it was made from, in the very words of kubectl: what one of the two has
/// applied is unchanged for the other.
pub(crate) fn with_last_applied(object: &Value) -> Value {
    let mut object = object.clone();
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    if !object["metadata"]["annotations"].is_object() {
        object["metadata"]["annotations"] = json!({});
    }
    if let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") {
        annotations.remove(LAST_APPLIED);
    }
    let text = format!("{}\n", yaml::sorted(&object));
    object["metadata"]["annotations"][LAST_APPLIED] = json!(text);
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_applied_is_remembered() {
        let object = json!({"kind": "Cmd", "metadata": {"name": "x"}});
        let marked = with_last_applied(&object);
        let words = "{\"kind\":\"Cmd\",\"metadata\":{\"annotations\":{},\"name\":\"x\"}}\n";
        assert_eq!(marked["metadata"]["annotations"][LAST_APPLIED], words);
        assert_eq!(with_last_applied(&marked), marked, "not in itself");
        assert_eq!(last_applied(&marked).map(|applied| applied["kind"].clone()), Some(json!("Cmd")));
        assert_eq!(last_applied(&object), None);
    }
}
