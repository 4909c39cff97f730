//! The reference as Python stub files, for editors: `dump api-docs`.

use std::fmt::Write as _;

use super::{Default, Entry, Parameter, topics};

/// The files by path, and the module that each describes; empty for names that need no module.
const FILES: [(&str, &str); 7] = [
    ("api/__init__.py", ""),
    ("api/config/__init__.py", "config"),
    ("api/os/__init__.py", "os"),
    ("api/os/path.py", "os.path"),
    ("api/shlex/__init__.py", "shlex"),
    ("api/sys/__init__.py", "sys"),
    ("api/v1alpha1/__init__.py", "v1alpha1"),
];

/// Returns stub files with all builtins: path and text.
pub fn stubs() -> Vec<(&'static str, String)> {
    // Extensions are files of their own; they are not builtins.
    let topics: Vec<_> = topics().into_iter().filter(|topic| topic.key != "extensions").collect();
    let entries: Vec<Entry> =
        topics.into_iter().flat_map(|topic| topic.sections).flat_map(|section| section.entries).collect();
    FILES
        .iter()
        .map(|(path, module)| {
            let mut text = "# Written by `lilt dump api-docs`: the builtins of Tiltfiles.\n".to_owned();
            for entry in &entries {
                let (of, name) = entry.name.rsplit_once('.').unwrap_or(("", &entry.name));
                if of == *module {
                    text.push_str(&stub(name, entry));
                }
            }
            (*path, text)
        })
        .collect()
}

fn stub(name: &str, entry: &Entry) -> String {
    let Some(parameters) = &entry.parameters else {
        return format!("\n{name} = ...\n\"\"\"{}\"\"\"\n", escaped(&entry.description));
    };
    let mut body = escaped(&entry.description).replace('\n', "\n  ");
    let described: Vec<&Parameter> = parameters.iter().filter(|it| !it.description.is_empty()).collect();
    if !described.is_empty() {
        body.push_str("\n\n  Args:");
        for parameter in described {
            let name = parameter.name.trim_start_matches('*');
            let _ = write!(body, "\n    {name}: {}", escaped(&parameter.description));
        }
        body.push_str("\n  ");
    }
    format!("\ndef {name}({}):\n  \"\"\"{body}\"\"\"\n", signature(parameters))
}

fn signature(parameters: &[Parameter]) -> String {
    let mut words: Vec<String> = Vec::new();
    let (mut has_default, mut is_named_only) = (false, false);
    for parameter in parameters {
        is_named_only |= parameter.name.starts_with('*');
        match &parameter.default {
            Default::None if has_default && !is_named_only => {
                // Python takes one without default after others only by name.
                words.push("*".to_owned());
                is_named_only = true;
                words.push(parameter.name.clone());
            }
            Default::None => words.push(parameter.name.clone()),
            Default::Optional => words.push(format!("{}=...", parameter.name)),
            Default::Value(value) => words.push(format!("{}={value}", parameter.name)),
        }
        has_default |= parameter.default != Default::None;
    }
    words.join(", ")
}

/// Text for between three quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> String {
        stubs().into_iter().find(|(known, _)| *known == path).expect("it is written").1
    }

    #[test]
    fn builtins_are_in_the_file_of_their_module() {
        let builtins = file("api/__init__.py");
        assert!(builtins.contains("\ndef docker_build(ref, context, "), "{builtins}");
        assert!(builtins.contains("\nTRIGGER_MODE_AUTO = ...\n"));
        assert!(!builtins.contains("def getcwd"));
        assert!(file("api/os/__init__.py").contains("\ndef getcwd():\n"));
        assert!(file("api/os/path.py").contains("\ndef join("));
        assert!(file("api/config/__init__.py").contains("\ndef parse():\n"));
        assert!(file("api/v1alpha1/__init__.py").contains("\ndef ui_button("));
    }
}
