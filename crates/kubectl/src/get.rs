//! `lilt get`.

mod follow;
mod sort;

use clap::Args;
use lilt_api::kinds::Kind;
use lilt_client::Connect;
use lilt_client::object_api::{Api, ApiPath, ObjectForm};
use lilt_host::terminal;
use serde_json::Value;

use super::Outcome;
use super::flags::{Files, Printing};
use super::lookup::{self, PAGE, Selectors};
use super::printers::{HeaderOptions, Output, Printer, Table};
use super::problem::Problem;
use super::targets::{Target, full_name};
use sort::Order;

/// Show objects of a session
///
/// TYPE is a kind of object by any of its names, several with commas between them, or all; `lilt api-resources` lists
/// the kinds.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lilt get uiresources                               all resources with their statuses
  lilt get uiresource web -o yaml                    everything about one
  lilt get uiresource/web cmd/test                   objects of several kinds
  lilt get cmd -w                                    and every change from now on
  lilt get uiresources -l app=web --show-labels      those with a label
  lilt get uiresource web -o jsonpath='{.status.updateStatus}'")]
pub struct Get {
    /// TYPE, TYPE NAME…, or TYPE/NAME…
    #[arg(value_name = "OBJECTS")]
    words: Vec<String>,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    selectors: Selectors,
    /// Show every change from now on, too
    #[arg(short, long)]
    watch: bool,
    /// Show changes from now on alone
    #[arg(long)]
    watch_only: bool,
    /// Objects that are not there are no mistake
    #[arg(long)]
    ignore_not_found: bool,
    /// A column for each of these labels
    #[arg(short = 'L', long, value_name = "LABEL", value_delimiter = ',')]
    label_columns: Vec<String>,
    /// A column with all labels
    #[arg(long)]
    show_labels: bool,
    /// The kind before each name
    #[arg(long)]
    show_kind: bool,
    /// No line with the names of the columns
    #[arg(long)]
    no_headers: bool,
    /// Sort by a field, for example .metadata.creationTimestamp
    #[arg(long, value_name = "PATH")]
    sort_by: Option<String>,
    /// How many objects to ask for at once; 0 for all
    #[arg(long, value_name = "NUMBER", default_value_t = PAGE)]
    chunk_size: usize,
    /// Print what stands at a path of the API, as it is
    #[arg(long, value_name = "PATH")]
    raw: Option<String>,
    /// Only this part of the objects: status
    #[arg(long, value_name = "NAME")]
    subresource: Option<String>,
    #[command(flatten)]
    connect: Connect,
}

/// The table of the objects of one kind.
struct Rows {
    kind: &'static Kind,
    table: Value,
}

pub async fn run(get: Get) -> Outcome {
    if let Some(path) = &get.raw {
        return raw(&get, path).await;
    }
    get.check()?;
    let order = get.sort_by.as_deref().map(Order::read).transpose()?;
    let output = Output::with_table(&get.printing, !get.no_headers)?;
    let targets = lookup::resolve_targets(&get.words, &get.files, &get.selectors)?;
    if targets.is_empty() {
        return Err(no_resource_named());
    }
    if get.subresource.is_some() && targets.iter().any(|target| matches!(target, Target::Kind(_))) {
        return Err(Problem::message("--subresource cannot be used without the names of objects"));
    }
    let mut api = crate::connect(&get.connect)?;
    if get.watch || get.watch_only {
        return follow::run(&get, &mut api, &targets, output).await;
    }
    match output {
        Output::Plain { wide } => get.tables(&mut api, &targets, order.as_ref(), wide).await,
        Output::Formed(printer) => get.objects(&mut api, &targets, order.as_ref(), &printer).await,
    }
}

async fn raw(get: &Get, path: &str) -> Outcome {
    if !get.words.is_empty() || get.files.are_given() {
        return Err(Problem::message("arguments may not be passed when --raw is specified"));
    }
    let bytes = crate::connect(&get.connect)?.raw(http::Method::GET, path).await?;
    terminal::write(&bytes).map_err(Problem::Output)
}

fn no_resource_named() -> Problem {
    Problem::message(
        "Required resource not specified.\nUse \"lilt api-resources\" for a complete list of supported resources.\n\
         See 'lilt get -h' for help and examples",
    )
}

/// Checks `--subresource`; the only one is `status`.
pub(crate) fn check_subresource(part: Option<&str>) -> Outcome {
    match part {
        None | Some("status") => Ok(()),
        Some(other) => {
            Err(Problem::message(format!("invalid subresource value: {other:?}. Must be one of [status]")))
        }
    }
}

