//! `config`: settings of a Tiltfile's own, and which resources run.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::dict::AllocDict;
use starlark::values::none::NoneType;

use super::encoding::from_json;
use crate::arguments::Function;
use crate::configuration::{
    Definition, EnabledResources, FILE_NAME, SettingKind, merge, parse_arguments, parse_file,
};
use crate::failure::raise;
use crate::load_state::{LoadState, load_state};

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Defines a setting that is a string. Must come before `config.parse`.
    ///
    /// # Arguments
    /// * `name`: the key in the result of `config.parse`, and the flag `--name` of the command line
    /// * `args`: if true, it takes the argument that belongs to no flag, and is no flag itself
    /// * `usage`: shown when the arguments are wrong
    fn define_string<'v>(
        name: Value<'v>,
        args: Option<Value<'v>>,
        usage: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        define("config.define_string", SettingKind::Text, name, args, usage, load_state(eval))
    }

    /// Defines a setting that is a list of strings: its flag may be given many times. Must come before `config.parse`.
    ///
    /// # Arguments
    /// * `name`: the key in the result of `config.parse`, and the flag `--name` of the command line
    /// * `args`: if true, it takes the arguments that belong to no flag, and is no flag itself
    /// * `usage`: shown when the arguments are wrong
    fn define_string_list<'v>(
        name: Value<'v>,
        args: Option<Value<'v>>,
        usage: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        define("config.define_string_list", SettingKind::TextList, name, args, usage, load_state(eval))
    }

    /// Defines a setting that is true or false: `--name` and `--name=true` mean the same. Must come before
    /// `config.parse`.
    ///
    /// # Arguments
    /// * `name`: the key in the result of `config.parse`, and the flag `--name` of the command line
    /// * `args`: if true, it takes the argument that belongs to no flag, and is no flag itself
    /// * `usage`: shown when the arguments are wrong
    fn define_bool<'v>(
        name: Value<'v>,
        args: Option<Value<'v>>,
        usage: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        define("config.define_bool", SettingKind::Flag, name, args, usage, load_state(eval))
    }

    /// Defines a setting that is any JSON value. Must come before `config.parse`.
    ///
    /// # Arguments
    /// * `name`: the key in the result of `config.parse`, and the flag `--name` of the command line
    /// * `args`: if true, it takes the argument that belongs to no flag, and is no flag itself
    /// * `usage`: shown when the arguments are wrong
    fn define_object<'v>(
        name: Value<'v>,
        args: Option<Value<'v>>,
        usage: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        define("config.define_object", SettingKind::Object, name, args, usage, load_state(eval))
    }

    /// The settings that were given, as a dict: those of `tilt_config.json` beside this file, and on top of them those
    /// of the command line. What was not given is not in it.
    fn parse<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let state = load_state(eval);
        let directory = state.directory();
        let mut declared = state.declared.borrow_mut();
        if let Some(other) = declared.config.parsed_in.as_ref().filter(|other| **other != directory) {
            return Err(Function("config.parse").refuse(format!(
                "it can be called from one directory only, and was called from {} and {}",
                other.display(),
                directory.display()
            )));
        }
        declared.config.parsed_in = Some(directory.clone());
        let definitions = &declared.config.definitions;
        let path = directory.join(FILE_NAME);
        let file = match state.read(&path) {
            Ok(content) => {
                parse_file(definitions, &String::from_utf8_lossy(&content), &path.display().to_string())
                    .map_err(raise)?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => serde_json::Map::new(),
            Err(error) => return Err(raise(state.unreadable(&path, &error))),
        };
        let arguments = parse_arguments(definitions, &state.request.args).map_err(raise)?;
        let settings = merge(definitions, file, arguments);
        let heap = eval.heap();
        Ok(heap
            .alloc(AllocDict(settings.iter().map(|(name, value)| (name.as_str(), from_json(value, heap))))))
    }

    /// Which resources run, with all they depend on, whatever the command line says. An empty list leaves it to the
    /// command line.
    ///
    /// # Arguments
    /// * `resources`: their names
    fn set_enabled_resources<'v>(
        resources: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let names =
            Function("config.set_enabled_resources").argument("resources", resources).string_list()?;
        let state = load_state(eval);
        let span = state.span(eval)?;
        state.declared.borrow_mut().config.enabled_resources = if names.is_empty() {
            EnabledResources::Unspecified
        } else {
            EnabledResources::Resources(names, span)
        };
        Ok(NoneType)
    }

    /// No resource runs, until one is started by hand or `config.set_enabled_resources` says otherwise.
    fn clear_enabled_resources<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        load_state(eval).declared.borrow_mut().config.enabled_resources = EnabledResources::Nothing;
        Ok(NoneType)
    }
}

fn define<'v>(
    function: &'static str,
    kind: SettingKind,
    name: Value<'v>,
    args: Option<Value<'v>>,
    usage: Option<Value<'v>>,
    state: &LoadState<'_>,
) -> starlark::Result<NoneType> {
    let function = Function(function);
    let argument = function.argument("name", name);
    let definition = Definition {
        name: argument.string()?,
        kind,
        usage: function.argument("usage", usage).string()?,
        positional: function.argument("args", args).boolean()?.unwrap_or(false),
    };
    if definition.name.is_empty() {
        return Err(argument.refuse("a name is needed"));
    }
    let config = &mut state.declared.borrow_mut().config;
    if config.parsed_in.is_some() {
        return Err(function.refuse("it cannot be called after config.parse"));
    }
    if config.definitions.iter().any(|other| other.name == definition.name) {
        return Err(argument.refuse(format!("{} is already defined", definition.name)));
    }
    let other = config.definitions.iter().find(|other| other.positional && definition.positional);
    if let Some(other) = other {
        let (name, other) = (&definition.name, &other.name);
        return Err(function.refuse(format!("both {name} and {other} are defined as positional args")));
    }
    config.definitions.push(definition);
    Ok(NoneType)
}
