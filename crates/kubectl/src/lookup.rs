//! Resolves the arguments of a command to objects, and fetches them.

use clap::Args;
use lilt_api::kinds::Kind;
use lilt_client::object_api::{Api, ApiPath, ObjectForm};
use serde_json::Value;

use super::documents::Document;
use super::flags::Files;
use super::problem::Problem;
use super::targets::{Target, targets};

/// Selects objects of a kind.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Selectors {
    /// Only objects with these labels, for example app=web,tier!=db
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    /// Only objects with these fields, for example metadata.name=web
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) field_selector: Option<String>,
}

impl Selectors {
    pub(crate) fn are_given(&self) -> bool {
        self.selector.is_some() || self.field_selector.is_some()
    }

    pub(crate) fn of(&self, place: ApiPath) -> ApiPath {
        place
            .with_query("labelSelector", self.selector.clone().unwrap_or_default())
            .with_query("fieldSelector", self.field_selector.clone().unwrap_or_default())
    }
}

/// Resolves arguments or files, only one of which may be given.
pub(crate) fn resolve_targets(
    words: &[String],
    files: &Files,
    selectors: &Selectors,
) -> Result<Vec<Target>, Problem> {
    if files.are_given() {
        if !words.is_empty() {
            let words = "when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well";
            return Err(Problem::message(words));
        }
        let named = |document: Document| Ok(Target::One(document.kind, document.required_name()?.to_owned()));
        return files.read()?.into_iter().map(named).collect();
    }
    let targets = targets(words)?;
    if selectors.are_given() && targets.iter().any(|target| matches!(target, Target::One(..))) {
        return Err(Problem::message("name cannot be provided when a selector is specified"));
    }
    Ok(targets)
}

/// Fetches all pages of a list, with `page` objects each; 0 fetches all at once.
pub(crate) async fn list(
    api: &mut Api,
    place: &ApiPath,
    shape: ObjectForm,
    page: usize,
) -> Result<Value, Problem> {
    let limit = if page == 0 { String::new() } else { page.to_string() };
    let place = place.clone().with_query("limit", limit);
    let mut whole = api.get(&place, shape).await?;
    let more = |list: &Value| list.pointer("/metadata/continue").and_then(Value::as_str).map(str::to_owned);
    let mut token = more(&whole);
    while let Some(next) = token.filter(|token| !token.is_empty()) {
        let mut list = api.get(&place.clone().with_query("continue", next), shape).await?;
        token = more(&list);
        let items = if shape == ObjectForm::Table { "rows" } else { "items" };
        if let (Some(all), Some(new)) =
            (whole[items].as_array_mut(), list.get_mut(items).and_then(Value::as_array_mut))
        {
            all.append(new);
        }
    }
    Ok(whole)
}

/// How many objects are fetched at once.
pub(crate) const PAGE: usize = 500;

/// An object with its kind.
#[derive(Clone, Debug)]
pub(crate) struct FoundObject {
    pub(crate) kind: &'static Kind,
    pub(crate) object: Value,
}

impl FoundObject {
    pub(crate) fn name(&self) -> &str {
        self.object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn place(&self) -> ApiPath {
        ApiPath::one(self.kind, self.name())
    }
}

/// Fetches the objects of `targets`, and the problems with those that cannot be fetched.
pub(crate) async fn fetch(
    api: &mut Api,
    targets: &[Target],
    selectors: &Selectors,
) -> (Vec<FoundObject>, Vec<Problem>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for target in targets {
        match fetch_one(api, target, selectors).await {
            Ok(objects) => found.extend(objects),
            Err(problem) => problems.push(problem),
        }
    }
    (found, problems)
}

async fn fetch_one(
    api: &mut Api,
    target: &Target,
    selectors: &Selectors,
) -> Result<Vec<FoundObject>, Problem> {
    match target {
        Target::One(kind, name) => {
            let object = api.get(&ApiPath::one(kind, name), ObjectForm::Whole).await?;
            Ok(vec![FoundObject { kind, object }])
        }
        Target::Kind(kind) => {
            let mut list = list(api, &selectors.of(ApiPath::all(kind)), ObjectForm::Whole, PAGE).await?;
            let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
            Ok(items.into_iter().map(|object| FoundObject { kind, object }).collect())
        }
    }
}
