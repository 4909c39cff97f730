//! `os.environ`: reads and writes the environment of this load.
//!
//! The value itself holds nothing: it accesses the environment of the load that runs on this thread, so that all files
//! of a load share one environment.

use std::fmt;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::collections::SmallMap;
use starlark::environment::{Methods, MethodsBuilder, MethodsStatic};
use starlark::starlark_module;
use starlark::starlark_simple_value;
use starlark::values::dict::AllocDict;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{
    Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value,
};

use super::mapping::pairs;
use super::text::{quote, to_repr, type_name};
use super::unpack::as_text;
use crate::environment;
use crate::failure::refuse;

#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct Environ;
starlark_simple_value!(Environ);

impl fmt::Display for Environ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::from("{");
        for (index, (name, value)) in environment::all().iter().enumerate() {
            text.push_str(if index == 0 { "" } else { ", " });
            quote(name, &mut text);
            text.push_str(": ");
            quote(value, &mut text);
        }
        write!(f, "{text}}}")
    }
}

fn set<'v>(key: Value<'v>, value: Value<'v>) -> starlark::Result<()> {
    let text = |what: &str, value: Value<'v>| {
        let wrong = || refuse(format!("putenv() {what} must be a string, not {}", type_name(value)));
        as_text(value).ok_or_else(wrong)
    };
    let name = text("key", key)?;
    let text = text("value", value)?;
    environment::set(&name, Some(text));
    Ok(())
}

#[starlark_value(type = "environ")]
impl<'v> StarlarkValue<'v> for Environ {
    fn get_methods() -> Option<&'static Methods> {
        static METHODS: MethodsStatic = MethodsStatic::new("environ", methods);
        Some(METHODS.methods())
    }

    fn to_bool(&self) -> bool {
        !environment::all().is_empty()
    }

    fn length(&self) -> starlark::Result<i32> {
        Ok(i32::try_from(environment::all().len()).unwrap_or(i32::MAX))
    }

    fn at(&self, index: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        match as_text(index).and_then(|name| environment::get(&name)) {
            Some(value) => Ok(heap.alloc(value)),
            None => Err(refuse(format!("key {} not in environ", to_repr(index, heap)?))),
        }
    }

    fn set_at(&self, index: Value<'v>, value: Value<'v>) -> starlark::Result<()> {
        set(index, value)
    }

    fn is_in(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(as_text(other).is_some_and(|name| environment::get(&name).is_some()))
    }

    fn iterate_collect(&self, heap: Heap<'v>) -> starlark::Result<Vec<Value<'v>>> {
        Ok(environment::all().into_iter().map(|(name, _)| heap.alloc(name)).collect())
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.downcast_ref::<Environ>().is_some())
    }
}

#[starlark_module]
fn methods(builder: &mut MethodsBuilder) {
    /// Removes every variable.
    fn clear(this: Value) -> starlark::Result<NoneType> {
        let _ = this;
        environment::all().iter().for_each(|(name, _)| environment::set(name, None));
        Ok(NoneType)
    }

    /// The value of a variable, or `default` if it is not set.
    fn get<'v>(
        this: Value<'v>,
        #[starlark(require = pos)] key: Value<'v>,
        #[starlark(require = pos)] default: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let _ = this;
        let found = as_text(key).and_then(|name| environment::get(&name));
        Ok(found.map_or(default.unwrap_or(Value::new_none()), |value| heap.alloc(value)))
    }

    /// Pairs of name and value.
    fn items<'v>(this: Value<'v>) -> starlark::Result<Vec<(String, String)>> {
        let _ = this;
        Ok(environment::all())
    }

    /// The names.
    fn keys<'v>(this: Value<'v>) -> starlark::Result<Vec<String>> {
        let _ = this;
        Ok(environment::all().into_iter().map(|(name, _)| name).collect())
    }

    /// The values.
    fn values<'v>(this: Value<'v>) -> starlark::Result<Vec<String>> {
        let _ = this;
        Ok(environment::all().into_iter().map(|(_, value)| value).collect())
    }

    /// Removes a variable and returns its value, or `default` if it is not set.
    fn pop<'v>(
        this: Value<'v>,
        #[starlark(require = pos)] key: Value<'v>,
        #[starlark(require = pos)] default: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let _ = this;
        let name = as_text(key).unwrap_or_default();
        match (environment::get(&name), default) {
            (Some(value), _) => {
                environment::set(&name, None);
                Ok(heap.alloc(value))
            }
            (None, Some(default)) => Ok(default),
            (None, None) => Err(refuse("pop: missing key")),
        }
    }

    /// Removes the first variable and returns its name and value.
    fn popitem<'v>(this: Value<'v>) -> starlark::Result<(String, String)> {
        let _ = this;
        let first = environment::all().into_iter().next().ok_or_else(|| refuse("popitem: empty environ"))?;
        environment::set(&first.0, None);
        Ok(first)
    }

    /// The value of a variable, which is set to `default` first if it is not set.
    fn setdefault<'v>(
        this: Value<'v>,
        #[starlark(require = pos)] key: Value<'v>,
        #[starlark(require = pos)] default: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let _ = this;
        if let Some(value) = as_text(key).and_then(|name| environment::get(&name)) {
            return Ok(heap.alloc(value));
        }
        let default = default.unwrap_or(Value::new_none());
        set(key, default)?;
        Ok(default)
    }

    /// Sets the variables of a dict or of pairs, and those named.
    fn update<'v>(
        this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] kwargs: SmallMap<String, Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<NoneType> {
        let _ = this;
        for (key, value) in pairs("update", &args.items, kwargs, heap)? {
            set(key, value)?;
        }
        Ok(NoneType)
    }
}

/// Returns the current environment as a dict.
pub(crate) fn as_dict(heap: Heap<'_>) -> Value<'_> {
    heap.alloc(AllocDict(environment::all()))
}
