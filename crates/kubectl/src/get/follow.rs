//! `lilt get -w`: prints the current objects, then every change.

use lilt_client::object_api::WatchStream;
use lilt_client::object_api::{Api, ApiPath, ObjectForm};
use lilt_host::terminal;
use serde_json::Value;

use super::Get;
use crate::Outcome;
use crate::lookup;
use crate::printers::{Output, Printer, Table};
use crate::problem::Problem;
use crate::targets::Target;

pub(super) async fn run(get: &Get, api: &mut Api, targets: &[Target], output: Output) -> Outcome {
    let [target] = targets else {
        return Err(Problem::message(
            "you may only specify a single resource type, or a single resource, with --watch or --watch-only",
        ));
    };
    if get.subresource.is_some() {
        return Err(Problem::message("--subresource cannot be used with --watch or --watch-only"));
    }
    let mut show = match output {
        Output::Plain { wide } => {
            Show::Table(Box::new(Table::new(get.header_options(target.kind(), false, wide))))
        }
        Output::Formed(printer) => Show::Objects { printer, begun: false },
    };
    loop {
        if !follow(get, api, target, &mut show).await? {
            return Ok(());
        }
    }
}

/// The output of changes.
enum Show {
    Table(Box<Table>),
    Objects { printer: Printer, begun: bool },
}

impl Show {
    fn shape(&self) -> ObjectForm {
        match self {
            Show::Table(_) => ObjectForm::Table,
            Show::Objects { .. } => ObjectForm::Whole,
        }
    }

    /// Prints the initial objects and returns their number.
    fn begin(&mut self, list: &Value) -> Result<usize, Problem> {
        let items = |name: &str| list.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        match self {
            Show::Table(_) => self.print(list)?,
            Show::Objects { .. } => {
                for object in items("items") {
                    self.print(object)?;
                }
            }
        }
        Ok(items("items").len() + items("rows").len())
    }

    fn print(&mut self, object: &Value) -> Outcome {
        let text = match self {
            Show::Table(table) => table.print(object),
            Show::Objects { printer, begun } => {
                let again = std::mem::replace(begun, true);
                let line = if again && printer.is_yaml() { "---\n" } else { "" };
                format!("{line}{}", printer.one(object)?)
            }
        };
        terminal::write(text.as_bytes()).map_err(Problem::Output)
    }
}

/// Prints changes until the watch ends. Returns whether to restart it, because this client was too slow.
async fn follow(get: &Get, api: &mut Api, target: &Target, show: &mut Show) -> Result<bool, Problem> {
    let place = match target {
        Target::Kind(kind) => get.selectors.of(ApiPath::all(kind)),
        Target::One(kind, name) => {
            ApiPath::all(kind).with_query("fieldSelector", format!("metadata.name={name}"))
        }
    };
    let now = if get.watch_only {
        api.get(&place.clone().with_query("limit", "1"), show.shape()).await?
    } else {
        lookup::list(api, &place, show.shape(), get.chunk_size).await?
    };
    if !get.watch_only {
        let count = show.begin(&now)?;
        if let (Target::One(kind, name), 0, false) = (target, count, get.ignore_not_found) {
            // Reports an object that does not exist instead of waiting for it forever.
            api.get(&ApiPath::one(kind, name), ObjectForm::Whole).await?;
        }
    }
    let version = now.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let mut events =
        WatchStream::open(api, &place.with_query("resourceVersion", version), show.shape()).await?;
    while let Some(event) = events.next().await? {
        match event.event_type.as_str() {
            "BOOKMARK" => {}
            "ERROR" if event.is_expired() => return Ok(true),
            "ERROR" => {
                let message = event.object.get("message").and_then(Value::as_str).unwrap_or_default();
                return Err(Problem::message(message));
            }
            _ => show.print(&event.object)?,
        }
    }
    Ok(false)
}
