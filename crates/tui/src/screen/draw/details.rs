//! Draws the details of the selected resource.

use std::time::Duration;

use lilt_api::{UIResource, UIResourceLink, annotation};
use lilt_model::Timestamp;
use ratatui::style::Style;

use super::{Canvas, Paint};
use crate::screen::model::Model;
use crate::status::{self, Kind, Shape, messages};
use crate::wrap;

/// The column after the labels.
const TEXT: u16 = 11;

pub(super) fn draw(model: &Model, paint: &Paint, canvas: &mut Canvas<'_>) {
    if canvas.height() < 2 {
        return;
    }
    let Some((name, resource)) = model.selected() else {
        canvas.title("", false, paint);
        return;
    };
    canvas.title(&title(name.as_str(), resource), false, paint);
    let facts = facts(resource, model.now);
    let room = usize::from(canvas.height() - 1);
    // Messages come first, but facts keep half of the rows.
    let kept = facts.len().min(room / 2);
    let width = usize::from(canvas.width().saturating_sub(TEXT + 1));
    let mut rows: Vec<(&str, String, Style)> = Vec::new();
    // The cause is shown below.
    let cause = resource.metadata.annotations.get(annotation::CAUSE).map(String::as_str);
    for (kind, text) in messages(resource).into_iter().filter(|(_, text)| Some(*text) != cause) {
        let mut word = kind.word();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            for part in wrap::rows(line, width) {
                rows.push((word, line[part].to_owned(), style(kind, paint)));
                word = "";
            }
        }
    }
    rows.truncate(room - kept);
    rows.extend(facts.into_iter().map(|(word, text)| (word, text, Style::new())));
    for (row, (word, text, style)) in (1..canvas.height()).zip(rows) {
        canvas.put(1, row, word, paint.dim());
        canvas.cell(TEXT, row, canvas.width().saturating_sub(TEXT), &text, style);
    }
}

fn style(kind: Kind, paint: &Paint) -> Style {
    match kind {
        Kind::Error => paint.shape(Shape::Error),
        Kind::Warning | Kind::Hold => paint.shape(Shape::Waiting),
        Kind::Note => Style::new(),
    }
}

fn title(name: &str, resource: &UIResource) -> String {
    let mut words = vec![name.to_owned()];
    let kind = status::kind(resource);
    words.extend((!kind.is_empty() && kind != "Tiltfile").then(|| kind.to_owned()));
    words.extend(status::is_manual(resource).then(|| "manual".to_owned()));
    words.extend(resource.metadata.labels.keys().cloned());
    words.join(" · ")
}

/// Returns labels and values, the most useful first: there may be little room.
fn facts(resource: &UIResource, now: Timestamp) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Update", update(resource, now))];
    let link = |link: &UIResourceLink| match link.name.as_str() {
        "" => link.url.clone(),
        name => format!("{} ({name})", link.url),
    };
    let links: Vec<String> = resource.status.endpoint_links.iter().map(link).collect();
    if !links.is_empty() {
        facts.push(("Endpoints", links.join("  ")));
    }
    facts.push(("Runtime", runtime(resource)));
    facts
}

fn update(resource: &UIResource, now: Timestamp) -> String {
    let it = &resource.status;
    let word = status::update(resource).word;
    let running = it.current_build.as_ref().and_then(|it| it.start_time);
    let last = it.build_history.first().and_then(|last| last.start_time.zip(last.finish_time));
    let words = match (running, last) {
        (Some(start), _) => format!("{word} for {} s", now.since(start).as_secs()),
        (None, Some((start, end))) => format!("{word}, took {}", duration(end.since(start))),
        (None, None) => word.to_owned(),
    };
    match resource.metadata.annotations.get(annotation::CAUSE) {
        Some(cause) => format!("{words} · {cause}"),
        None => words,
    }
}

fn runtime(resource: &UIResource) -> String {
    let mut words = vec![status::runtime(resource).word.to_owned()];
    if let Some(pod) = resource.status.k8s_resource_info.as_ref().filter(|pod| !pod.pod_name.is_empty()) {
        words.push(pod.pod_name.clone());
        words.extend((pod.pod_status != "Running").then(|| pod.pod_status.clone()));
        words.extend((pod.pod_restarts > 0).then(|| format!("{} restarts", pod.pod_restarts)));
    }
    let pid = resource.status.local_resource_info.as_ref().map_or(0, |local| local.pid);
    words.extend((pid > 0).then(|| format!("process {pid}")));
    words.join(", ")
}

/// Formats a duration like the page.
fn duration(duration: Duration) -> String {
    let seconds = (duration.as_millis() + 500) / 1000;
    match duration.as_millis() {
        0..1000 => format!("{} ms", duration.as_millis()),
        1000..10_000 => format!("{:.1} s", duration.as_secs_f64()),
        _ if seconds < 60 => format!("{seconds} s"),
        _ if seconds < 3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
