//! Reports changes of objects, and reads and writes the annotation with the last applied configuration.

use lilt_host::terminal;
use lilt_model::yaml;
use serde_json::{Value, json};

use super::Outcome;
use super::flags::{Dry, Printing};
use super::printers::{Output, name_of};
use super::problem::Problem;

/// Prints what was done: one line, or the object in the requested format.
pub(crate) struct Report {
    output: Output,
    begun: bool,
}

impl Report {
    pub(crate) fn new(printing: &Printing) -> Result<Self, Problem> {
        Ok(Self { output: Output::plain(printing)?, begun: false })
    }

    /// Returns whether only names are printed.
    pub(crate) fn is_brief(&self) -> bool {
        matches!(&self.output, Output::Formed(printer) if printer.is_name())
    }

    /// `cmd.tilt.dev/x created`
    pub(crate) fn print(&mut self, object: &Value, verb: &str, dry: Dry) -> Outcome {
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

/// Returns the last applied configuration of an object, if it has one.
pub(crate) fn last_applied(object: &Value) -> Option<Value> {
    let text = object.pointer("/metadata/annotations")?.get(LAST_APPLIED)?.as_str()?;
    serde_json::from_str(text).ok()
}

/// Adds the annotation with the applied configuration, exactly as kubectl writes it, so that objects applied by lilt
/// are unchanged for kubectl and vice versa.
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
    fn last_applied_annotation_round_trips() {
        let object = json!({"kind": "Cmd", "metadata": {"name": "x"}});
        let marked = with_last_applied(&object);
        let words = "{\"kind\":\"Cmd\",\"metadata\":{\"annotations\":{},\"name\":\"x\"}}\n";
        assert_eq!(marked["metadata"]["annotations"][LAST_APPLIED], words);
        assert_eq!(with_last_applied(&marked), marked, "not in itself");
        assert_eq!(last_applied(&marked).map(|applied| applied["kind"].clone()), Some(json!("Cmd")));
        assert_eq!(last_applied(&object), None);
    }
}
