//! Clicks and saved files, which start, restart and stop objects.

use lilt_api::{Content, ObjectKind, RestartOnSpec, StartOnSpec, UIButton, UIInputSpec, UIInputStatus};
use lilt_model::Timestamp;
use serde::Serialize;

use crate::state::State;

fn button<'s>(state: &'s State, name: &str) -> Option<&'s UIButton> {
    match &state.objects.get(ObjectKind::UIButton, name)?.content {
        Content::UIButton(button) => Some(button),
        _ => None,
    }
}

/// Returns the newest click on one of these buttons, with the name of the button.
pub(crate) fn last_click(state: &State, buttons: &[String]) -> Option<(Timestamp, String)> {
    let click = |name: &String| Some((button(state, name)?.status.last_clicked_at?, name.clone()));
    // Of several clicks at the same time, the first counts.
    buttons.iter().filter_map(click).reduce(|newest, next| if next.0 > newest.0 { next } else { newest })
}

/// Returns the newest click on a start button.
fn last_start(state: &State, start_on: &StartOnSpec) -> Option<(Timestamp, String)> {
    let click = last_click(state, &start_on.ui_buttons)?;
    start_on.start_after.is_none_or(|earliest| click.0 >= earliest.0).then_some(click)
}

/// The newest triggers so far. Clicks have the time of the client's clock, saves that of lilt's: they are not
/// compared with each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Triggers {
    start: Option<(Timestamp, String)>,
    restart: Option<(Timestamp, String)>,
    files: Option<Timestamp>,
}

impl Triggers {
    pub(super) fn new(
        state: &State,
        start_on: Option<&StartOnSpec>,
        restart_on: Option<&RestartOnSpec>,
    ) -> Self {
        Self {
            start: start_on.and_then(|start_on| last_start(state, start_on)),
            restart: restart_on.and_then(|restart_on| last_click(state, &restart_on.ui_buttons)),
            files: restart_on.and_then(|restart_on| last_file_event(state, &restart_on.file_watches)),
        }
    }

    pub(super) fn start_is_newer(&self, than: &Triggers) -> bool {
        time_of(&self.start) > time_of(&than.start)
    }

    pub(super) fn is_newer(&self, than: &Triggers) -> bool {
        let restarted = time_of(&self.restart) > time_of(&than.restart) || self.files > than.files;
        restarted || self.start_is_newer(than)
    }

    /// Returns the button whose inputs count: the one clicked since, or the last one if nothing happened
    /// since.
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

/// Returns when one of these watches last reported a saved file.
pub(crate) fn last_file_event(state: &State, watches: &[String]) -> Option<Timestamp> {
    watches.iter().filter_map(|name| state.file_events(name)?.last()).max()
}

/// Returns the inputs of a click as environment variables of the command it starts.
pub(super) fn variables(state: &State, button: &str) -> Vec<(String, String)> {
    let Some(button) = self::button(state, button) else { return Vec::new() };
    let none = UIInputStatus::default();
    let status_of = |name: &str| button.status.inputs.iter().find(|status| status.name == name);
    let variable =
        |input: &UIInputSpec| (input.name.clone(), entered(input, status_of(&input.name).unwrap_or(&none)));
    button.spec.inputs.iter().map(variable).collect()
}

fn entered(input: &UIInputSpec, status: &UIInputStatus) -> String {
    if let Some(text) = &status.text {
        return text.value.clone();
    }
    if let Some(entered) = &status.bool {
        let spec = input.bool.clone().unwrap_or_default();
        let (default, word) =
            if entered.value { ("true", spec.true_string) } else { ("false", spec.false_string) };
        return word.unwrap_or_else(|| default.to_owned());
    }
    if let Some(hidden) = &status.hidden {
        return hidden.value.clone();
    }
    let Some(choice) = &status.choice else { return String::new() };
    // A value that is not among the choices counts as the first.
    let choices = input.choice.as_ref().map_or(&[][..], |choice| &choice.choices);
    choices.iter().find(|known| **known == choice.value).or(choices.first()).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_kind_of_input_becomes_a_text() {
        let text_of = |input: Value, status: Value| {
            let input: UIInputSpec = serde_json::from_value(input).unwrap();
            let status: UIInputStatus = serde_json::from_value(status).unwrap();
            entered(&input, &status)
        };
        assert_eq!(text_of(json!({"text": {}}), json!({"text": {"value": "me"}})), "me");
        assert_eq!(text_of(json!({"bool": {}}), json!({"bool": {"value": true}})), "true");
        let words = json!({"bool": {"trueString": "yes", "falseString": "no"}});
        assert_eq!(text_of(words.clone(), json!({"bool": {"value": false}})), "no");
        assert_eq!(text_of(words, json!({"bool": {"value": true}})), "yes");
        assert_eq!(text_of(json!({"hidden": {"value": "x"}}), json!({"hidden": {"value": "x"}})), "x");
        let choice = json!({"choice": {"choices": ["a", "b"]}});
        assert_eq!(text_of(choice.clone(), json!({"choice": {"value": "b"}})), "b");
        assert_eq!(text_of(choice, json!({"choice": {"value": "z"}})), "a");
        assert_eq!(text_of(json!({"text": {"defaultValue": "d"}}), json!({})), "");
    }
}
