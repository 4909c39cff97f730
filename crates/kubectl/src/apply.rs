//! `lilt apply`.

mod last_applied;
mod prune;
mod send;

use std::time::Duration;

use clap::Args;
use lilt_client::Connect;
use lilt_model::duration::parse_flag;

use super::Outcome;
use super::flags::{Boolean, Cascade, Dry, DryRun, Files, Printing, Validate, boolean, cascade};
use super::get::check_subresource;
use super::problem::Problem;
use super::report::Report;

/// Make objects as files say, or change them until they are so
///
/// What was applied is remembered in an annotation: fields that a later file no longer has go away, those that others
/// have set stay. With --server-side the session remembers who set which field.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  lilt apply -f buttons.yaml
  lilt apply -f objects/ -R                        all files of a folder
  generate | lilt apply -f -                       what comes in
  lilt apply -f all.yaml --prune -l app=shop       and delete what was applied before and is no longer there
  lilt apply -f map.yaml --server-side --field-manager=ci")]
pub struct Apply {
    #[command(subcommand)]
    last: Option<last_applied::LastApplied>,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    printing: Printing,
    #[command(flatten)]
    dry_run: DryRun,
    #[command(flatten)]
    validate: Validate,
    /// Only objects of the files with these labels; with --prune also: only delete such
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    /// Who is told to have set the fields; kubectl with --server-side
    #[arg(long, value_name = "NAME", default_value = "kubectl-client-side-apply")]
    field_manager: String,
    /// Let the session work out what changes: it knows who set which field, and refuses to take fields from others
    #[arg(long)]
    server_side: bool,
    /// With --server-side: take the fields from others
    #[arg(long)]
    force_conflicts: bool,
    /// With --server-side: this part of the objects: status
    #[arg(long, value_name = "NAME")]
    subresource: Option<String>,
    /// What others have changed since is changed back; with false that is an error
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "true", default_missing_value = "true", value_parser = boolean)]
    overwrite: Boolean,
    /// Work out changes by the schema of the objects: as these have no merge keys, it comes to the same
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "true", default_missing_value = "true", value_parser = boolean)]
    openapi_patch: Boolean,
    /// Delete an object and make it anew if it cannot be changed
    #[arg(long)]
    force: bool,
    /// Delete objects that were applied before and are in none of the files; needs --all or a selector
    #[arg(long)]
    prune: bool,
    /// With --prune: whatever their labels
    #[arg(long)]
    all: bool,
    /// With --prune: objects of this kind, as tilt.dev/v1alpha1/Kind, in place of the kinds in the files
    #[arg(long, value_name = "KIND")]
    prune_allowlist: Vec<String>,
    /// With --prune or --force: wait until deleted objects are gone
    #[arg(long)]
    wait: bool,
    /// With --prune or --force: how long to wait for that; 0 for as long as it takes
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_flag)]
    timeout: Duration,
    /// With --prune or --force: seconds that what runs gets to end; -1 leaves it to the session
    #[arg(long, value_name = "SECONDS", default_value_t = -1, allow_negative_numbers = true)]
    grace_period: i64,
    /// With --prune or --force: what becomes of objects that a deleted one owns: background, foreground or orphan
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "background", default_missing_value = "background", value_parser = cascade)]
    cascade: Cascade,
    #[command(flatten)]
    connect: Connect,
}

pub async fn run(apply: Apply) -> Outcome {
    if let Some(last) = &apply.last {
        return last_applied::run(last).await;
    }
    apply.check()?;
    let mut report = Report::new(&apply.printing)?;
    let allowed = prune::kinds(&apply.prune_allowlist)?;
    let documents = apply.files.read()?;
    let mut api = crate::connect(&apply.connect)?;
    let (mut applied, mut problems) = (Vec::new(), Vec::new());
    for document in documents {
        if !document.is_selected(apply.selector.as_deref())? {
            continue;
        }
        match apply.send(&mut api, &document, &mut report).await {
            Ok(()) => applied.push((document.kind, document.name().to_owned())),
            Err(problem) => {
                problems.push(problem.when(&format!("error when applying {:?}", document.source)));
            }
        }
    }
    // Objects that could not be read might be deleted by mistake.
    if apply.prune && problems.is_empty() {
        problems.extend(apply.prune(&mut api, &allowed, &applied, &mut report).await.err());
    }
    Problem::all(problems)
}

impl Apply {
    fn check(&self) -> Outcome {
        let refuse = |words: &str| Err(Problem::message(words));
        check_subresource(self.subresource.as_deref())?;
        if !self.files.are_given() {
            return refuse("must specify one of -f and -k");
        }
        if self.server_side && self.dry_run.dry_run == Dry::Client {
            return refuse(
                "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)",
            );
        }
        if self.force_conflicts && !self.server_side {
            return refuse("--force-conflicts only works with --server-side");
        }
        if self.subresource.is_some() && !self.server_side {
            return refuse("--subresource only works with --server-side");
        }
        if self.force && self.server_side {
            return refuse("--force cannot be used with --server-side");
        }
        self.check_prune()
    }

    fn check_prune(&self) -> Outcome {
        let refuse = |words: &str| Err(Problem::message(words));
        if self.all && self.selector.is_some() {
            return refuse("cannot set --all and --selector at the same time");
        }
        if self.prune && !self.all && self.selector.is_none() {
            return refuse(
                "all resources selected for prune without explicitly passing --all. To prune all resources, pass the \
                 --all flag. If you did not mean to prune all resources, specify a label selector",
            );
        }
        if !self.prune && (self.all || !self.prune_allowlist.is_empty()) {
            return refuse("--all and --prune-allowlist are for --prune");
        }
        let deletes = self.prune || self.force;
        if !deletes && (self.wait || !self.timeout.is_zero() || self.grace_period != -1) {
            return refuse(
                "--wait, --timeout and --grace-period are for deletions: they need --prune or --force",
            );
        }
        Ok(())
    }
}
