//! What starts, restarts and stops things: clicks and saved files.

use lilt_api::Object;
use lilt_model::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::files::events;
use crate::state::State;

/// When a button was last clicked.
pub(super) fn clicked(button: &Object) -> Option<Timestamp> {
    Timestamp::from_rfc3339(button.text("/status/lastClickedAt"))
}

/// The newest click on one of these buttons, and on which.
pub(crate) fn last_click(state: &State, buttons: &[String]) -> Option<(Timestamp, String)> {
    let click = |name: &String| {
        let button = state.objects.get("UIButton", name)?;
        Some((clicked(&button.object)?, name.clone()))
    };
    // Of several at the same time the first counts.
    buttons.iter().filter_map(click).reduce(|newest, next| if next.0 > newest.0 { next } else { newest })
}

/// The newest click that asks for a start.
fn last_start(state: &State, object: &Object) -> Option<(Timestamp, String)> {
    let earliest = Timestamp::from_rfc3339(object.text("/spec/startOn/startAfter"));
    let click = last_click(state, &object.texts("/spec/startOn/uiButtons"))?;
    earliest.is_none_or(|earliest| click.0 >= earliest).then_some(click)
}

/// What has asked for things to begin, up to now. Clicks bear the clock of whoever clicked, saves our own: they are not
/// compared with each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Triggers {
    start: Option<(Timestamp, String)>,
    restart: Option<(Timestamp, String)>,
    files: Option<Timestamp>,
}

impl Triggers {
    pub(super) fn of(state: &State, object: &Object) -> Self {
        Self {
            start: last_start(state, object),
            restart: last_click(state, &object.texts("/spec/restartOn/uiButtons")),
            files: last_file_event(state, &object.texts("/spec/restartOn/fileWatches")),
        }
    }

    pub(super) fn start_is_newer(&self, than: &Triggers) -> bool {
        time_of(&self.start) > time_of(&than.start)
    }

    pub(super) fn is_newer(&self, than: &Triggers) -> bool {
        let restarted = time_of(&self.restart) > time_of(&than.restart) || self.files > than.files;
        restarted || self.start_is_newer(than)
    }

    /// The button whose inputs count: the one that was clicked since, or the last one if nothing happened since.
    pub(super) fn button(&self, since: &Triggers) -> Option<&str> {
        let restarted = time_of(&self.restart) > time_of(&since.restart);
        let latest = time_of(&self.restart) > time_of(&self.start);
        let click = match (self.start_is_newer(since), restarted) {
            (true, false) => &self.start,
            (false, true) => &self.restart,
            (false, false) if self.files > since.files => return None,
            _ if latest => &self.restart,
            _ => &self.start,
        };
        click.as_ref().map(|(_, button)| button.as_str())
    }
}

fn time_of(click: &Option<(Timestamp, String)>) -> Option<Timestamp> {
    click.as_ref().map(|(at, _)| *at)
}

/// When one of these watches last saw a file saved.
pub(crate) fn last_file_event(state: &State, watches: &[String]) -> Option<Timestamp> {
    watches.iter().filter_map(|name| events(state, name)?.last()).max()
}

/// The values that were entered with a click, as variables for the command it starts.
pub(super) fn variables(state: &State, button: &str) -> Vec<(String, String)> {
    let Some(button) = state.objects.get("UIButton", button).map(|made| &made.object) else {
        return Vec::new();
    };
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_input_becomes_a_text() {
        let said = |input: Value, status: Value| entered(&input, &status);
        assert_eq!(said(json!({"text": {}}), json!({"text": {"value": "me"}})), "me");
        assert_eq!(said(json!({"bool": {}}), json!({"bool": {"value": true}})), "true");
        let words = json!({"bool": {"trueString": "yes", "falseString": "no"}});
        assert_eq!(said(words.clone(), json!({"bool": {"value": false}})), "no");
        assert_eq!(said(words, json!({"bool": {"value": true}})), "yes");
        assert_eq!(said(json!({"hidden": {"value": "x"}}), json!({"hidden": {"value": "x"}})), "x");
        let choice = json!({"choice": {"choices": ["a", "b"]}});
        assert_eq!(said(choice.clone(), json!({"choice": {"value": "b"}})), "b");
        assert_eq!(said(choice, json!({"choice": {"value": "z"}})), "a");
        assert_eq!(said(json!({"text": {"defaultValue": "d"}}), Value::Null), "");
    }
}
