//! Methods that the front end calls in place of the interpreter's, which differ from Tilt's.
//!
//! The first argument is the value that the method is called on. Other types with a method of this name use their own.

use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::{DictMut, DictRef};
use starlark::values::set::SetRef;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{UnpackValue, Value};

use crate::failure::refuse;
use crate::values::mapping::{entries, pairs};
use crate::values::text::type_name;

pub(super) type Named<'v> = SmallMap<String, Value<'v>>;

/// Calls the interpreter's method of the value.
pub(super) fn call_own_method<'v>(
    this: Value<'v>,
    method: &str,
    args: &[Value<'v>],
    named: &Named<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let function = this.get_attr_error(method, eval.heap())?;
    let named: Vec<(&str, Value<'v>)> = named.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    eval.eval_function(function, args, &named)
}

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    fn __method_pop<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        if is_set(this) {
            let first = this.iterate(heap)?.next().ok_or_else(|| refuse("pop: empty set"))?;
            call_own_method(this, "remove", &[first], &named, eval)?;
            return Ok(first);
        }
        call_own_method(this, "pop", &args.items, &named, eval)
    }

    fn __method_update<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        if DictRef::from_value(this).is_none() {
            return call_own_method(this, "update", &args.items, &named, eval);
        }
        let pairs = pairs("update", &args.items, named, eval.heap())?;
        let pairs = pairs.into_iter().map(|(key, value)| Ok((key.get_hashed()?, value)));
        let pairs = pairs.collect::<starlark::Result<Vec<_>>>()?;
        let mut dict = DictMut::from_value(this)?;
        for (key, value) in pairs {
            dict.aref.insert_hashed(key, value);
        }
        Ok(Value::new_none())
    }

    fn __mapping__<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        let wrong = || refuse(format!("argument after ** must be a mapping, not {}", type_name(value)));
        let entries = entries(value, heap).ok_or_else(wrong)?;
        if let Some((key, _)) = entries.iter().find(|(key, _)| key.unpack_str().is_none()) {
            return Err(refuse(format!("keywords must be strings, not {}", type_name(*key))));
        }
        match DictRef::from_value(value) {
            Some(_) => Ok(value),
            None => Ok(crate::values::environ::as_dict(heap)),
        }
    }

    fn __sequence__<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        match value.iterate(eval.heap()) {
            Ok(_) => Ok(value),
            Err(_) => Err(refuse(format!("argument after * must be iterable, not {}", type_name(value)))),
        }
    }
}

pub(super) fn is_set(value: Value<'_>) -> bool {
    matches!(SetRef::unpack_value(value), Ok(Some(_)))
}
