//! `print` and `fail`, as the language of Tiltfiles has them.

use lilt_model::Failure;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;

use crate::failure::raise;
use crate::session::session;

fn joined(values: &[Value<'_>], separator: &str) -> String {
    values.iter().map(|value| value.to_str()).collect::<Vec<_>>().join(separator)
}

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Prints its arguments to the Tiltfile's log.
    fn print<'v>(
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(require = named, default = " ")] sep: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        session(eval).print(&joined(&args.items, sep));
        Ok(NoneType)
    }

    /// Stops the load of the Tiltfile with a message.
    fn fail<'v>(
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(require = named, default = " ")] sep: &str,
    ) -> starlark::Result<NoneType> {
        Err(raise(Failure::user(joined(&args.items, sep))))
    }
}
