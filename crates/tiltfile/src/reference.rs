//! The reference of all builtins as data: signatures and documentation.
//!
//! Generated from the builtins themselves, so that it is always complete and correct. Pages and editors format it.

mod bundled;
mod stubs;

use starlark::docs::{DocFunction, DocItem, DocMember, DocModule, DocParam, DocString};
use starlark::environment::{GlobalsBuilder, LibraryExtension};

use crate::builtins::{self, TOPICS};
use crate::source::is_internal;

pub use stubs::stubs;

/// A page of the reference.
#[derive(Clone, Debug)]
pub struct Topic {
    /// Short, of lower case letters and hyphens.
    pub key: &'static str,
    pub title: &'static str,
    pub introduction: String,
    pub sections: Vec<Section>,
}

/// A part of a topic: one module, or one extension.
#[derive(Clone, Debug)]
pub struct Section {
    /// None for global functions.
    pub title: Option<String>,
    pub description: String,
    pub entries: Vec<Entry>,
}

/// A function or a value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Qualified with the name of its module.
    pub name: String,
    /// None for a value.
    pub parameters: Option<Vec<Parameter>>,
    pub description: String,
}

#[derive(Clone, Debug)]
pub struct Parameter {
    /// With the stars of `*args` and `**kwargs`.
    pub name: String,
    pub default: Default,
    /// Empty if the description of the function has it.
    pub description: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Default {
    /// It must be given.
    None,
    /// It may be omitted; the description has the default.
    Optional,
    Value(String),
}

const TOPIC_HEADINGS: [(&str, &str, &str); 13] = [
    (
        "language",
        "Language",
        "Tilt's dialect of [Starlark](https://github.com/bazelbuild/starlark/blob/master/spec.md): `for`, `if` and `while` \
         also outside of functions, recursion, names bound again, sets, tabs, and `load` of other files, in order and \
         once each. The methods of strings, lists, dicts and sets are those of the Starlark specification.",
    ),
    ("images", "Images", "How images are built. An image is built for the resources that use it."),
    (
        "live-update",
        "Live update",
        "Steps for `live_update` of an image: what happens to running containers in place of a build.",
    ),
    ("kubernetes", "Kubernetes", "What is deployed to the cluster, and what becomes a resource."),
    (
        "helm-and-kustomize",
        "Helm and Kustomize",
        "Objects that other programs make; they are for `k8s_yaml`.",
    ),
    ("compose", "Docker Compose", "Services of Docker Compose as resources."),
    ("this-machine", "This machine", "Commands and servers on this machine."),
    (
        "files-and-data",
        "Files and data",
        "Files that are read are watched: a change to one loads the Tiltfile again. Relative paths count from the directory of the file that runs.",
    ),
    (
        "config",
        "Configuration",
        "Arguments of a Tiltfile: from behind `--` on the command line, or from `tilt_config.json` beside it.",
    ),
    ("settings", "Settings", "What holds for all resources."),
    ("surroundings", "Surroundings", "The environment, paths, and how lilt was called."),
    (
        "v1alpha1",
        "v1alpha1",
        "Objects of Tilt's API, and the parts of them. A part is a dict, to be given to what takes it.",
    ),
    (
        "extensions",
        "Extensions",
        "What `load('ext://name', 'function')` finds without a network: these extensions are carried in lilt. Any other \
         is fetched with git from the default repository or from one that `v1alpha1.extension_repo` names.",
    ),
];

/// Values that are no functions: topic, name and description.
const VALUES: [(&str, &str, &str); 12] = [
    ("language", "__file__", "The path of the file that runs."),
    ("language", "__name__", "`__main__` in the Tiltfile itself, the name of the file in one that it loads."),
    ("config", "config.main_dir", "The directory of the Tiltfile."),
    ("config", "config.main_path", "The path of the Tiltfile."),
    ("config", "config.tilt_subcommand", "`up`, `ci` or `down`."),
    ("settings", "TRIGGER_MODE_AUTO", "For `trigger_mode`: changes update a resource by themselves."),
    (
        "settings",
        "TRIGGER_MODE_MANUAL",
        "For `trigger_mode`: changes wait for somebody to trigger the resource.",
    ),
    (
        "surroundings",
        "os.environ",
        "The environment, as a dict. What is set here reaches every command that the Tiltfile runs or declares.",
    ),
    ("surroundings", "os.name", "`posix`, or `nt` on Windows."),
    ("surroundings", "sys.argv", "The command line that lilt was started with."),
    ("surroundings", "sys.executable", "The path of lilt."),
    ("surroundings", "os.path", "The functions for paths, below."),
];

/// Functions on another page than the other functions of their file.
const MOVED_FUNCTIONS: [(&str, &str); 1] = [("trigger_mode", "settings")];

/// The modules of each topic that is about modules.
const MODULES: [(&str, &[&str]); 3] = [
    ("config", &["config"]),
    ("surroundings", &["os", "os.path", "sys", "shlex"]),
    ("v1alpha1", &["v1alpha1"]),
];

/// Returns all topics, in reading order.
pub fn topics() -> Vec<Topic> {
    let mut topics: Vec<Topic> = TOPIC_HEADINGS.iter().map(|head| topic(*head)).collect();
    for (name, key) in MOVED_FUNCTIONS {
        let found = topics.iter_mut().filter(|topic| topic.key != key).flat_map(|topic| &mut topic.sections);
        let moved: Vec<Entry> = found
            .flat_map(|section| {
                section.entries.extract_if(.., |entry| entry.name == name).collect::<Vec<_>>()
            })
            .collect();
        let target = topics.iter_mut().find(|topic| topic.key == key);
        target.into_iter().flat_map(|topic| topic.sections.first_mut()).for_each(|section| {
            section.entries.extend(moved.clone());
            section.entries.sort_by(|one, other| one.name.cmp(&other.name));
        });
    }
    topics
}

/// Returns the functions that behave as the Starlark specification describes.
pub fn standard_functions() -> Vec<String> {
    let standard = GlobalsBuilder::extended_by(&[LibraryExtension::SetType]).build();
    let mut own = GlobalsBuilder::new();
    TOPICS.iter().flat_map(|(_, files)| *files).for_each(|functions| functions(&mut own));
    let own = own.build();
    let own: Vec<&str> = own.names().map(|name| name.as_str()).collect();
    let mut names: Vec<String> = standard.names().map(|name| name.as_str().to_owned()).collect();
    names.retain(|name| !own.contains(&name.as_str()));
    names.sort();
    names
}

fn topic((key, title, introduction): (&'static str, &'static str, &str)) -> Topic {
    let modules = MODULES.iter().find(|(topic, _)| *topic == key).map(|(_, modules)| *modules);
    let sections = match (key, modules) {
        ("extensions", _) => bundled::sections(),
        (_, Some(modules)) => modules.iter().map(|module| module_section(key, module)).collect(),
        (_, None) => vec![topic_section(key)],
    };
    Topic { key, title, introduction: introduction.to_owned(), sections }
}

fn topic_section(key: &str) -> Section {
    let mut builder = GlobalsBuilder::new();
    let files = TOPICS.iter().filter(|(topic, _)| *topic == key).flat_map(|(_, files)| *files);
    files.for_each(|functions| functions(&mut builder));
    let mut entries = functions(builder.build().documentation(), "");
    entries.extend(values(key, |name| !name.contains('.')));
    section(None, entries)
}

fn module_section(key: &str, module: &str) -> Section {
    let documentation = builtins::module_members(module).map(|members| members.documentation());
    let mut entries = documentation.map(|documentation| functions(documentation, module)).unwrap_or_default();
    entries.extend(values(key, |name| name.rsplit_once('.').is_some_and(|(of, _)| of == module)));
    section(Some(module.to_owned()), entries)
}

fn section(title: Option<String>, mut entries: Vec<Entry>) -> Section {
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Section { title, description: String::new(), entries }
}

fn values(key: &str, wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = Entry> {
    let of_topic = VALUES.iter().filter(move |(topic, name, _)| *topic == key && wanted(name));
    let entry = |(_, name, description): &(&str, &str, &str)| Entry {
        name: (*name).to_owned(),
        parameters: None,
        description: (*description).to_owned(),
    };
    of_topic.map(entry).collect::<Vec<_>>().into_iter()
}

fn functions(documentation: DocModule, module: &str) -> Vec<Entry> {
    let members = documentation.members.into_iter().filter(|(name, _)| !is_internal(name));
    let functions = members.filter_map(|(name, item)| match item {
        DocItem::Member(DocMember::Function(function)) => Some((name, function)),
        DocItem::Type(kind) => Some((name, kind.constructor?)),
        _ => None,
    });
    functions
        .map(|(name, function)| {
            let name = if module.is_empty() { name } else { format!("{module}.{name}") };
            entry(name, &function)
        })
        .collect()
}

fn entry(name: String, function: &DocFunction) -> Entry {
    let text = function.docs.as_ref().map(text_of).unwrap_or_default();
    let (text, listed) = match text.split_once("# Arguments") {
        Some((text, arguments)) => (text.trim().to_owned(), arguments.to_owned()),
        None => (text, String::new()),
    };
    let returns = function.ret.docs.as_ref().map(|docs| format!("\n\nReturns {}", text_of(docs)));
    let parameter = |stars: &str, parameter: &DocParam| Parameter {
        name: format!("{stars}{}", parameter.name),
        default: match parameter.default_value.as_deref() {
            None => Default::None,
            // What the interpreter writes for a parameter that need not be given.
            Some("...") => Default::Optional,
            Some(value) => Default::Value(value.to_owned()),
        },
        description: match &parameter.docs {
            Some(docs) => text_of(docs),
            None => described(&listed, &parameter.name),
        },
    };
    let given = &function.params;
    let mut parameters: Vec<Parameter> = Vec::new();
    parameters.extend(given.pos_only.iter().chain(&given.pos_or_named).map(|it| parameter("", it)));
    parameters.extend(given.args.iter().map(|it| parameter("*", it)));
    parameters.extend(given.named_only.iter().map(|it| parameter("", it)));
    parameters.extend(given.kwargs.iter().map(|it| parameter("**", it)));
    let description = format!("{text}{}", returns.unwrap_or_default());
    Entry { name, parameters: Some(parameters), description }
}

fn text_of(docs: &DocString) -> String {
    let paragraphs = [Some(&docs.summary), docs.details.as_ref()];
    let paragraphs: Vec<&str> = paragraphs.into_iter().flatten().map(|text| text.trim()).collect();
    paragraphs.join("\n\n").trim().to_owned()
}

/// Returns the description of one argument in a list of them.
fn described(list: &str, name: &str) -> String {
    let beginning = format!("* `{name}`: ");
    list.lines().find_map(|line| line.strip_prefix(&beginning)).unwrap_or_default().to_owned()
}
