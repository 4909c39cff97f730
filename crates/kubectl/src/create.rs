//! `lilt create`.

mod from_arguments;

use clap::{Args, Subcommand};
use lilt_client::Connect;
use lilt_client::object_api::{Api, ApiPath};
use serde_json::Value;

use super::Outcome;
use super::documents::Document;
use super::editor;
use super::flags::{Dry, DryRun, Files, Printing, Validate};
use super::problem::Problem;
use super::report::{Report, with_last_applied};
use from_arguments::{MakeCmd, MakeExt, MakeFilewatch, MakeRepo};

/// Make objects in a session: those of a file, or one that is described by arguments
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  lilt create -f button.yaml                       the objects of a file
  lilt create -f - -o name < button.yaml           those that come in; prints their names
  lilt create cmd hello echo hello world           a command that runs now
  lilt create filewatch src ./src --ignore '*.o'   tells of saved files")]
pub struct Create {
    #[command(subcommand)]
    made: Option<CreateSubcommand>,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    dry_run: DryRun,
    #[command(flatten)]
    validate: Validate,
    /// Change the objects in an editor before they are made
    #[arg(long)]
    edit: bool,
    /// Remember in an annotation what the object was made from, as `apply` does
    #[arg(long)]
    save_config: bool,
    /// Only objects of the files with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    /// With --edit: lines end as on Windows
    #[arg(long)]
    windows_line_endings: bool,
    #[command(flatten)]
    connect: Connect,
}

#[derive(Debug, Subcommand)]
enum CreateSubcommand {
    Cmd(MakeCmd),
    #[command(alias = "extension")]
    Ext(MakeExt),
    #[command(visible_alias = "fw")]
    Filewatch(MakeFilewatch),
    #[command(alias = "extensionrepo")]
    Repo(MakeRepo),
}

pub async fn run(create: Create) -> Outcome {
    match create.made {
        Some(CreateSubcommand::Cmd(made)) => make(&made.object()?, &made.common).await,
        Some(CreateSubcommand::Ext(made)) => make(&made.object(), &made.common).await,
        Some(CreateSubcommand::Filewatch(made)) => make(&made.object()?, &made.common).await,
        Some(CreateSubcommand::Repo(made)) => make(&made.object(), &made.common).await,
        None => from_files(create).await,
    }
}

async fn make(object: &Value, common: &from_arguments::Common) -> Outcome {
    let mut report = Report::new(&common.printing)?;
    let document = Document::new("arguments", object.clone())?;
    let mut api = crate::connect(&common.connect)?;
    let made = api.create(&ApiPath::all(document.kind), object).await?;
    report.print(&made, "created", Dry::Not)
}

async fn from_files(create: Create) -> Outcome {
    if !create.files.are_given() {
        return Err(Problem::message("must specify one of -f and -k"));
    }
    if create.windows_line_endings && !create.edit {
        return Err(Problem::message("--windows-line-endings is only relevant with --edit"));
    }
    let mut report = Report::new(&create.printing)?;
    let mut documents = create.files.read()?;
    if create.edit {
        documents = edited(&create, documents)?;
    }
    let mut api = crate::connect(&create.connect)?;
    let mut problems = Vec::new();
    for document in documents {
        if !document.is_selected(create.selector.as_deref())? {
            continue;
        }
        if let Err(problem) = create.send(&mut api, &document, &mut report).await {
            problems.push(problem.when(&format!("error when creating {:?}", document.source)));
        }
    }
    Problem::all(problems)
}

impl Create {
    async fn send(&self, api: &mut Api, document: &Document, report: &mut Report) -> Outcome {
        let marked = self.save_config.then(|| with_last_applied(&document.object));
        let object = marked.as_ref().unwrap_or(&document.object);
        let dry = self.dry_run.dry_run;
        if dry == Dry::Client {
            return report.print(object, "created", dry);
        }
        let place = ApiPath::all(document.kind)
            .with_query("fieldManager", "kubectl-create")
            .with_query("fieldValidation", self.validate.validate.parameter())
            .with_query("dryRun", dry.parameter());
        let made = api.create(&place, object).await?;
        report.print(&made, "created", dry)
    }
}

/// Opens all documents in one file in the editor.
fn edited(create: &Create, documents: Vec<Document>) -> Result<Vec<Document>, Problem> {
    let objects: Vec<Value> = documents.into_iter().map(|document| document.object).collect();
    let format = editor::Format::read(create.printing.output.as_deref(), create.windows_line_endings)?;
    let text = format.write_all(&objects)?;
    let mut session = editor::EditSession::begin(&format)?;
    let changed = session.edit(&text)?;
    if changed.is_empty() {
        return Err(Problem::message("Edit cancelled, no objects are left in the file"));
    }
    changed.into_iter().map(|object| Document::new("edited file", object)).collect()
}
