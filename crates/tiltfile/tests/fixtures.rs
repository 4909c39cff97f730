//! Every folder of `fixtures` is a project; what comes of loading it is a snapshot: the lines printed, then the
//! project or the error, then the files that were read.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use lilt_model::Failure;
use lilt_model::command::Command;
use lilt_tiltfile::{Entry, KubeContext, LoadRequest, Output, Outside, RealOutside, load};
use serde_json::Value;

/// This machine, but for what differs between machines: variables and the Kubernetes context.
struct Machine {
    context: KubeContext,
}

impl Outside for Machine {
    fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        RealOutside::default().read_file(path)
    }

    fn list_directory(&self, path: &Path) -> io::Result<Vec<Entry>> {
        RealOutside::default().list_directory(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        RealOutside::default().is_dir(path)
    }

    fn exists(&self, path: &Path) -> bool {
        RealOutside::default().exists(path)
    }

    fn environment_variable(&self, name: &str) -> Option<String> {
        self.environment().into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    fn environment(&self) -> Vec<(String, String)> {
        vec![("GREETING".into(), "hello".into())]
    }

    fn kube_context(&self) -> Result<Option<KubeContext>, Failure> {
        Ok(Some(self.context.clone()))
    }

    fn run(
        &self,
        command: &Command,
        environment: &[(String, String)],
        stdin: Option<&[u8]>,
        cancelled: &(dyn Fn() -> bool + Sync),
        each_line: &mut dyn FnMut(&str),
    ) -> io::Result<Output> {
        RealOutside::default().run(command, environment, stdin, cancelled, each_line)
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Enough YAML to read a project by; scalars are JSON's.
fn yaml(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let nested = |value: &Value| match value {
        Value::Object(fields) if !fields.is_empty() => format!("\n{}", yaml(value, depth + 1)),
        Value::Array(items) if items.iter().any(|item| item.is_object()) => {
            format!("\n{}", yaml(value, depth + 1))
        }
        short => format!(" {short}"),
    };
    let lines: Vec<String> = match value {
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| format!("{indent}{key}:{}", nested(value))).collect()
        }
        Value::Array(items) => {
            items.iter().map(|item| format!("{indent}- {}", yaml(item, depth + 1).trim_start())).collect()
        }
        scalar => vec![format!("{indent}{scalar}")],
    };
    lines.join("\n")
}

fn outcome(case: &str) -> String {
    let directory = fixtures().join(case);
    let context = std::fs::read_to_string(directory.join("context")).unwrap_or("dev kind-dev".into());
    let (name, cluster) = context.trim().split_once(' ').unwrap();
    let machine = Machine { context: KubeContext { name: name.into(), cluster: cluster.into() } };
    let request = LoadRequest { path: directory.join("Tiltfile"), args: Vec::new(), subcommand: "up".into(), ..LoadRequest::default() };
    let mut text = String::new();
    let loaded = load(&request, &machine, &|| false, &mut |line| writeln!(text, "{line}").unwrap());
    match &loaded.project {
        Ok(project) => {
            write!(text, "--- project\n{}\n", yaml(&serde_json::to_value(project).unwrap(), 0)).unwrap();
        }
        Err(failure) => write!(text, "--- error\n{failure}\n").unwrap(),
    }
    text.push_str("--- files\n");
    for file in &loaded.files.roots {
        writeln!(text, "{}", file.display()).unwrap();
    }
    text.replace(&directory.display().to_string(), "/project")
}

macro_rules! cases {
    ($($case:ident)*) => {
        $(
            #[test]
            fn $case() {
                insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
                    insta::assert_snapshot!(stringify!($case), outcome(stringify!($case)));
                });
            }
        )*

        #[test]
        fn every_fixture_is_tested() {
            let tested: BTreeSet<String> = [$(stringify!($case)),*].map(str::to_owned).into();
            let found = std::fs::read_dir(fixtures()).unwrap();
            let found = found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<BTreeSet<_>>();
            assert_eq!(tested, found);
        }
    };
}

cases! {
    empty
    encoding
    environment
    error_argument
    error_argument_missing
    error_attribute
    error_circle
    error_comparison
    error_context
    error_dockerfile
    error_duplicate_image
    error_duplicate_object
    error_escape
    error_file
    error_format
    error_forward
    error_fragment
    error_frozen
    error_image_circle
    error_in_load
    error_label
    error_live_update_first
    error_live_update_loose
    error_live_update_order
    error_live_update_outside
    error_live_update_relative
    error_load_builtin
    error_load_cycle
    error_load_dynamic
    error_load_extension
    error_load_missing
    error_load_name
    error_load_private
    error_local
    error_missing_variable
    error_module_member
    error_name
    error_no_command
    error_not_supported
    error_not_supported_argument
    error_not_supported_member
    error_recursion
    error_reference
    error_reserved
    error_struct
    error_syntax
    error_syntax_in_tabs
    error_together
    error_type
    error_type_element
    error_version
    error_while
    error_while_condition
    error_while_loading
    error_yaml
    error_yaml_blob
    error_yaml_empty
    error_yaml_object
    exit_early
    files
    grouping
    ignores
    images
    language
    loads
    local_command
    locals
    naming
    settings
    spec_sample
    thin_path
    warnings
    yaml_forms
}