impl Get {
    fn check(&self) -> Outcome {
        check_subresource(self.subresource.as_deref())?;
        let watches = self.watch || self.watch_only;
        if watches && self.sort_by.is_some() {
            return Err(Problem::message("--watch or --watch-only cannot be used with --sort-by"));
        }
        if (self.show_labels || !self.label_columns.is_empty() || self.show_kind)
            && !matches!(self.printing.output.as_deref(), None | Some("" | "wide"))
        {
            let words =
                "--show-labels, --label-columns and --show-kind are for tables: they cannot be used with -o";
            return Err(Problem::message(words));
        }
        Ok(())
    }

    fn place(&self, target: &Target) -> ApiPath {
        match target {
            Target::Kind(kind) => self.selectors.of(ApiPath::all(kind)),
            Target::One(kind, name) => ApiPath::one(kind, name).subresource(self.subresource.as_deref()),
        }
    }

    async fn answer(
        &self,
        api: &mut Api,
        target: &Target,
        shape: ObjectForm,
        place: &ApiPath,
    ) -> Result<Value, Problem> {
        match target {
            Target::Kind(_) => lookup::list(api, place, shape, self.chunk_size).await,
            Target::One(..) => Ok(api.get(place, shape).await?),
        }
    }

    fn header_options(&self, kind: &'static Kind, several: bool, wide: bool) -> HeaderOptions {
        HeaderOptions {
            wide,
            hidden: self.no_headers,
            labels: self.show_labels,
            label_columns: self.label_columns.clone(),
            prefix: (several || self.show_kind).then(|| full_name(kind)),
        }
    }

    async fn tables(&self, api: &mut Api, targets: &[Target], order: Option<&Order>, wide: bool) -> Outcome {
        let (mut tables, mut problems) = (Vec::<Rows>::new(), Vec::new());
        for target in targets {
            // Sorting needs the objects themselves.
            let place =
                self.place(target).with_query("includeObject", if order.is_some() { "Object" } else { "" });
            match self.answer(api, target, ObjectForm::Table, &place).await {
                Ok(table) => add(&mut tables, target.kind(), table),
                Err(problem) => problems.push(problem),
            }
        }
        self.drop_missing(&mut problems);
        let several = targets.iter().any(|target| target.kind() != targets[0].kind());
        let mut texts = Vec::new();
        for Rows { kind, mut table } in tables {
            if let (Some(order), Some(rows)) = (order, table["rows"].as_array_mut()) {
                order.sort(rows, "/object")?;
            }
            let text = Table::new(self.header_options(kind, several, wide)).print(&table);
            texts.extend(Some(text).filter(|text| !text.is_empty()));
        }
        if texts.is_empty() && problems.is_empty() && !self.ignore_not_found {
            terminal::aside("No resources found");
        }
        terminal::write(texts.join("\n").as_bytes()).map_err(Problem::Output)?;
        Problem::all(problems)
    }

    async fn objects(
        &self,
        api: &mut Api,
        targets: &[Target],
        order: Option<&Order>,
        printer: &Printer,
    ) -> Outcome {
        let (mut objects, mut problems) = (Vec::new(), Vec::new());
        for target in targets {
            match (self.answer(api, target, ObjectForm::Whole, &self.place(target)).await, target) {
                (Ok(object), Target::One(..)) => objects.push(object),
                (Ok(mut list), Target::Kind(_)) => {
                    objects.extend(list["items"].as_array_mut().map(std::mem::take).unwrap_or_default());
                }
                (Err(problem), _) => problems.push(problem),
            }
        }
        self.drop_missing(&mut problems);
        if let Some(order) = order {
            order.sort(&mut objects, "")?;
        }
        let text = match (targets, objects.as_slice()) {
            // A single missing object prints nothing.
            ([Target::One(..)], []) => String::new(),
            ([Target::One(..)], [one]) => printer.one(one)?,
            (_, []) if !problems.is_empty() => String::new(),
            (_, objects) => printer.list(objects)?,
        };
        terminal::write(text.as_bytes()).map_err(Problem::Output)?;
        Problem::all(problems)
    }

    fn drop_missing(&self, problems: &mut Vec<Problem>) {
        if self.ignore_not_found {
            problems.retain(|problem| !problem.is_missing());
        }
    }
}

/// Appends a table; consecutive objects of one kind share one.
fn add(tables: &mut Vec<Rows>, kind: &'static Kind, mut table: Value) {
    match tables.last_mut() {
        Some(last) if last.kind == kind => {
            let rows = table["rows"].as_array_mut().map(std::mem::take).unwrap_or_default();
            if let Some(all) = last.table["rows"].as_array_mut() {
                all.extend(rows);
            }
        }
        _ => tables.push(Rows { kind, table }),
    }
}
