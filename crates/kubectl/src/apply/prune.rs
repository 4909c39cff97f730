//! `--prune`: deletes objects that were applied before and are no longer in the files.

use lilt_api::kinds::{Kind, kinds as all};
use lilt_client::object_api::Api;

use super::Apply;
use crate::Outcome;
use crate::delete::{options, wait_until_deleted};
use crate::flags::Dry;
use crate::lookup::{Selectors, fetch};
use crate::problem::Problem;
use crate::report::{Report, last_applied};
use crate::targets::Target;

/// Parses the kinds of `--prune-allowlist`.
pub(super) fn kinds(allowed: &[String]) -> Result<Vec<&'static Kind>, Problem> {
    let kind = |text: &String| {
        let wrong = || {
            let words =
                format!("invalid GroupVersionKind format: {text}, please follow <group/version/kind>");
            Problem::message(words)
        };
        let [group, version, kind] = text.split('/').collect::<Vec<_>>()[..] else { return Err(wrong()) };
        let known = all().named(kind).filter(|_| (group, version) == ("tilt.dev", "v1alpha1"));
        let unknown =
            || Problem::message(format!("no matches for kind {kind:?} in version \"{group}/{version}\""));
        known.ok_or_else(unknown)
    };
    allowed.iter().map(kind).collect()
}

impl Apply {
    pub(super) async fn prune(
        &self,
        api: &mut Api,
        allowed: &[&'static Kind],
        applied: &[(&'static Kind, String)],
        report: &mut Report,
    ) -> Outcome {
        let mut kinds = allowed.to_vec();
        if kinds.is_empty() {
            for (kind, _) in applied {
                if !kinds.contains(kind) {
                    kinds.push(kind);
                }
            }
        }
        let targets: Vec<Target> = kinds.into_iter().map(Target::Kind).collect();
        let selectors = Selectors { selector: self.selector.clone(), field_selector: None };
        let (found, problems) = fetch(api, &targets, &selectors).await;
        Problem::all(problems)?;
        let dry = self.dry_run.dry_run;
        for found in found {
            let is_kept = applied.iter().any(|(kind, name)| *kind == found.kind && name == found.name());
            // Objects without the annotation were created by others, such as the Tiltfile.
            if is_kept || last_applied(&found.object).is_none() {
                continue;
            }
            if dry != Dry::Client {
                let place = found.place().with_query("dryRun", dry.parameter());
                api.delete(&place, &options(self.cascade, self.grace_period)).await?;
            }
            report.print(&found.object, "pruned", dry)?;
            if self.wait && dry == Dry::Not {
                wait_until_deleted(api, &found, self.timeout).await?;
            }
        }
        Ok(())
    }
}
