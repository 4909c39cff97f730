//! Mappings, and the pairs that `dict` and `update` take.

use starlark::collections::SmallMap;
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, Value, ValueLike};

use super::environ::Environ;
use super::text::type_name;
use crate::environment;
use crate::failure::refuse;

/// Returns the pairs of a dict or of `os.environ`; none for other types.
pub(crate) fn entries<'v>(value: Value<'v>, heap: Heap<'v>) -> Option<Vec<(Value<'v>, Value<'v>)>> {
    if let Some(dict) = DictRef::from_value(value) {
        return Some(dict.iter().collect());
    }
    value.downcast_ref::<Environ>()?;
    Some(environment::all().into_iter().map(|(name, value)| (heap.alloc(name), heap.alloc(value))).collect())
}

/// Returns the pairs in the arguments of `dict(…)` and `update(…)`: at most one mapping or sequence of pairs, and names.
pub(crate) fn pairs<'v>(
    function: &str,
    positional: &[Value<'v>],
    named: SmallMap<String, Value<'v>>,
    heap: Heap<'v>,
) -> starlark::Result<Vec<(Value<'v>, Value<'v>)>> {
    let mut pairs = match positional {
        [] => Vec::new(),
        [one] => match entries(*one, heap) {
            Some(entries) => entries,
            None => sequence_of_pairs(function, *one, heap)?,
        },
        more => return Err(refuse(format!("{function}: got {} arguments, want at most 1", more.len()))),
    };
    pairs.extend(named.into_iter().map(|(name, value)| (heap.alloc(name), value)));
    Ok(pairs)
}

fn sequence_of_pairs<'v>(
    function: &str,
    sequence: Value<'v>,
    heap: Heap<'v>,
) -> starlark::Result<Vec<(Value<'v>, Value<'v>)>> {
    let wrong = || refuse(format!("{function}: got {}, want iterable", type_name(sequence)));
    let elements = sequence.iterate(heap).map_err(|_| wrong())?;
    let element = |(index, element): (usize, Value<'v>)| {
        let problem =
            |what: String| refuse(format!("{function}: dictionary update sequence element #{index} {what}"));
        let parts: Vec<Value<'v>> = match (ListRef::from_value(element), TupleRef::from_value(element)) {
            (Some(list), _) => list.content().to_vec(),
            (None, Some(tuple)) => tuple.content().to_vec(),
            (None, None) => match element.iterate(heap) {
                Ok(parts) => parts.collect(),
                Err(_) => return Err(problem(format!("is not iterable ({})", type_name(element)))),
            },
        };
        match parts.as_slice() {
            [key, value] => Ok((*key, *value)),
            others => Err(problem(format!("has length {}, want 2", others.len()))),
        }
    };
    elements.enumerate().map(element).collect()
}
