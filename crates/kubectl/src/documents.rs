//! Reads objects from files, folders, standard input or kustomize.

use std::path::{Path, PathBuf};

use lilt_api::kinds::{Kind, kinds};
use lilt_host::terminal;
use lilt_host::{environment, files, process};
use lilt_model::yaml;
use serde_json::Value;

use super::problem::Problem;

/// An object and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The file, or `STDIN`.
    pub source: String,
    pub kind: &'static Kind,
    pub object: Value,
}

impl Document {
    pub fn new(source: &str, object: Value) -> Result<Self, Problem> {
        let said = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
        let unreadable = |why: &str| {
            Problem::message(format!("error parsing {source}: Object '{why}' is missing in '{object}'"))
        };
        let (kind, version) = (said("kind"), said("apiVersion"));
        if kind.is_empty() {
            return Err(unreadable("Kind"));
        }
        if version.is_empty() {
            return Err(unreadable("apiVersion"));
        }
        let known = kinds().named(kind).filter(|_| version == "tilt.dev/v1alpha1");
        let unknown = || {
            Problem::message(format!(
                "resource mapping not found from {source:?}: no matches for kind {kind:?} in version {version:?}"
            ))
        };
        let kind = known.ok_or_else(unknown)?;
        Ok(Self { source: source.to_owned(), kind, object })
    }

