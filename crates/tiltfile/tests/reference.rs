//! The pages of docs/reference are generated from the code. When they differ, a test writes them and fails once, so that
//! the change is seen and committed. And no builtin of Tilt is missing.

#![allow(clippy::disallowed_methods, reason = "the tests are about files of the project")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use lilt_tiltfile::reference::{Default, Entry, Parameter, Topic, standard_functions, topics};

const HEAD: &str = "<!-- Written by `cargo test -p lilt-tiltfile --test reference`; do not edit. -->\n\n";

#[test]
fn reference_pages_match_the_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let mut wanted: BTreeMap<String, String> =
        topics().iter().map(|topic| (format!("{}.md", topic.key), page(topic))).collect();
    wanted.insert("README.md".to_owned(), overview(&topics()));
    let found: BTreeMap<String, String> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("the folder can be read").path())
        .map(|path| {
            let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("it can be read"))
        })
        // Others are generated elsewhere.
        .filter(|(_, text)| text.starts_with(HEAD))
        .collect();
    if found == wanted {
        return;
    }
    std::fs::create_dir_all(&folder).expect("create the folder");
    for name in found.keys().filter(|name| !wanted.contains_key(*name)) {
        std::fs::remove_file(folder.join(name)).expect("remove a page of nothing");
    }
    for (name, text) in &wanted {
        std::fs::write(folder.join(name), text).expect("write a page");
    }
    panic!("docs/reference was out of date and has been written: commit it");
}

#[test]
fn every_builtin_is_documented() {
    let silent: Vec<String> = topics()
        .into_iter()
        .flat_map(|topic| topic.sections)
        .flat_map(|section| section.entries)
        .filter(|entry| entry.description.is_empty())
        .map(|entry| entry.name)
        .collect();
    assert!(silent.is_empty(), "without a doc comment: {silent:?}");
}

/// What the list has and lilt has not, and why. Tilt's documentation names some parameters otherwise than its code takes
/// them; a Tiltfile that gives them by name works only with the names of the code.
const EXCEPTIONS: [(&str, &str); 16] = [
    ("load", "a statement of the language"),
    ("blob.contents", "Tilt takes it as `input`"),
    ("fall_back_on.files", "Tilt takes it as `paths`"),
    ("helm.pathToChartDir", "Tilt takes it as `paths`"),
    ("k8s_kind.image_object_json_path", "Tilt takes it as `image_object`"),
    ("kustomize.pathToDir", "Tilt takes it as `paths`"),
    ("listdir.directory", "Tilt takes it as `dir`"),
    ("os.path.join.path", "Tilt takes paths by position alone"),
    ("os.unsetenv.value", "Tilt takes no value"),
    ("read_file.file_path", "Tilt takes it as `paths`"),
    ("read_json.path", "Tilt takes it as `paths`"),
    ("read_yaml.path", "Tilt takes it as `paths`"),
    ("read_yaml_stream.path", "Tilt takes it as `paths`"),
    ("shlex.quote.s", "Tilt takes it as `name`"),
    ("watch_file.file_path", "Tilt takes it as `paths`"),
    ("workload_to_resource_function.fn", "Tilt takes it as `func`"),
];

#[test]
fn no_builtin_and_no_parameter_of_tilt_is_missing() {
    let entries: BTreeMap<String, Entry> = topics()
        .into_iter()
        .filter(|topic| topic.key != "extensions")
        .flat_map(|topic| topic.sections)
        .flat_map(|section| section.entries)
        .map(|entry| (entry.name.clone(), entry))
        .collect();
    let facts = include_str!("data/builtins.txt").lines().filter(|line| !line.starts_with('#'));
    let mut missing = BTreeSet::new();
    let mut count = 0;
    for fact in facts {
        count += 1;
        let (name, parameters) = match fact.strip_suffix(')').and_then(|fact| fact.split_once('(')) {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (fact, None),
        };
        let Some(entry) = entries.get(name) else {
            missing.insert(name.to_owned());
            continue;
        };
        match (parameters, &entry.parameters) {
            (None, None) | (Some("?"), Some(_)) => {}
            (Some(wanted), Some(found)) => {
                let lacks = |wanted: &&str| found.iter().all(|parameter| parameter.name != *wanted);
                let lacking = wanted.split(", ").filter(|wanted| !wanted.is_empty()).filter(lacks);
                missing.extend(lacking.map(|parameter| format!("{name}.{parameter}")));
            }
            _ => {
                missing.insert(format!("{name}: a function here and a value there"));
            }
        }
    }
    assert_eq!(count, 133);
    let exceptions: BTreeSet<String> = EXCEPTIONS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(missing, exceptions, "missing (left), or an exception that is none any more (right)");
}

fn overview(topics: &[Topic]) -> String {
    let mut text = format!(
        "{HEAD}# Reference\n\nEverything that a Tiltfile can say. [What a Tiltfile is](../tiltfile.md) comes first.\n\n\
         | page | what is on it |\n|---|---|\n"
    );
    for topic in topics {
        let entries = topic.sections.iter().flat_map(|section| &section.entries);
        let names: Vec<String> = match topic.key {
            "extensions" => topic.sections.iter().filter_map(|section| section.title.clone()).collect(),
            _ => entries.map(|entry| entry.name.clone()).collect(),
        };
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(text, "| [{}]({}.md) | {} |", topic.title, topic.key, names.join(", "));
    }
    text
}

fn page(topic: &Topic) -> String {
    let mut text = format!("{HEAD}# {}\n\n{}\n", topic.title, topic.introduction);
    if topic.key == "language" {
        let names: Vec<String> = standard_functions().iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(text, "\nThese are as the specification describes them: {}.\n", names.join(", "));
    }
    for section in &topic.sections {
        if topic.sections.len() > 1 {
            let _ = write!(text, "\n## {}\n", section.title.as_deref().unwrap_or(topic.title));
        }
        if !section.description.is_empty() {
            let _ = write!(text, "\n{}\n", section.description);
        }
        let level = if topic.sections.len() > 1 { "###" } else { "##" };
        section.entries.iter().for_each(|it| entry(&mut text, level, it));
    }
    text
}

fn entry(text: &mut String, level: &str, entry: &Entry) {
    let _ = write!(text, "\n{level} {}\n", entry.name.replace('_', "\\_"));
    if let Some(parameters) = &entry.parameters {
        let _ = write!(text, "\n```python\n{}\n```\n", signature(&entry.name, parameters));
    }
    let _ = write!(text, "\n{}\n", entry.description);
    let described: Vec<&Parameter> =
        entry.parameters.iter().flatten().filter(|it| !it.description.is_empty()).collect();
    if described.is_empty() {
        return;
    }
    text.push('\n');
    for parameter in described {
        let description = parameter.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let needed = if parameter.default == Default::None && !parameter.name.starts_with('*') {
            " (needed)"
        } else {
            ""
        };
        let _ = writeln!(text, "- `{}`{needed}: {description}", parameter.name);
    }
}

fn signature(name: &str, parameters: &[Parameter]) -> String {
    let written: Vec<String> = parameters
        .iter()
        .map(|parameter| match &parameter.default {
            Default::None => parameter.name.clone(),
            _ if parameter.name.starts_with('*') => parameter.name.clone(),
            Default::Optional => format!("{}=...", parameter.name),
            Default::Value(value) => format!("{}={value}", parameter.name),
        })
        .collect();
    let line = format!("{name}({})", written.join(", "));
    match line.chars().count() {
        0..=100 => line,
        _ => format!("{name}(\n    {},\n)", written.join(",\n    ")),
    }
}
