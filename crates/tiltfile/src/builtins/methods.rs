//! The methods whose calls the front end sends here, because the interpreter's own behave otherwise than under Tilt.
//!
//! Each gets the value that it is called on as its first argument. A value of another type that has a method of this
//! name keeps its own.

use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::{DictMut, DictRef};
use starlark::values::list::AllocList;
use starlark::values::set::SetRef;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{Heap, UnpackValue, Value};

use super::format;
use crate::failure::refuse;
use crate::values::elements::{Elements, Unit};
use crate::values::mapping::{entries, pairs};
use crate::values::text::type_name;

/// What `*` makes of a string at most, in bytes.
const LONGEST_TEXT: i64 = 1 << 28;
/// What `*` makes of a list or tuple at most, in elements.
const LONGEST_LIST: i64 = 1 << 25;

type Named<'v> = SmallMap<String, Value<'v>>;

/// Calls the method that the value itself has.
fn own<'v>(
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

/// For a method without arguments that views a string.
fn view<'v>(
    this: Value<'v>,
    method: &str,
    unit: Unit,
    args: &[Value<'v>],
    named: &Named<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    match this.unpack_str() {
        Some(_) if !args.is_empty() => Err(refuse(format!("{method}: got {} arguments, want 0", args.len()))),
        Some(text) => Ok(eval.heap().alloc(Elements { text: text.to_owned(), unit })),
        None => own(this, method, args, named, eval),
    }
}

fn split<'v>(
    this: Value<'v>,
    method: &str,
    args: &[Value<'v>],
    named: &Named<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    if this.unpack_str().is_some() {
        if !named.is_empty() {
            return Err(refuse(format!("{method}: unexpected keyword arguments")));
        }
        match args.first() {
            Some(separator) if separator.unpack_str() == Some("") => {
                return Err(refuse(format!("{method}: empty separator")));
            }
            Some(separator) if separator.unpack_str().is_none() && !separator.is_none() => {
                let given = type_name(*separator);
                return Err(refuse(format!("{method}: got {given} for separator, want string")));
            }
            _ => {}
        }
    }
    own(this, method, args, named, eval)
}

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    fn __method_codepoint_ords<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        view(this, "codepoint_ords", Unit::CodepointNumber, &args.items, &named, eval)
    }

    fn __method_codepoints<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        view(this, "codepoints", Unit::Codepoint, &args.items, &named, eval)
    }

    fn __method_elem_ords<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        view(this, "elem_ords", Unit::ElementNumber, &args.items, &named, eval)
    }

    fn __method_elems<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        view(this, "elems", Unit::Element, &args.items, &named, eval)
    }

    fn __method_format<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        match this.unpack_str() {
            Some(text) => {
                let heap = eval.heap();
                Ok(heap.alloc(format::braces(text, &args.items, &named, heap)?))
            }
            None => own(this, "format", &args.items, &named, eval),
        }
    }

    fn __method_pop<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        if is_set(this) {
            let first = this.iterate(heap)?.next().ok_or_else(|| refuse("pop: empty set"))?;
            own(this, "remove", &[first], &named, eval)?;
            return Ok(first);
        }
        own(this, "pop", &args.items, &named, eval)
    }

    fn __method_replace<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        match args.items.as_slice() {
            // A negative count means all.
            [old, new, count]
                if this.unpack_str().is_some() && count.unpack_i32().is_some_and(|count| count < 0) =>
            {
                own(this, "replace", &[*old, *new], &named, eval)
            }
            args => own(this, "replace", args, &named, eval),
        }
    }

    fn __method_rsplit<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        split(this, "rsplit", &args.items, &named, eval)
    }

    fn __method_split<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        split(this, "split", &args.items, &named, eval)
    }

    fn __method_splitlines<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let (Some(text), true) = (this.unpack_str(), named.is_empty() && args.items.len() <= 1) else {
            return own(this, "splitlines", &args.items, &named, eval);
        };
        let keep = args.items.first().is_some_and(|keep| keep.to_bool());
        // Only the newline ends a line: what stands before it, a carriage return too, belongs to the line.
        let lines = text.split_inclusive('\n');
        let lines = lines.map(|line| if keep { line } else { line.strip_suffix('\n').unwrap_or(line) });
        Ok(eval.heap().alloc(AllocList(lines)))
    }

    fn __method_update<'v>(
        #[starlark(require = pos)] this: Value<'v>,
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: Named<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        if DictRef::from_value(this).is_none() {
            return own(this, "update", &args.items, &named, eval);
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

    fn __percent__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        match left.unpack_str() {
            Some(text) => Ok(heap.alloc(format::percent(text, right, heap)?)),
            None => left.percent(right, heap),
        }
    }

    fn __times__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        check_repeat(left, right)?;
        check_repeat(right, left)?;
        left.mul(right, heap)
    }

    fn __less__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<bool> {
        match subset(left, right, heap)? {
            Some((all, fewer)) => Ok(all && fewer),
            None => Ok(left.compare(right)?.is_lt()),
        }
    }

    fn __at_most__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<bool> {
        match subset(left, right, heap)? {
            Some((all, _)) => Ok(all),
            None => Ok(left.compare(right)?.is_le()),
        }
    }

    fn __greater__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<bool> {
        match subset(right, left, heap)? {
            Some((all, fewer)) => Ok(all && fewer),
            None => Ok(left.compare(right)?.is_gt()),
        }
    }

    fn __at_least__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<bool> {
        match subset(right, left, heap)? {
            Some((all, _)) => Ok(all),
            None => Ok(left.compare(right)?.is_ge()),
        }
    }
}

/// A sequence that is repeated must stay of a size that memory can hold.
fn check_repeat<'v>(sequence: Value<'v>, count: Value<'v>) -> starlark::Result<()> {
    let limit = match sequence.get_type() {
        "string" => LONGEST_TEXT,
        "list" | "tuple" => LONGEST_LIST,
        _ => return Ok(()),
    };
    if count.get_type() != "int" {
        return Ok(());
    }
    let (length, count) = (i64::from(sequence.length()?), count.unpack_i32().map_or(i64::MAX, i64::from));
    match length.saturating_mul(count.max(0)) > limit {
        true => Err(refuse(format!("excessive repeat ({length} * {count} elements)"))),
        false => Ok(()),
    }
}

fn is_set(value: Value<'_>) -> bool {
    matches!(SetRef::unpack_value(value), Ok(Some(_)))
}

/// Of two sets: whether all of the one is in the other, and whether the one has fewer elements.
fn subset<'v>(one: Value<'v>, other: Value<'v>, heap: Heap<'v>) -> starlark::Result<Option<(bool, bool)>> {
    if !is_set(one) || !is_set(other) {
        return Ok(None);
    }
    let mut count = 0;
    for element in one.iterate(heap)? {
        if !other.is_in(element)? {
            return Ok(Some((false, false)));
        }
        count += 1;
    }
    Ok(Some((true, count < other.iterate(heap)?.count())))
}
