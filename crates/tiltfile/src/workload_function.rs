//! The function that names resources, kept from the file that registers it until all workloads are known.
//!
//! A value lives in the heap of the file that runs. The function is stored as a variable of that file whose name no
//! Tiltfile can use, is frozen with the file, and is called after all declarations.

use starlark::environment::FrozenModule;
use starlark::eval::Evaluator;
use starlark::values::Value;

use crate::load_state::{LoadState, load_state};

/// Private, and no identifier.
const NAME: &str = "_workload_to_resource_function()";

/// Registers the function, in place of an earlier one.
pub(crate) fn set<'v>(function: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<()> {
    let state = load_state(eval);
    let span = state.span(eval)?;
    eval.module().set(NAME, function);
    state.declared.borrow_mut().workload_function = Some(span);
    state.workload_function.borrow_mut().noted_in = Some(state.current_file());
    Ok(())
}

/// Takes the function from a file that has run, if that file registered it last.
pub(crate) fn take_from(state: &LoadState<'_>, module: &FrozenModule) {
    let mut kept = state.workload_function.borrow_mut();
    if kept.noted_in.as_ref() == Some(&state.current_file())
        && let Ok((function, _)) = module.get_any_visibility(NAME)
    {
        kept.function = Some(function);
    }
}
