//! `v1alpha1`: makes objects of Tilt's API and the parts of them.
//!
//! The API's types say which there are, which fields they have and of what types; nothing here knows them by name, but
//! for the rules of `check` and the differences in `table`. What is made is kept in `api_objects` of the declarations, in order: the loader of `ext://`
//! looks there for repositories and extensions.

// Only for what the derives of starlark generate.
#![allow(unsafe_code)]

mod check;
mod read;
mod table;

use std::collections::HashMap;
use std::fmt;

use allocative::Allocative;
use lilt_api::{API_VERSION, Content, ObjectKind};
use lilt_model::Failure;
use serde_json::{Map, Value as Json};
use starlark::any::ProvidesStaticType;
use starlark::docs::{DocFunction, DocItem, DocMember, DocReturn, DocString};
use starlark::environment::GlobalsBuilder;
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::typing::Ty;
use starlark::values::dict::AllocDict;
use starlark::values::{NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};

use crate::arguments::Function;
use crate::failure::raise;
use crate::load_state::{LoadState, load_state};
use read::Reader;
use table::{TABLE, Type};

/// What every object takes besides its own fields.
const METADATA: [(&str, &str); 3] =
    [("name", "Of the object."), ("labels", "A dict of strings."), ("annotations", "A dict of strings.")];

pub(super) fn functions(builder: &mut GlobalsBuilder) {
    for (index, maker) in TABLE.iter().enumerate() {
        builder.set(maker.short_name(), Constructor(index));
    }
}

/// One function of the table, by its position.
#[derive(Clone, Copy, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
struct Constructor(usize);
starlark_simple_value!(Constructor);

impl fmt::Display for Constructor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<built-in function {}>", TABLE[self.0].name)
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for Constructor {
    fn name_for_call_stack(&self, _me: Value<'v>) -> String {
        TABLE[self.0].name.to_owned()
    }

    fn documentation(&self) -> DocItem {
        let maker = &TABLE[self.0];
        let documented: Vec<(&str, &str)> = maker.parameters().collect();
        let lines: Vec<String> =
            documented.iter().map(|(name, says)| format!("* `{name}`: {says}")).collect();
        let docs = DocString {
            summary: maker.documentation.to_owned(),
            details: Some(format!("# Arguments\n{}", lines.join("\n"))),
            examples: None,
        };
        let types = documented.iter().map(|_| Ty::any()).collect();
        DocItem::Member(DocMember::Function(DocFunction {
            docs: Some(docs),
            params: maker.signature.documentation(types, HashMap::new()),
            ret: DocReturn::default(),
        }))
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let maker = &TABLE[self.0];
        let given = maker.signature.parser(arguments, eval, |parser, _| {
            let mut given = Vec::new();
            for (name, _) in maker.parameters() {
                let value: Option<Value<'v>> = parser.next_opt()?;
                given.extend(value.filter(|value| !value.is_none()).map(|value| (name, value)));
            }
            Ok(given)
        })?;
        let state = load_state(eval);
        let reader = Reader { function: maker.name, state };
        let Some(kind) = maker.kind else {
            // Read to report its mistakes. The object that contains it reads it again.
            reader.part(maker, "", &given)?;
            let heap = eval.heap();
            let resolved = given.into_iter().map(|(name, value)| {
                let is_path = maker.field(name).is_some_and(|field| matches!(field.kind, Type::Path));
                match value.unpack_str().filter(|_| is_path) {
                    // It counts from the file that made the part, whoever uses it.
                    Some(path) => (name, heap.alloc(state.absolute(path).display().to_string())),
                    None => (name, value),
                }
            });
            return Ok(heap.alloc(AllocDict(resolved)));
        };
        let function = Function(maker.name);
        let argument = |wanted: &'static str| {
            function.argument(wanted, given.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value))
        };
        let name = argument("name");
        let metadata = metadata(
            match name.resource_name()? {
                text if text.is_empty() => return Err(name.refuse("a name is needed")),
                text => text,
            },
            argument("labels").string_map()?,
            argument("annotations").string_map()?,
        );
        let own: Vec<_> = given
            .iter()
            .filter(|(name, _)| METADATA.iter().all(|(known, _)| known != name))
            .copied()
            .collect();
        let fields = reader.part(maker, "", &own)?;
        let mut object = Map::new();
        object.insert("apiVersion".to_owned(), API_VERSION.into());
        object.insert("kind".to_owned(), kind.name().into());
        object.insert("metadata".to_owned(), metadata);
        match kind {
            ObjectKind::ConfigMap => object.extend(fields),
            _ => {
                object.insert("spec".to_owned(), Json::Object(fields));
            }
        }
        let content = Content::parse(kind, &object).map_err(|error| function.refuse(error.to_string()))?;
        let problems = check::problems(&content);
        if !problems.is_empty() {
            return Err(function.refuse(problems.join("; ")));
        }
        register(state, Json::Object(object))?;
        Ok(Value::new_none())
    }
}

fn metadata(name: String, labels: Vec<(String, String)>, annotations: Vec<(String, String)>) -> Json {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), name.into());
    for (field, pairs) in [("labels", labels), ("annotations", annotations)] {
        if !pairs.is_empty() {
            let pairs = pairs.into_iter().map(|(key, value)| (key, value.into())).collect();
            metadata.insert(field.to_owned(), Json::Object(pairs));
        }
    }
    Json::Object(metadata)
}

/// Keeps an object. The same one may be made twice; another one of the same name may not.
fn register(state: &LoadState<'_>, object: Json) -> starlark::Result<()> {
    let mut declared = state.declared.borrow_mut();
    let same_name = |other: &&Json| {
        other["kind"] == object["kind"] && other["metadata"]["name"] == object["metadata"]["name"]
    };
    if let Some(other) = declared.api_objects.iter().find(same_name) {
        if *other == object {
            return Ok(());
        }
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        let failure = Failure::user(format!("there is already another {kind} named {name}"));
        return Err(raise(failure.hint("each needs a name of its own, unless all its fields are the same")));
    }
    declared.api_objects.push(object);
    Ok(())
}
