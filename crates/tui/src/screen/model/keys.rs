//! Handles key presses.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use lilt_api::UIResource;
use lilt_model::log::Source;
use lilt_model::request::{Request, TriggerReason};
use lilt_model::resource::TriggerMode;

use super::{Effect, Focus, Mode, Model};
use crate::screen::pane::Direction;
use crate::status::{is_disabled, is_manual};
use crate::terminal_mode::NO_DASHBOARD;

/// Columns by which an unwrapped log is scrolled sideways.
const SCROLL_COLUMNS: isize = 8;

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Option<Effect> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    model.notice = None;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        // Most terminals send a signal instead.
        KeyCode::Char('c') if control => return Some(Effect::Quit),
        KeyCode::Char('l') if control => return Some(Effect::Redraw),
        _ => {}
    }
    match model.mode.clone() {
        Mode::Filter => type_filter(model, key.code, control),
        Mode::Search(typed) => type_search(model, typed, key.code, control),
        Mode::Help => model.mode = Mode::Normal,
        Mode::Quit => {
            model.mode = Mode::Normal;
            if matches!(key.code, KeyCode::Char('y' | 'q') | KeyCode::Enter) {
                return Some(Effect::Quit);
            }
        }
        Mode::Normal if control => move_by_control(model, key.code),
        Mode::Normal => return normal(model, key.code),
    }
    None
}

fn type_filter(model: &mut Model, key: KeyCode, control: bool) {
    match key {
        KeyCode::Enter => model.mode = Mode::Normal,
        KeyCode::Esc => {
            model.list.filter.clear();
            model.mode = Mode::Normal;
        }
        KeyCode::Down => model.list.step(1),
        KeyCode::Up => model.list.step(-1),
        _ => edit(&mut model.list.filter, key, control),
    }
    model.list.rebuild(&model.overview);
}

fn type_search(model: &mut Model, mut typed: String, key: KeyCode, control: bool) {
    match key {
        KeyCode::Enter => {
            model.mode = Mode::Normal;
            model.focus = if model.areas().log.is_empty() { model.focus } else { Focus::Log };
            model.pane.search(typed);
        }
        KeyCode::Esc => model.mode = Mode::Normal,
        _ => {
            edit(&mut typed, key, control);
            model.mode = Mode::Search(typed);
        }
    }
}

fn edit(text: &mut String, key: KeyCode, control: bool) {
    match key {
        KeyCode::Char('u') if control => text.clear(),
        KeyCode::Char('w') if control => {
            let kept = text.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
            text.truncate(kept);
        }
        KeyCode::Char('h') if control => drop(text.pop()),
        KeyCode::Char(letter) if !control => text.push(letter),
        KeyCode::Backspace => drop(text.pop()),
        _ => {}
    }
}

fn move_by_control(model: &mut Model, key: KeyCode) {
    match key {
        KeyCode::Char('f') => model.mode = Mode::Search(String::new()),
        KeyCode::Char('u' | 'b') => model.pane.page(Direction::Older),
        KeyCode::Char('d') => model.pane.page(Direction::Newer),
        KeyCode::Char('n') => step(model, 1),
        KeyCode::Char('p') => step(model, -1),
        _ => {}
    }
}

fn normal(model: &mut Model, key: KeyCode) -> Option<Effect> {
    match key {
        KeyCode::Char('?' | 'h') | KeyCode::F(1) => model.mode = Mode::Help,
        KeyCode::Char('q') => model.mode = Mode::Quit,
        KeyCode::Esc => leave(model),
        KeyCode::Tab | KeyCode::BackTab => switch_focus(model),
        KeyCode::Char('/') if model.focus == Focus::Log => model.mode = Mode::Search(String::new()),
        KeyCode::Char('/') => model.mode = Mode::Filter,
        KeyCode::Char('s') => model.mode = Mode::Search(String::new()),
        KeyCode::Char('e') => {
            if !model.list.step_to_failing(&model.overview) {
                model.notice = Some("nothing fails".into());
            }
        }
        KeyCode::Enter | KeyCode::Char('r' | 't') => return trigger(model),
        KeyCode::Char('R') => return reconnect(model),
        KeyCode::Char('d') => return switch(model),
        KeyCode::Char('c') => return cancel(model),
        KeyCode::Char('m') => return change_mode(model),
        KeyCode::Char('b') => return open_endpoint(model),
        KeyCode::Char('o') => return open_page(model),
        KeyCode::Char('y') => return copy(model),
        _ => {
            look(model, key);
        }
    }
    None
}

/// Handles keys that only change the view.
fn look(model: &mut Model, key: KeyCode) {
    match key {
        KeyCode::Down | KeyCode::Char('j') => step(model, 1),
        KeyCode::Up | KeyCode::Char('k') => step(model, -1),
        KeyCode::Home | KeyCode::Char('g') if model.focus == Focus::Log => model.pane.go_to_begin(),
        KeyCode::End | KeyCode::Char('G') if model.focus == Focus::Log => model.pane.go_to_end(),
        KeyCode::Home | KeyCode::Char('g') => model.list.step(isize::MIN + 1),
        KeyCode::End | KeyCode::Char('G') => model.list.step(isize::MAX),
        KeyCode::PageUp => model.pane.page(Direction::Older),
        KeyCode::PageDown | KeyCode::Char(' ') => model.pane.page(Direction::Newer),
        KeyCode::Left => model.pane.shift(-SCROLL_COLUMNS),
        KeyCode::Right => model.pane.shift(SCROLL_COLUMNS),
        KeyCode::Char('f') => model.pane.toggle_follow(),
        KeyCode::Char('w') => model.pane.toggle_wrap(),
        KeyCode::Char('n') => search_on(model, Direction::Newer),
        KeyCode::Char('N') => search_on(model, Direction::Older),
        KeyCode::Char('l') => model.all = !model.all,
        KeyCode::Char('1') => model.source = None,
        KeyCode::Char('2') => model.source = Some(Source::Build),
        KeyCode::Char('3') => model.source = Some(Source::Runtime),
        KeyCode::Char('z') => {
            model.whole = !model.whole;
            model.focus = if model.whole { Focus::Log } else { model.focus };
        }
        _ => {}
    }
}

