//! Prints the session's log line by line.

mod choice;
mod name_column;
mod painter;

use std::time::Duration;

use lilt_host::terminal;
use lilt_model::ResourceName;
use lilt_store::Reader;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use choice::{Levels, PrintedLines, Sources, StreamOptions, levels, source};
pub use name_column::{NAME_WIDTH, NameColumn};
pub use painter::{Painter, colour_of};

/// Lines printed at once.
const PAGE: usize = 2000;
/// How long the end of a session waits for a blocked terminal.
const BLOCKED_TIMEOUT: Duration = Duration::from_secs(1);

/// Prints the selected lines until cancelled, then the remaining ones.
pub async fn follow(reader: Reader, options: StreamOptions, cancel: CancellationToken) {
    // On its own thread: a terminal stopped with Ctrl-S must not stop the session.
    let (progress, mut printed) = watch::channel(0);
    let runtime = Handle::current();
    let stop = cancel.child_token();
    // Dropping this future also stops the printing.
    let _stops_when_dropped = stop.clone().drop_guard();
    let mut printing =
        tokio::task::spawn_blocking(move || print_all(&runtime, &reader, &options, &stop, &progress));
    tokio::select! {
        _ = &mut printing => return,
        () = cancel.cancelled() => {}
    }
    // A slow reader gets all lines; one that does not read is not waited for.
    loop {
        tokio::select! {
            _ = &mut printing => return,
            more = tokio::time::timeout(BLOCKED_TIMEOUT, printed.changed()) => if more.is_err() { return },
        }
    }
}

fn dropped(lines: u64) -> String {
    format!("({lines} lines were dropped before they could be printed: see --log-limit)\n")
}

/// Learns new resources since a revision, before their first lines are printed.
fn learn_names(reader: &Reader, revision: &mut u64, painter: &mut Painter) {
    if reader.revision() == *revision {
        return;
    }
    let mut changes = reader.changes_since(*revision);
    *revision = changes.revision;
    changes.resources.sort_by_key(|resource| resource.status.order);
    let names: Vec<ResourceName> =
        changes.resources.iter().map(|resource| ResourceName::new(&resource.metadata.name)).collect();
    painter.learn(&names);
}

fn print_all(
    runtime: &Handle,
    reader: &Reader,
    options: &StreamOptions,
    cancel: &CancellationToken,
    progress: &watch::Sender<u64>,
) {
    let (filter, logs) = (&options.filter, reader.logs());
    let mut painter = Painter::new(terminal::has_colours(), filter.resources.len() != 1).raw(options.raw);
    let mut text = String::new();
    let mut next = 0;
    let mut revision = 0;
    loop {
        // Checked first, so that lines until then are printed.
        let ended = cancel.is_cancelled();
        loop {
            text.clear();
            // Dropped lines are reported: the output of a slow terminal must not look complete.
            let begin = logs.begin();
            if begin > next {
                painter.end(&mut text);
                text.push_str(&dropped(begin - next));
                next = begin;
            }
            let Some(lines) = logs.take(filter, next, PAGE) else {
                terminal::print_raw(&text);
                break;
            };
            next = lines.next;
            learn_names(reader, &mut revision, &mut painter);
            for line in lines.iter() {
                painter.put(&line, &mut text);
            }
            terminal::print_raw(&text);
            progress.send_replace(next);
        }
        if ended {
            break;
        }
        runtime.block_on(async {
            tokio::select! {
                _ = logs.grown(next) => {}
                () = cancel.cancelled() => {}
            }
        });
    }
    text.clear();
    painter.end(&mut text);
    terminal::print_raw(&text);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lilt_api::{ObjectMeta, UIResource, UIResourceStatus};
    use lilt_model::log::Level;
    use lilt_model::{SpanId, Timestamp};
    use lilt_store::{Draft, LogWriter};

    use super::painter::Piece;
    use super::*;

    #[test]
    fn label_of_a_resource_follows_the_tiltfile_not_the_first_line() {
        let (_logs, logs) = LogWriter::open(None, || Timestamp(0));
        let (mut writer, _queries, reader) = lilt_store::open(logs);
        let resource = |name: &str, order| {
            Arc::new(UIResource::new(
                ObjectMeta { name: name.into(), ..ObjectMeta::default() },
                UIResourceStatus { order, ..UIResourceStatus::default() },
            ))
        };
        for resource in [resource("payments-api-worker", 2), resource("payments-api-server", 1)] {
            writer.put(Draft::resource(resource, None));
        }
        writer.commit(Timestamp(0));
        let (mut painter, mut revision, mut out) = (Painter::new(false, true), 0, String::new());
        learn_names(&reader, &mut revision, &mut painter);
        assert_eq!(revision, reader.revision());
        let (name, span) = (ResourceName::new("payments-api-worker"), SpanId::new("a"));
        painter.put(
            Piece {
                resource: Some(&name),
                span: &span,
                level: Level::Info,
                text: "hello",
                continues: false,
                open: false,
                headline: false,
            },
            &mut out,
        );
        assert!(out.starts_with("paymen…worker "), "{out:?}");
    }
}
