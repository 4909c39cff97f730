//! Measures how long builtins take, to find what makes a Tiltfile slow.

// Only for what the derives of starlark generate.
#![allow(unsafe_code)]

use std::fmt;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::{
    FrozenValue, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value,
};

use crate::load_state::load_state;
use crate::request::BuiltinCall;

/// Functions of the language itself, which are not timed: they are frequent and fast.
const UNTIMED: [&str; 31] = [
    "abs",
    "all",
    "any",
    "bool",
    "bytes",
    "chr",
    "dict",
    "dir",
    "enumerate",
    "float",
    "getattr",
    "hasattr",
    "hash",
    "int",
    "len",
    "list",
    "max",
    "min",
    "ord",
    "print",
    "range",
    "repr",
    "reversed",
    "set",
    "sorted",
    "str",
    "tuple",
    "type",
    "zip",
    "assert",
    "TRIGGER_MODE_AUTO",
];

/// A builtin whose calls are timed.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct TimedBuiltin {
    name: String,
    function: FrozenValue,
}
starlark_simple_value!(TimedBuiltin);

impl TimedBuiltin {
    /// Wraps a builtin; none for values that are no functions, and for functions that are not timed.
    pub(crate) fn new(name: String, function: FrozenValue) -> Option<TimedBuiltin> {
        let is_function = function.to_value().get_type() == "function";
        let worth_it = is_function && !UNTIMED.contains(&name.as_str()) && !crate::source::is_internal(&name);
        worth_it.then_some(TimedBuiltin { name, function })
    }
}

impl fmt::Display for TimedBuiltin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.function.fmt(f)
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for TimedBuiltin {
    fn name_for_call_stack(&self, _me: Value<'v>) -> String {
        self.name.clone()
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let shown: Vec<String> = arguments.positions(eval.heap())?.map(|value| value.to_repr()).collect();
        let system = load_state(eval).system;
        let begun = system.now();
        let result = ValueLike::invoke(self.function.to_value(), arguments, eval);
        let took = system.now().saturating_duration_since(begun);
        let arguments = format!("({})", shown.join(", "));
        load_state(eval).note_call(BuiltinCall { name: self.name.clone(), arguments, took });
        result
    }
}
