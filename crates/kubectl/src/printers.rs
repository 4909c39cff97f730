//! Prints objects in the format of `-o`.

mod columns;
mod rows;
mod table;

use std::path::Path;

use lilt_api::kinds::kinds;
use lilt_host::files;
use lilt_model::json_path::JsonPath;
use lilt_model::yaml;
use serde::Serialize as _;
use serde_json::{Value, json};

use super::flags::Printing;
use super::problem::Problem;
use super::targets::full_name;
use super::template::Template;
pub(crate) use columns::{Columns, parse_relaxed_path};
pub(crate) use rows::{aligned, paired};
pub(crate) use table::{HeaderOptions, Table};

/// The formats of `-o` for commands that print no tables.
const FORMS: &str = "go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,name,template,templatefile,yaml";
/// The formats of `-o` for commands that print tables.
const TABLE_FORMS: &str = "custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,\
    jsonpath-as-json,jsonpath-file,name,template,templatefile,wide,yaml";

/// How objects are printed.
#[derive(Debug)]
pub(crate) struct Printer {
    form: Form,
    lenient: bool,
    managed_fields: bool,
}

#[derive(Debug)]
pub(crate) enum Form {
    Json,
    Yaml,
    Name,
    JsonPath(JsonPath),
    /// The results of a JSON path as a JSON list.
    JsonPathList(JsonPath),
    Template(Template),
    Columns(Columns),
}

/// The requested output.
#[derive(Debug)]
pub(crate) enum Output {
    /// A table; `-o` is absent or `wide`.
    Plain {
        wide: bool,
    },
    Formed(Printer),
}

impl Output {
    /// Parses the flags of commands that print tables.
    pub(crate) fn with_table(flags: &Printing, headers: bool) -> Result<Self, Problem> {
        match flags.output.as_deref() {
            Some("wide") => Ok(Output::Plain { wide: true }),
            output => Self::read(flags, output, true, headers),
        }
    }

    /// Parses the flags of all other commands.
    pub(crate) fn plain(flags: &Printing) -> Result<Self, Problem> {
        Self::read(flags, flags.output.as_deref(), false, true)
    }

    fn read(flags: &Printing, output: Option<&str>, tables: bool, headers: bool) -> Result<Self, Problem> {
        let form = match (output.unwrap_or_default(), &flags.template) {
            ("", None) => return Ok(Output::Plain { wide: false }),
            ("", Some(text)) => Form::Template(template(text)?),
            (output, given) => form(output, given.as_deref(), tables, headers)?,
        };
        let lenient = flags.allow_missing_template_keys.0;
        Ok(Output::Formed(Printer { form, lenient, managed_fields: flags.show_managed_fields }))
    }
}

fn form(output: &str, template_flag: Option<&str>, tables: bool, headers: bool) -> Result<Form, Problem> {
    let (name, given) = match output.split_once('=') {
        Some((name, given)) => (name, Some(given)),
        None => (output, template_flag),
    };
    let text = |what: &str| {
        let missing = || Problem::message(format!("template format specified but no {what} given"));
        given.filter(|text| !text.is_empty()).ok_or_else(missing)
    };
    match name {
        "json" => Ok(Form::Json),
        "yaml" => Ok(Form::Yaml),
        "name" => Ok(Form::Name),
        "go-template" | "template" => Ok(Form::Template(template(text("template")?)?)),
        "go-template-file" | "templatefile" => Ok(Form::Template(template(&file(text("template file")?)?)?)),
        "jsonpath" => Ok(Form::JsonPath(path(text("template")?)?)),
        "jsonpath-file" => Ok(Form::JsonPath(path(&file(text("template file")?)?)?)),
        "jsonpath-as-json" => Ok(Form::JsonPathList(path(text("template")?)?)),
        "custom-columns" if tables => Ok(Form::Columns(Columns::read(given.unwrap_or_default(), headers)?)),
        "custom-columns-file" if tables => {
            Ok(Form::Columns(Columns::read_file(&file(text("template file")?)?, headers)?))
        }
        _ => {
            let forms = if tables { TABLE_FORMS } else { FORMS };
            Err(Problem::message(format!(
                "unable to match a printer suitable for the output format {output:?}, allowed formats are: {forms}"
            )))
        }
    }
}

