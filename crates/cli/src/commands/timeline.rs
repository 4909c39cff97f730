//! `lilt timeline`: what each update did, and how long it took.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use lilt_client::{Connect, sessions};
use lilt_host::terminal;
use lilt_model::Timestamp;
use lilt_model::timeline::{Stage, UpdateRecord};
use lilt_server::Timeline;

/// Show what each update did, stage by stage, and how long it took
///
/// Updates of the whole session, oldest first: what caused them, how they ended, and their stages from waiting for
/// their turn to the pod being ready.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  lilt timeline\n  lilt timeline web\n  lilt timeline web --json | jq '.resources[].updates[].stages'"
)]
pub(crate) struct TimelineArguments {
    /// Of this resource alone
    resource: Option<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: Connect,
}

pub(crate) async fn run(arguments: TimelineArguments) -> anyhow::Result<ExitCode> {
    let client = sessions::choose(&arguments.connect)?;
    let path = match &arguments.resource {
        Some(resource) => format!("/api/timeline?resource={}", encoded(resource)),
        None => "/api/timeline".to_owned(),
    };
    if arguments.json {
        terminal::write(&client.get(&path).await?.read_to_end().await?)?;
        terminal::write(b"\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let timeline: Timeline = client.get_json(&path).await?;
    let mut updates: Vec<(&str, &UpdateRecord)> = timeline
        .resources
        .iter()
        .flat_map(|resource| resource.updates.iter().map(|update| (resource.name.as_str(), update)))
        .collect();
    updates.sort_by_key(|(_, update)| (update.begin, update.update));
    let begin = updates.first().map_or(Timestamp::ZERO, |(_, update)| update.begin);
    let text: String = updates.iter().map(|(name, update)| shown(name, update, begin)).collect();
    terminal::write(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Escapes a value of a query.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn shown(name: &str, update: &UpdateRecord, begin: Timestamp) -> String {
    let mut text = format!(
        "{:>10}  {name}: {} ({}{})\n",
        format!("+{}", seconds(update.begin.since(begin))),
        update.cause,
        update.outcome,
        update.end.map(|end| format!(", {}", seconds(end.since(update.begin)))).unwrap_or_default()
    );
    if let Some(error) = &update.error {
        text.push_str(&format!("{:>12}{}\n", "", error.lines().next().unwrap_or_default()));
    }
    update.stages.iter().for_each(|stage| text.push_str(&stage_line(stage, update.begin)));
    text
}

fn stage_line(stage: &Stage, begin: Timestamp) -> String {
    let took = stage.end.map_or("…".to_owned(), |end| seconds(end.since(stage.begin)));
    format!("{:>10}  {:>10}  {}\n", format!("+{}", seconds(stage.begin.since(begin))), took, stage.words())
}

fn seconds(length: Duration) -> String {
    format!("{:.2}s", length.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use lilt_model::timeline::{Outcome, StageKind};

    use super::*;

    #[test]
    fn update_is_shown_with_its_stages() {
        let at = |seconds: i64| Timestamp(seconds * 1_000_000);
        let stage = |kind, detail: &str, begin, end| Stage { end, ..Stage::new(kind, detail, begin) };
        let update = UpdateRecord {
            update: 7,
            cause: "1 File Changed: [x]".into(),
            begin: at(10),
            end: Some(at(14)),
            outcome: Outcome::Failed,
            error: Some("it broke\nbadly".into()),
            stages: vec![
                stage(StageKind::Wait, "", at(10), Some(at(11))),
                stage(StageKind::Build, "web", at(11), None),
            ],
        };
        assert_eq!(
            shown("web", &update, at(8)),
            "    +2.00s  web: 1 File Changed: [x] (failed, 4.00s)\n            it broke\n    +0.00s       1.00s  wait\n    +1.00s           …  build web\n"
        );
        assert_eq!(encoded("a b/(c)"), "a%20b%2F%28c%29");
    }
}
