//! Calls the function of `workload_to_resource_function` when all workloads are known.

use std::collections::HashMap;

use lilt_model::Failure;
use starlark::environment::Module;
use starlark::eval::{BeforeStmtFunc, Evaluator};
use starlark::values::OwnedFrozenValue;

use super::{CALL_DEPTH, finish};
use crate::failure::SourceSpan;
use crate::load_state::{LoadState, StatementHook};
use crate::values::ObjectId;

/// Calls the function for each workload; none if there is no function.
pub(crate) fn workload_names(
    state: &LoadState<'_>,
    span: &SourceSpan,
    workloads: Vec<ObjectId>,
) -> Result<Option<Vec<String>>, Failure> {
    let kept = state.workload_function.borrow();
    let Some(function) = &kept.function else { return Ok(None) };
    let mut names = Vec::new();
    let mut taken: HashMap<String, ObjectId> = HashMap::new();
    for workload in workloads {
        let name =
            call(state, function, workload.clone()).map_err(|failure| explain(failure, &workload, span))?;
        if let Some(other) = taken.insert(name.clone(), workload.clone()) {
            let message = format!("{other} has the name {name} already");
            return Err(explain(Failure::user(message), &workload, span));
        }
        names.push(name);
    }
    Ok(Some(names))
}

fn explain(failure: Failure, workload: &ObjectId, span: &SourceSpan) -> Failure {
    let message = format!("workload_to_resource_function: no name for {workload}: {}", failure.message);
    let failure = Failure { message, ..failure };
    if failure.location.is_some() { failure } else { failure.at(span.location()).detail(span.excerpt()) }
}

fn call(state: &LoadState<'_>, function: &OwnedFrozenValue, workload: ObjectId) -> Result<String, Failure> {
    Module::with_temp_heap(|module| {
        let mut eval = Evaluator::new(&module);
        eval.extra = Some(state);
        eval.set_check_cancelled(Box::new(|| state.must_stop()));
        eval.before_stmt_for_dap(BeforeStmtFunc::from_dyn(Box::new(StatementHook)));
        eval.set_max_callstack_size(CALL_DEPTH).expect("invariant: not zero and set once");
        let function = module.heap().access_owned_frozen_value(function);
        let workload = module.heap().alloc(workload);
        let named = eval.eval_function(function, &[workload], &[]);
        let named = finish(state, named).map_err(|error| error.into_failure())?;
        match named.unpack_str() {
            Some("") => Err(Failure::user("the function returned an empty name")),
            Some(name) => Ok(name.to_owned()),
            None => {
                Err(Failure::user(format!("the function must return a string, not {}", named.get_type())))
            }
        }
    })
}
