//! The steps of `live_update` and the rules of their order.

use lilt_model::image::{LiveUpdate, Run, Sync};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::{Value, ValueLike};

use crate::arguments::{Argument, Function};
use crate::session::{Session, session};
use crate::values::{LiveUpdateStep, Step};

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// A live update step: a change to one of these files asks for a full build.
    fn fall_back_on<'v>(
        paths: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<LiveUpdateStep> {
        let paths = Function("fall_back_on").argument("paths", paths).paths(session(eval))?;
        note(Step::FallBackOn(paths), eval)
    }

    /// A live update step: changed files below `local_path` are copied to `remote_path` in the container.
    fn sync<'v>(
        local_path: Value<'v>,
        remote_path: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<LiveUpdateStep> {
        let function = Function("sync");
        let local = session(eval).absolute(function.argument("local_path", local_path).string()?);
        let remote = function.argument("remote_path", remote_path);
        let container = remote.string()?;
        if !container.starts_with('/') {
            return Err(remote.refuse(format!("{container:?} must be an absolute path in the container")));
        }
        note(Step::Sync { local, container }, eval)
    }

    /// A live update step: a command to run in the container after files were copied.
    fn run<'v>(
        cmd: Value<'v>,
        trigger: Option<Value<'v>>,
        echo_off: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<LiveUpdateStep> {
        let function = Function("run");
        let cmd = function.argument("cmd", cmd);
        // In the container there is always a Unix shell, whatever this machine is.
        let argv = match cmd.text() {
            Ok(Some(line)) if !line.is_empty() => Some(vec!["sh".to_owned(), "-c".to_owned(), line]),
            _ => cmd.words()?,
        };
        let argv = argv.ok_or_else(|| cmd.refuse("a command is needed"))?;
        let triggers = function.argument("trigger", trigger).strings()?;
        let echo_off = function.argument("echo_off", echo_off).boolean()?.unwrap_or(false);
        note(Step::Run { argv, triggers, echo_off }, eval)
    }
}

fn note(step: Step, eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<LiveUpdateStep> {
    let session = session(eval);
    let step = LiveUpdateStep { step, place: session.place(eval)? };
    session.declared.borrow_mut().loose_steps.push((step.to_string(), step.place.clone()));
    Ok(step)
}

/// Takes the steps of an image, in the order that is allowed: `fall_back_on`, `sync`, `run`.
pub(super) fn live_update(
    argument: Argument<'_>,
    session: &Session<'_>,
) -> starlark::Result<Option<LiveUpdate>> {
    let base = session.directory();
    let mut update = LiveUpdate { stop_paths: Vec::new(), syncs: Vec::new(), runs: Vec::new() };
    let elements = argument.elements();
    for value in &elements {
        let Some(step) = value.downcast_ref::<LiveUpdateStep>() else {
            return Err(argument
                .refuse(format!("{} is no live update step such as sync() or run()", value.to_repr())));
        };
        match step.step.clone() {
            Step::FallBackOn(_) if !update.syncs.is_empty() || !update.runs.is_empty() => {
                return Err(argument.refuse("fall_back_on steps must come first"));
            }
            Step::Sync { .. } if !update.runs.is_empty() => {
                return Err(argument.refuse("all sync steps must come before all run steps"));
            }
            Step::FallBackOn(paths) => update.stop_paths.extend(paths),
            Step::Sync { local, container } => update.syncs.push(Sync { local, container }),
            Step::Run { argv, triggers, echo_off } => {
                let triggers = triggers.iter().map(|path| crate::session::clean(&base.join(path))).collect();
                update.runs.push(Run { argv, triggers, echo_off });
            }
        }
        let same = |place: &crate::failure::Place| {
            place.start == step.place.start && place.source.path() == step.place.source.path()
        };
        session.declared.borrow_mut().loose_steps.retain(|(_, place)| !same(place));
    }
    Ok(Some(update).filter(|_| !elements.is_empty()))
}