    pub fn name(&self) -> &str {
        self.object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the name; an error if it has none.
    pub(crate) fn required_name(&self) -> Result<&str, Problem> {
        match self.name() {
            "" => Err(Problem::message(format!(
                "error when retrieving current configuration of {:?}: resource name may not be empty",
                self.source
            ))),
            name => Ok(name),
        }
    }

    /// Returns whether its labels match a selector such as `a=b,c!=d`.
    pub(crate) fn is_selected(&self, selector: Option<&str>) -> Result<bool, Problem> {
        let Some(selector) = selector else { return Ok(true) };
        let labels = self.object.pointer("/metadata/labels");
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        for term in selector.split(',').map(str::trim).filter(|term| !term.is_empty()) {
            let holds = if let Some((key, value)) = term.split_once("!=") {
                label(key.trim()) != Some(value.trim())
            } else if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
                label(key.trim()) == Some(value.trim())
            } else if let Some(key) = term.strip_prefix('!') {
                label(key.trim()).is_none()
            } else if term.contains([' ', '(', '<', '>']) {
                let words =
                    format!("unable to parse label selector {term:?}: of files =, ==, != and names are read");
                return Err(Problem::message(words));
            } else {
                label(term).is_some()
            };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The extensions of files that are read in a folder.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// Reads the objects of files, folders and standard input (`-`).
pub fn read(names: &[String], recursive: bool) -> Result<Vec<Document>, Problem> {
    let mut documents = Vec::new();
    for name in names {
        if name == "-" {
            let unreadable =
                |error: std::io::Error| Problem::message(format!("error reading STDIN: {error}"));
            let text = terminal::read_all().map_err(unreadable)?;
            documents.extend(parse("STDIN", &text)?);
            continue;
        }
        if name.starts_with("http://") || name.starts_with("https://") {
            let words = format!("{name}: pages are not read; try `curl -fsSL {name} | lilt … -f -`");
            return Err(Problem::message(words));
        }
        for path in found(name, recursive)? {
            let unreadable = |error: std::io::Error| Problem::message(format!("{}: {error}", path.display()));
            let text = match files::read_entry(&path).map_err(unreadable)? {
                files::FileEntry::File { content, .. } => content,
                // Also links, and pipes such as /dev/fd/63.
                _ => files::read(&path)
                    .ok_or_else(|| Problem::message(format!("{} cannot be read", path.display())))?,
            };
            documents.extend(parse(&path.display().to_string(), &text)?);
        }
    }
    if documents.is_empty() && !names.is_empty() {
        return Err(Problem::message(format!("no objects passed to it in {}", names.join(", "))));
    }
    Ok(documents)
}

/// Returns the files of a path.
fn found(name: &str, recursive: bool) -> Result<Vec<PathBuf>, Problem> {
    let path = Path::new(name);
    if path.is_dir() {
        let mut found = Vec::new();
        collect(path, recursive, &mut found)?;
        if found.is_empty() {
            let words = format!("error reading [{name}]: recognized file extensions are [.json .yaml .yml]");
            return Err(Problem::message(words));
        }
        return Ok(found);
    }
    if path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    Err(Problem::message(format!("the path {name:?} does not exist")))
}

fn collect(folder: &Path, recursive: bool, found: &mut Vec<PathBuf>) -> Result<(), Problem> {
    let unreadable = |error: std::io::Error| Problem::message(format!("{}: {error}", folder.display()));
    let mut entries = files::list(folder).map_err(unreadable)?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if recursive {
                collect(&path, recursive, found)?;
            }
        } else if path.extension().is_some_and(|ending| EXTENSIONS.iter().any(|known| ending == *known)) {
            found.push(path);
        }
    }
    Ok(())
}

pub(crate) fn parse(source: &str, text: &[u8]) -> Result<Vec<Document>, Problem> {
    let text = yaml::decode(text);
    let objects = yaml::objects(&text).map_err(|error| unreadable(source, &error))?;
    objects.into_iter().map(|(_, object)| Document::new(source, object)).collect()
}

fn unreadable(source: &str, error: &yaml::YamlError) -> Problem {
    Problem::message(format!("error parsing {source}: {error}"))
}

/// Parses one YAML or JSON value.
pub(crate) fn value(source: &str, text: &str) -> Result<Value, Problem> {
    yaml::document(text).map_err(|error| unreadable(source, &error))
}

/// Builds a folder with the installed kustomize or kubectl.
pub(crate) fn build_kustomization(folder: &str) -> Result<Vec<Document>, Problem> {
    let argv: &[&str] = if environment::find_program("kustomize").is_some() {
        &["kustomize", "build", folder]
    } else if environment::find_program("kubectl").is_some() {
        &["kubectl", "kustomize", folder]
    } else {
        return Err(Problem::message("-k needs `kustomize` or `kubectl`, and neither is installed"));
    };
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    let (exit, output) = process::capture_output(&argv)?;
    if !exit.success() {
        return Err(Problem::message(format!("`{}` ended with {exit}", argv.join(" "))));
    }
    parse(folder, &output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_lists_are_split() {
        let text = "apiVersion: tilt.dev/v1alpha1\nkind: Cmd\nmetadata: {name: a, labels: {x: z}}\n---\n\
                    apiVersion: v1\nkind: List\nitems:\n- {apiVersion: tilt.dev/v1alpha1, kind: FileWatch, metadata: {name: b}}\n";
        let found = parse("f.yaml", text.as_bytes()).expect("objects");
        let names: Vec<_> = found.iter().map(|it| (it.kind.name, it.name())).collect();
        assert_eq!(names, [("Cmd", "a"), ("FileWatch", "b")]);
        let selected = |selector: &str| found[0].is_selected(Some(selector)).ok();
        assert_eq!(
            ["x=z", "x==z,!w", "x!=z", "w", "x in (z)"].map(selected),
            [Some(true), Some(true), Some(false), Some(false), None]
        );
    }

    #[test]
    fn invalid_objects_are_reported() {
        let told = |text: &str| parse("f", text.as_bytes()).unwrap_err().to_string();
        assert!(told("a: 1").starts_with("error: error parsing f: Object 'Kind' is missing"));
        assert!(told("kind: Cmd").contains("'apiVersion' is missing"));
        let pod = told("{apiVersion: v1, kind: Pod}");
        assert!(pod.contains("no matches for kind \"Pod\" in version \"v1\""), "{pod}");
        assert!(told("a: [").starts_with("error: error parsing f: line"), "{}", told("a: ["));
    }
}
