//! `range` and `sorted`, which can be cancelled, unlike the interpreter's own.

use std::cmp::Ordering;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::list::AllocList;
use starlark::values::none::NoneOr;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{UnpackValue, Value};

use crate::failure::{raise, refuse};
use crate::load_state::load_state;
use crate::values::Range;
use crate::values::limits::check_list;
use crate::values::text::type_name;

fn as_i64(value: Value<'_>) -> Result<i64, String> {
    match i64::unpack_value(value) {
        Ok(Some(number)) => Ok(number),
        _ if value.get_type() == "int" => {
            Err(format!("{} out of range (want value in signed 64-bit range)", value.to_str()))
        }
        _ => Err(format!("got {}, want int", type_name(value))),
    }
}

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// The numbers from `start`, which is 0 if only one is given, up to but without `stop`, each `step` after the last.
    fn range<'v>(
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Range> {
        let mut numbers = Vec::new();
        for (index, value) in args.items.iter().enumerate() {
            let number = as_i64(*value).map_err(|why| format!("range: for parameter {}: {why}", index + 1));
            numbers.push(number.map_err(refuse)?);
        }
        let (start, stop, step) = match *numbers.as_slice() {
            [] => return Err(refuse("range: got 0 arguments, want at least 1")),
            [stop] => (0, stop, 1),
            [start, stop] => (start, stop, 1),
            [start, stop, step] => (start, stop, step),
            _ => return Err(refuse(format!("range: got {} arguments, want at most 3", numbers.len()))),
        };
        Range::new(start, stop, step, load_state(eval).halt.clone())
    }

    /// A list of the elements in ascending order; those that compare equal stay in their order.
    ///
    /// # Arguments
    /// * `iterable`: what to sort
    /// * `key`: a function that is given an element and returns what to compare in its place
    /// * `reverse`: whether the order is descending
    fn sorted<'v>(
        iterable: Value<'v>,
        #[starlark(default = NoneOr::None)] key: NoneOr<Value<'v>>,
        #[starlark(default = false)] reverse: bool,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let (heap, halt) = (eval.heap(), load_state(eval).halt.clone());
        let mut keyed = Vec::new();
        for element in iterable.iterate(heap)? {
            let by = match key {
                NoneOr::None => element,
                NoneOr::Other(key) => eval.eval_function(key, &[element], &[])?,
            };
            keyed.push((by, element));
            check_list(keyed.len(), heap)?;
        }
        let mut compared = Ok(());
        keyed.sort_by(|(one, _), (other, _)| {
            if compared.is_err() {
                return Ordering::Equal;
            }
            let order = match halt.failure() {
                None => one.compare(*other),
                Some(failure) => Err(raise(failure)),
            };
            let order = order.unwrap_or_else(|error| {
                compared = Err(error);
                Ordering::Equal
            });
            if reverse { order.reverse() } else { order }
        });
        compared?;
        Ok(heap.alloc(AllocList(keyed.into_iter().map(|(_, element)| element))))
    }
}
