//! `==` with Tilt's limit of depth: comparing values that share others many times would take for ever.

use starlark::values::Value;
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::tuple::TupleRef;

use super::structure::Structure;
use crate::failure::refuse;

/// How deep values are compared, as in Tilt.
const DEPTH: usize = 10;

pub(crate) fn are_equal<'v>(left: Value<'v>, right: Value<'v>) -> starlark::Result<bool> {
    are_equal_to_depth(left, right, DEPTH)
}

fn are_equal_to_depth<'v>(left: Value<'v>, right: Value<'v>, depth: usize) -> starlark::Result<bool> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(refuse("comparison exceeded maximum recursion depth"));
    };
    match parts(left, right)? {
        Parts::None => left.equals(right),
        Parts::Differ => Ok(false),
        Parts::Pairs(pairs) => {
            for (left, right) in pairs {
                if !are_equal_to_depth(left, right, depth)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// How the elements of two values decide whether these are equal.
enum Parts<'v> {
    /// They are not two lists, tuples, dicts or structs.
    None,
    Differ,
    /// They are equal if these are.
    Pairs(Vec<(Value<'v>, Value<'v>)>),
}

fn parts<'v>(left: Value<'v>, right: Value<'v>) -> starlark::Result<Parts<'v>> {
    if let (Some(left), Some(right)) = (ListRef::from_value(left), ListRef::from_value(right)) {
        return Ok(elements(left.content(), right.content()));
    }
    if let (Some(left), Some(right)) = (TupleRef::from_value(left), TupleRef::from_value(right)) {
        return Ok(elements(left.content(), right.content()));
    }
    if let (Some(left), Some(right)) = (DictRef::from_value(left), DictRef::from_value(right)) {
        return entries(&left, &right);
    }
    if let (Some(left), Some(right)) = (Structure::from_value(left), Structure::from_value(right)) {
        if !left.fields().map(|(name, _)| name).eq(right.fields().map(|(name, _)| name)) {
            return Ok(Parts::Differ);
        }
        let values = left.fields().zip(right.fields()).map(|((_, left), (_, right))| (left, right));
        return Ok(Parts::Pairs(values.collect()));
    }
    Ok(Parts::None)
}

fn elements<'v>(left: &[Value<'v>], right: &[Value<'v>]) -> Parts<'v> {
    match left.len() == right.len() {
        true => Parts::Pairs(left.iter().copied().zip(right.iter().copied()).collect()),
        false => Parts::Differ,
    }
}

fn entries<'v>(left: &DictRef<'v>, right: &DictRef<'v>) -> starlark::Result<Parts<'v>> {
    if left.len() != right.len() {
        return Ok(Parts::Differ);
    }
    let mut pairs = Vec::new();
    for (key, value) in left.iter() {
        match right.get(key)? {
            Some(other) => pairs.push((value, other)),
            None => return Ok(Parts::Differ),
        }
    }
    Ok(Parts::Pairs(pairs))
}
