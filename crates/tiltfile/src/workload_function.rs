//! The function that names resources, kept from the file that gave it until all workloads are known.
//!
//! A value lives in the heap of the file that runs. The function is put among that file's names, under one that no
//! file can write, is frozen with it, and is called when everything was declared.

use std::collections::HashMap;

use lilt_model::Failure;
use starlark::environment::{FrozenModule, Module};
use starlark::eval::{BeforeStmtFunc, Evaluator};
use starlark::values::{OwnedFrozenValue, Value};

use crate::evaluate::{CALL_DEPTH, finish};
use crate::failure::Place;
use crate::progress::StatementHook;
use crate::session::{Session, session};
use crate::values::ObjectId;

/// Private, and no identifier.
const NAME: &str = "_workload_to_resource_function()";

/// Notes that this is the function, until another one is.
pub(crate) fn note<'v>(function: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<()> {
    let session = session(eval);
    let place = session.place(eval)?;
    eval.module().set(NAME, function);
    session.declared.borrow_mut().workload_function = Some(place);
    session.workload_function.borrow_mut().noted_in = Some(session.current_file());
    Ok(())
}

/// Takes the function out of a file that has run, if it holds the one that counts.
pub(crate) fn keep(session: &Session<'_>, module: &FrozenModule) {
    let mut kept = session.workload_function.borrow_mut();
    if kept.noted_in.as_ref() == Some(&session.current_file())
        && let Ok((function, _)) = module.get_any_visibility(NAME)
    {
        kept.function = Some(function);
    }
}

/// What is known of the function while files run.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The file that ran when it was given last.
    noted_in: Option<std::path::PathBuf>,
    function: Option<OwnedFrozenValue>,
}

/// The names that the function gives to these workloads; none if there is no function.
pub(crate) fn names(
    session: &Session<'_>,
    place: &Place,
    workloads: Vec<ObjectId>,
) -> Result<Option<Vec<String>>, Failure> {
    let kept = session.workload_function.borrow();
    let Some(function) = &kept.function else { return Ok(None) };
    let mut names = Vec::new();
    let mut taken: HashMap<String, ObjectId> = HashMap::new();
    for workload in workloads {
        let name = call(session, function, workload.clone())
            .map_err(|failure| explain(failure, &workload, place))?;
        if let Some(other) = taken.insert(name.clone(), workload.clone()) {
            let message = format!("{other} has the name {name} already");
            return Err(explain(Failure::user(message), &workload, place));
        }
        names.push(name);
    }
    Ok(Some(names))
}

fn explain(failure: Failure, workload: &ObjectId, place: &Place) -> Failure {
    let message = format!("workload_to_resource_function: no name for {workload}: {}", failure.message);
    let failure = Failure { message, ..failure };
    if failure.location.is_some() { failure } else { failure.at(place.location()).detail(place.excerpt()) }
}

fn call(session: &Session<'_>, function: &OwnedFrozenValue, workload: ObjectId) -> Result<String, Failure> {
    Module::with_temp_heap(|module| {
        let mut eval = Evaluator::new(&module);
        eval.extra = Some(session);
        eval.set_check_cancelled(Box::new(|| session.must_end()));
        eval.before_stmt_for_dap(BeforeStmtFunc::from_dyn(Box::new(StatementHook)));
        eval.set_max_callstack_size(CALL_DEPTH).expect("invariant: not zero and set once");
        let function = module.heap().access_owned_frozen_value(function);
        let workload = module.heap().alloc(workload);
        let named = eval.eval_function(function, &[workload], &[]);
        let named = finish(session, named).map_err(|trouble| trouble.into_failure())?;
        match named.unpack_str() {
            Some("") => Err(Failure::user("the function returned an empty name")),
            Some(name) => Ok(name.to_owned()),
            None => {
                Err(Failure::user(format!("the function must return a string, not {}", named.get_type())))
            }
        }
    })
}