fn leave(model: &mut Model) {
    if model.pane.is_searching() {
        model.pane.stop_search();
    } else if !model.pane.pattern.is_empty() {
        model.pane.pattern.clear();
    } else if model.whole || model.focus == Focus::Log {
        model.whole = false;
        model.focus = Focus::List;
    } else if !model.list.filter.is_empty() {
        model.list.filter.clear();
        model.list.rebuild(&model.overview);
    } else {
        model.all = false;
    }
}

fn switch_focus(model: &mut Model) {
    let hidden = model.areas().log.height < 2;
    model.focus = match model.focus {
        Focus::List if !hidden => Focus::Log,
        _ => Focus::List,
    };
    model.whole &= model.focus == Focus::Log;
}

fn step(model: &mut Model, by: isize) {
    match (model.focus, by > 0) {
        (Focus::List, _) => model.list.step(by),
        (Focus::Log, true) => model.pane.step(Direction::Newer, by.unsigned_abs()),
        (Focus::Log, false) => model.pane.step(Direction::Older, by.unsigned_abs()),
    }
}

fn search_on(model: &mut Model, direction: Direction) {
    if model.pane.pattern.is_empty() {
        model.notice = Some("nothing is searched for: s begins".into());
        return;
    }
    model.pane.search_on(direction);
}

fn trigger(model: &mut Model) -> Option<Effect> {
    let (name, resource) = model.selected()?;
    let name = name.clone();
    if is_disabled(resource) {
        return refuse(model, format!("{name} is disabled: d enables it"));
    }
    model.notice = Some(format!("{name} is updated as soon as possible"));
    Some(Effect::Ask(Request::Trigger { resource: name, reason: TriggerReason::TERMINAL }))
}

fn reconnect(model: &mut Model) -> Option<Effect> {
    if model.overview.unreachable.is_empty() {
        return refuse(model, "nothing is unreachable".to_owned());
    }
    model.notice = Some("reconnecting …".to_owned());
    Some(Effect::Ask(Request::Reconnect))
}

fn cancel(model: &mut Model) -> Option<Effect> {
    let (name, resource) = model.selected()?;
    let name = name.clone();
    if resource.status.current_build.is_none() {
        return refuse(model, format!("{name} is not updating"));
    }
    model.notice = Some(format!("cancelling the update of {name}"));
    Some(Effect::Ask(Request::Cancel { resource: name }))
}

fn switch(model: &mut Model) -> Option<Effect> {
    let (name, resource) = model.selected()?;
    let name = name.clone();
    if name.is_tiltfile() {
        return refuse(model, "the Tiltfile cannot be disabled".into());
    }
    let (enable, disable) = if is_disabled(resource) {
        model.notice = Some(format!("enabling {name}"));
        (vec![name], Vec::new())
    } else {
        model.notice = Some(format!("disabling {name}: what it started goes away"));
        (Vec::new(), vec![name])
    };
    Some(Effect::Ask(Request::Switch { enable, disable }))
}

fn change_mode(model: &mut Model) -> Option<Effect> {
    let (name, resource) = model.selected()?;
    let name = name.clone();
    if name.is_tiltfile() {
        return refuse(model, "the Tiltfile is always loaded by itself".into());
    }
    let (mode, words) = if is_manual(resource) {
        (TriggerMode::Auto, "is updated by itself")
    } else {
        (TriggerMode::Manual, "waits for a trigger")
    };
    model.notice = Some(format!("{name} {words} from now on"));
    Some(Effect::Ask(Request::SetTriggerMode { resources: vec![name], mode }))
}

fn open_endpoint(model: &mut Model) -> Option<Effect> {
    let (name, resource) = model.selected()?;
    match web_address(resource) {
        Some(address) => Some(Effect::Open(address.to_owned())),
        None => {
            let words = format!("{name} has no endpoint");
            refuse(model, words)
        }
    }
}

/// Returns the first endpoint that is a web page. Other URLs of a Tiltfile are not passed to a browser.
fn web_address(resource: &UIResource) -> Option<&str> {
    let links = resource.status.endpoint_links.iter().map(|link| link.url.as_str());
    links.into_iter().find(|url| url.starts_with("http://") || url.starts_with("https://"))
}

fn open_page(model: &mut Model) -> Option<Effect> {
    let Some(page) = model.address.clone() else { return refuse(model, NO_DASHBOARD.to_owned()) };
    let address = match model.list.selected() {
        Some(name) if !model.all => format!("{page}r/{}/overview", encoded(name.as_str())),
        _ => page,
    };
    Some(Effect::Open(address))
}

fn encoded(name: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~()".contains(&byte);
    name.bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn copy(model: &mut Model) -> Option<Effect> {
    if model.focus == Focus::Log {
        let line = model.pane.current()?;
        return Some(Effect::Copy("the line", line.styled.text.clone()));
    }
    let (name, resource) = model.selected()?;
    let pod = resource.status.k8s_resource_info.as_ref().map(|it| it.pod_name.clone());
    Some(match pod.filter(|pod| !pod.is_empty()) {
        Some(pod) => Effect::Copy("the pod's name", pod),
        None => Effect::Copy("the resource's name", name.to_string()),
    })
}

fn refuse(model: &mut Model, words: String) -> Option<Effect> {
    model.notice = Some(words);
    None
}
