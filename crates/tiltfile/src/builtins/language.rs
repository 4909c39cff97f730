//! Functions of the language itself: text of values, dicts and structs, the end of a load, other files.

use lilt_model::Failure;
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::bytes::StarlarkBytes;
use starlark::values::dict::{AllocDict, DictMut};
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{Value, ValueLike};

use crate::arguments::Function;
use crate::failure::{raise, refuse, stop};
use crate::load_state::{LoadState, LoadedFile, load_state};
use crate::values::Range;
use crate::values::mapping::pairs;
use crate::values::structure::{NamedModule, Structure};
use crate::values::text::{display, to_repr, type_name, write_display};

/// Returns the argument of a builtin that takes exactly one.
fn only<'v>(function: &str, args: UnpackTuple<Value<'v>>) -> starlark::Result<Value<'v>> {
    match args.items.as_slice() {
        [one] => Ok(*one),
        others => Err(refuse(format!("{function}: got {} arguments, want exactly 1", others.len()))),
    }
}

fn load_file(state: &LoadState<'_>, path: &str) -> starlark::Result<LoadedFile> {
    let load = state.load_file.expect("invariant: the state of an evaluation can load files");
    load(state, path)
}

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Prints its arguments to the log of the Tiltfile, with `sep` between them.
    fn print<'v>(
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(require = named, default = " ")] sep: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let mut line = String::new();
        for (index, value) in args.items.iter().enumerate() {
            line.push_str(if index > 0 { sep } else { "" });
            write_display(*value, eval.heap(), &mut line)?;
        }
        load_state(eval).print(&line);
        Ok(NoneType)
    }

    /// Stops the load of the Tiltfile with the error `msg`.
    fn fail<'v>(msg: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        Err(raise(Failure::user(display(msg, eval.heap())?)))
    }

    /// Shows the warning `msg` and goes on.
    fn warn<'v>(msg: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        let message = Function("warn").argument("msg", msg).string()?;
        load_state(eval).warn(message);
        Ok(NoneType)
    }

    /// Ends the load here, without an error: what was declared so far counts. `code` is printed, if given.
    fn exit<'v>(code: Option<Value<'v>>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        if let Some(code) = code.filter(|code| !code.is_none()) {
            load_state(eval).print(&to_repr(code, eval.heap())?);
        }
        Err(stop())
    }

    /// The value as text; a string stays as it is.
    fn str<'v>(
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let value = only("str", args)?;
        if value.unpack_str().is_some() {
            return Ok(value);
        }
        Ok(eval.heap().alloc(display(value, eval.heap())?))
    }

    /// The value as it is written in a Tiltfile: strings are quoted.
    fn repr<'v>(
        #[starlark(require = pos)] x: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<String> {
        to_repr(x, eval.heap())
    }

    /// How many elements a value has; of a string, how many bytes.
    fn len<'v>(#[starlark(require = pos)] x: Value<'v>) -> starlark::Result<i64> {
        let length = match (x.unpack_str(), x.downcast_ref::<Range>()) {
            (Some(text), _) => Ok(i64::try_from(text.len()).unwrap_or(i64::MAX)),
            (None, Some(range)) => Ok(range.count),
            (None, None) => x.length().map(i64::from),
        };
        length.map_err(|_| refuse(format!("len: value of type {} has no len", type_name(x))))
    }

    /// The number of the one character of a string, or of the one byte of bytes.
    fn ord<'v>(#[starlark(require = pos)] x: Value<'v>) -> starlark::Result<i32> {
        let number = |character: char| i32::try_from(u32::from(character)).unwrap_or(i32::MAX);
        if let Some(bytes) = x.downcast_ref::<StarlarkBytes>() {
            return match bytes.as_bytes() {
                [byte] => Ok((*byte).into()),
                others => Err(refuse(format!("ord: bytes has length {}, want 1", others.len()))),
            };
        }
        let wrong = || refuse(format!("ord: got {}, want string or bytes", type_name(x)));
        let text = x.unpack_str().ok_or_else(wrong)?;
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (Some(character), None) => Ok(number(character)),
            _ => {
                let count = text.chars().count();
                Err(refuse(format!("ord: string encodes {count} Unicode code points, want 1")))
            }
        }
    }

    /// The character of that number, as a string.
    fn chr<'v>(#[starlark(require = pos)] i: Value<'v>) -> starlark::Result<char> {
        match i.unpack_i32() {
            Some(number) if number < 0 => {
                Err(refuse(format!("chr: Unicode code point {number} out of range (<0)")))
            }
            // A surrogate is no character.
            Some(number @ 0..=0x0010_ffff) => {
                Ok(u32::try_from(number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            Some(number) => {
                Err(refuse(format!("chr: Unicode code point U+{number:X} out of range (>0x10FFFF)")))
            }
            None if i.get_type() == "int" => Err(refuse(format!("chr: {} out of range", i.to_str()))),
            None => Err(refuse(format!("chr: got {}, want int", type_name(i)))),
        }
    }

    /// The name of the value's type.
    fn r#type<'v>(#[starlark(require = pos)] x: Value<'v>) -> starlark::Result<String> {
        Ok(type_name(x).to_owned())
    }

    /// A dict of a mapping or of pairs, and of the named arguments.
    fn dict<'v>(
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] kwargs: SmallMap<String, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        let pairs = pairs("dict", &args.items, kwargs, heap)?;
        let dict = heap.alloc(AllocDict::EMPTY);
        let mut entries = DictMut::from_value(dict)?;
        for (key, value) in pairs {
            entries.aref.insert_hashed(key.get_hashed()?, value);
        }
        drop(entries);
        Ok(dict)
    }

    /// A value with the named arguments as its fields.
    fn r#struct<'v>(
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] kwargs: SmallMap<String, Value<'v>>,
    ) -> starlark::Result<Structure<'v>> {
        if !args.items.is_empty() {
            return Err(refuse("struct: unexpected positional arguments"));
        }
        Ok(Structure::new(kwargs))
    }

    /// A module of the name `name` with the named arguments as its members.
    fn module<'v>(
        #[starlark(require = pos)] name: Value<'v>,
        #[starlark(kwargs)] kwargs: SmallMap<String, Value<'v>>,
    ) -> starlark::Result<NamedModule<'v>> {
        let name = Function("module").argument("name", name).string()?;
        Ok(NamedModule::new(name, kwargs))
    }

    /// Runs another file, unless it ran already, and returns what it bound as a dict that cannot be changed. `path`
    /// counts from the file that runs; `ext://` names an extension.
    fn load_dynamic<'v>(path: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let path = Function("load_dynamic").argument("path", path).string()?;
        let file = load_file(load_state(eval), &path)?;
        Ok(eval.heap().access_owned_frozen_value(&file.globals))
    }

    /// Runs another file, unless it ran already, for what it declares. `path` counts from the file that runs.
    fn include<'v>(path: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<NoneType> {
        let path = Function("include").argument("path", path).string()?;
        load_file(load_state(eval), &path)?;
        Ok(NoneType)
    }
}
