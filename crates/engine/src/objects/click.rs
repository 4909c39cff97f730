//! Buttons that were clicked.

use lilt_model::Timestamp;
use lilt_model::api::{Object, ObjectKey};
use serde_json::Value;

use super::command;
use crate::state::State;

/// When a button was last clicked.
pub(super) fn time(button: &Object) -> Option<Timestamp> {
    Timestamp::from_rfc3339(button.text("/status/lastClickedAt"))
}

/// Tells everything that waits for the button.
pub(super) fn clicked(state: &mut State, button: &str, at: Option<Timestamp>) {
    let Some(at) = at else { return };
    let starts = |object: &Object| {
        ["/spec/startOn/uiButtons", "/spec/restartOn/uiButtons"]
            .iter()
            .any(|list| object.texts(list).iter().any(|name| name == button))
    };
    let commands: Vec<ObjectKey> = state
        .objects
        .of_kind("Cmd")
        .filter(|(_, made)| starts(&made.object))
        .map(|(key, _)| key.clone())
        .collect();
    for key in commands {
        command::triggered(state, &key, Some(button), at);
    }
}

/// The values that were entered with a click, as variables for the command it starts.
pub(super) fn variables(button: &Object) -> Vec<(String, String)> {
    let inputs = button.get("/spec/inputs").and_then(Value::as_array);
    let statuses = button.get("/status/inputs").and_then(Value::as_array);
    let status_of = |name: &str| statuses.into_iter().flatten().find(|status| status["name"] == *name);
    inputs
        .into_iter()
        .flatten()
        .map(|input| {
            let name = input["name"].as_str().unwrap_or_default();
            (name.to_owned(), entered(input, status_of(name).unwrap_or(&Value::Null)))
        })
        .collect()
}

fn entered(input: &Value, status: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(value) = status.pointer("/text/value") {
        return text(value);
    }
    if let Some(value) = status.pointer("/bool/value").and_then(Value::as_bool) {
        let (word, field) = if value { ("true", "trueString") } else { ("false", "falseString") };
        return input["bool"][field].as_str().unwrap_or(word).to_owned();
    }
    if let Some(value) = status.pointer("/hidden/value") {
        return text(value);
    }
    let Some(value) = status.pointer("/choice/value") else { return String::new() };
    // What is none of the choices counts as the first.
    let choices = input.pointer("/choice/choices").and_then(Value::as_array);
    let choices: Vec<&Value> = choices.into_iter().flatten().collect();
    let chosen = choices.iter().find(|choice| **choice == value).or(choices.first());
    chosen.map(|choice| text(choice)).unwrap_or_default()
}