fn file(path: &str) -> Result<String, Problem> {
    let unreadable = || Problem::message(format!("error reading --template {path}, it cannot be read"));
    let text = files::read(Path::new(path)).ok_or_else(unreadable)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn template(text: &str) -> Result<Template, Problem> {
    Template::parse(text)
        .map_err(|error| Problem::message(format!("error parsing template {text}, template: output:{error}")))
}

fn path(text: &str) -> Result<JsonPath, Problem> {
    JsonPath::parse(text).map_err(|error| Problem::message(format!("error parsing jsonpath {text}, {error}")))
}

impl Printer {
    /// Formats several objects, as `get` prints them.
    pub(crate) fn list(&self, objects: &[Value]) -> Result<String, Problem> {
        match &self.form {
            Form::Name => objects.iter().map(|object| self.one(object)).collect(),
            Form::Columns(columns) => columns.print(objects),
            _ => self.one(&list_of(objects)),
        }
    }

    /// Formats one object; columns include their header.
    pub(crate) fn one(&self, object: &Value) -> Result<String, Problem> {
        let shown = if self.managed_fields { object.clone() } else { without_managed_fields(object) };
        match &self.form {
            Form::Json => pretty(&yaml::sorted(&shown)),
            Form::Yaml => as_yaml(&shown),
            Form::Name => Ok(format!("{}\n", name_of(object))),
            Form::Columns(columns) => columns.print(std::slice::from_ref(object)),
            Form::JsonPath(path) => path.render(object, self.lenient).map_err(|error| {
                Problem::message(format!("error executing jsonpath {:?}: {error}", path.text()))
            }),
            Form::JsonPathList(path) => {
                let found = path.values(object, self.lenient).map_err(|error| {
                    Problem::message(format!("error executing jsonpath {:?}: {error}", path.text()))
                })?;
                pretty(&yaml::sorted(&Value::Array(found)))
            }
            Form::Template(template) => template
                .render(object, self.lenient)
                .map_err(|error| Problem::message(format!("error executing template: {error}"))),
        }
    }

    /// Returns whether the format is YAML, whose documents are separated by a line.
    pub(crate) fn is_yaml(&self) -> bool {
        matches!(self.form, Form::Yaml)
    }

    pub(crate) fn is_name(&self) -> bool {
        matches!(self.form, Form::Name)
    }
}

fn list_of(objects: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": objects})
}

/// `cmd.tilt.dev/x`
pub(crate) fn name_of(object: &Value) -> String {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let kind = kinds().named(kind).map_or_else(|| kind.to_ascii_lowercase(), full_name);
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    format!("{kind}/{name}")
}

/// Removes `metadata.managedFields`, also from the items of a list.
pub(crate) fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(Value::Array(items)) = object.get_mut("items") {
        items.iter_mut().for_each(|item| *item = without_managed_fields(item));
    }
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    object
}

pub(crate) fn as_yaml(object: &Value) -> Result<String, Problem> {
    yaml::encode(object)
        .map_err(|error| Problem::message(format!("it cannot be written as YAML: {}", error.message)))
}

/// Formats JSON with an indentation of four spaces, as kubectl does.
pub(crate) fn pretty(value: &Value) -> Result<String, Problem> {
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    value
        .serialize(&mut serializer)
        .map_err(|error| Problem::message(format!("it cannot be written as JSON: {error}")))?;
    bytes.push(b'\n');
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Boolean;

    fn object(name: &str) -> Value {
        json!({
            "apiVersion": "tilt.dev/v1alpha1", "kind": "Cmd",
            "metadata": {"name": name, "managedFields": [{"manager": "me"}]},
            "spec": {"args": ["echo", name], "dir": "/"},
        })
    }

    fn printed(output: &str, objects: &[Value]) -> String {
        let flags = Printing {
            output: Some(output.to_owned()),
            allow_missing_template_keys: Boolean(true),
            ..Printing::default()
        };
        let printed = match Output::with_table(&flags, true) {
            Ok(Output::Formed(printer)) if objects.len() == 1 => printer.one(&objects[0]),
            Ok(Output::Formed(printer)) => printer.list(objects),
            Ok(Output::Plain { wide }) => Ok(format!("a table, wide: {wide}")),
            Err(problem) => Err(problem),
        };
        printed.unwrap_or_else(|problem| format!("{problem}\n"))
    }

    #[test]
    fn every_output_format_is_printed() {
        let forms = [
            "json",
            "yaml",
            "name",
            "wide",
            "jsonpath={.metadata.name}",
            "jsonpath={.items[*].spec.args[1]}",
            "jsonpath={.absent}",
            "jsonpath-as-json={.spec.args}",
            "go-template={{.kind}} {{.absent}}",
            "go-template={{range .items}}{{.metadata.name}};{{end}}",
            "custom-columns=NAME:.metadata.name,ARGS:.spec.args[*],NONE:.x.y",
            "jsonpath",
            "jsonpath={.a",
            "xml",
        ];
        let mut told = String::new();
        for form in forms {
            let objects: &[Value] =
                if form.contains(".items") { &[object("a"), object("b")] } else { &[object("a")] };
            told.push_str(&format!("$ -o '{form}'\n{}\n", printed(form, objects)));
        }
        told.push_str(&format!("$ two, -o json\n{}", printed("json", &[object("a"), object("b")])));
        insta::assert_snapshot!(told);
    }
}
