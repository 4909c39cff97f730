//! The steps of `live_update` and the rules of their order.

use lilt_model::image::{LiveUpdate, RestartProcess, Run, Sync, clean_container_path};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::{Value, ValueLike};

use crate::arguments::{Argument, Function};
use crate::load_state::{LoadState, load_state};
use crate::paths::clean;
use crate::values::text::excerpt;
use crate::values::{LiveUpdateStep, Step};

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// A live update step: when a container starts, all synced files are copied into it. Must be the first step.
    fn initial_sync<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<LiveUpdateStep> {
        declare_step(Step::InitialSync, eval)
    }

    /// A live update step: a change to one of these files asks for a full build. Such steps come before `sync()`.
    ///
    /// # Arguments
    /// * `paths`: files or directories
    fn fall_back_on<'v>(
        paths: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<LiveUpdateStep> {
        let paths = Function("fall_back_on").argument("paths", paths).paths(load_state(eval))?;
        declare_step(Step::FallBackOn(paths), eval)
    }

    /// A live update step: changed files below a path of this machine are copied into the container. Of several steps with the
    /// same file below them, the first one says where it goes.
    ///
    /// # Arguments
    /// * `local_path`: a file or directory below what is watched for the image
    /// * `remote_path`: an absolute path in the container
    fn sync<'v>(
        local_path: Value<'v>,
        remote_path: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<LiveUpdateStep> {
        let function = Function("sync");
        let local = function.argument("local_path", local_path).path_or_directory(load_state(eval))?;
        let remote = function.argument("remote_path", remote_path);
        let container = remote.string()?;
        if !container.starts_with('/') {
            return Err(remote.refuse(format!("{container:?} must be an absolute path in the container")));
        }
        let container = clean_container_path(&container);
        declare_step(Step::Sync { local, container }, eval)
    }

    /// A live update step: a command to run in the container after files were copied. Such steps come after `sync()`.
    ///
    /// # Arguments
    /// * `cmd`: a shell line, or a list of words
    /// * `trigger`: run it only if one of these files changed
    /// * `echo_off`: do not print the command
    fn run<'v>(
        cmd: Value<'v>,
        trigger: Option<Value<'v>>,
        echo_off: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<LiveUpdateStep> {
        let function = Function("run");
        let cmd = function.argument("cmd", cmd);
        let argv = cmd.unix_argv()?.ok_or_else(|| cmd.refuse("a command is needed"))?;
        let triggers = function.argument("trigger", trigger).strings()?;
        let echo_off = function.argument("echo_off", echo_off).boolean()?.unwrap_or(false);
        declare_step(Step::Run { argv, triggers, echo_off }, eval)
    }

    /// A live update step: starts the container's own process anew at the end, without a restart of the container. For
    /// Kubernetes, with any image: lilt brings what it needs into the pod. Must be the last step.
    ///
    /// # Arguments
    /// * `trigger`: only if one of these files changed
    fn restart_process<'v>(
        trigger: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<LiveUpdateStep> {
        let triggers = Function("restart_process").argument("trigger", trigger).strings()?;
        declare_step(Step::RestartProcess { triggers }, eval)
    }

    /// A live update step: restarts the container at the end. For Docker Compose only; on Kubernetes use
    /// `restart_process()`.
    fn restart_container<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<LiveUpdateStep> {
        declare_step(Step::RestartContainer, eval)
    }
}

fn declare_step(step: Step, eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<LiveUpdateStep> {
    let state = load_state(eval);
    let step = LiveUpdateStep { step, span: state.span(eval)? };
    state.declared.borrow_mut().unused_steps.push((step.to_string(), step.span.clone()));
    Ok(step)
}

/// Returns the steps of an image, which must be in this order: `initial_sync`, `fall_back_on`, `sync`, `run`,
/// `restart_container` or `restart_process`.
pub(super) fn live_update(
    argument: Argument<'_>,
    state: &LoadState<'_>,
) -> starlark::Result<Option<LiveUpdate>> {
    let mut update = LiveUpdate { base: state.directory(), ..LiveUpdate::default() };
    let elements = argument.elements();
    for (index, value) in elements.iter().enumerate() {
        let Some(step) = value.downcast_ref::<LiveUpdateStep>() else {
            return Err(argument
                .refuse(format!("{} is no live update step such as sync() or run()", excerpt(*value))));
        };
        add(&mut update, step.step.clone(), index).map_err(|problem| argument.refuse(problem))?;
        let same = |span: &crate::failure::SourceSpan| {
            span.start == step.span.start && span.source.path() == step.span.source.path()
        };
        state.declared.borrow_mut().unused_steps.retain(|(_, span)| !same(span));
    }
    if elements.is_empty() {
        return Ok(None);
    }
    if update.syncs.is_empty() && update.runs.is_empty() {
        return Err(argument.refuse("at least one sync() or run() is needed"));
    }
    Ok(Some(update))
}

fn add(update: &mut LiveUpdate, step: Step, index: usize) -> Result<(), &'static str> {
    if update.restart_process.is_some() {
        return Err("restart_process must be the last step");
    }
    match step {
        Step::InitialSync if index > 0 => {
            return Err("initial_sync must be the first step, and there can be one only");
        }
        Step::FallBackOn(_) if !update.syncs.is_empty() || !update.runs.is_empty() || update.restart => {
            return Err("fall_back_on steps must come first");
        }
        Step::Sync { .. } | Step::Run { .. } if update.restart => {
            return Err("restart_container must be the last step");
        }
        Step::Sync { .. } if !update.runs.is_empty() => {
            return Err("all sync steps must come before all run steps");
        }
        Step::InitialSync => update.initial_sync = true,
        Step::FallBackOn(paths) => update.stop_paths.extend(paths),
        Step::Sync { local, container } => update.syncs.push(Sync { local, container }),
        Step::Run { argv, triggers, echo_off } => {
            let triggers = triggers.iter().map(|path| clean(&update.base.join(path))).collect();
            update.runs.push(Run { argv, triggers, echo_off });
        }
        Step::RestartContainer => update.restart = true,
        Step::RestartProcess { .. } if update.restart => {
            return Err("restart_container and restart_process do not go together");
        }
        Step::RestartProcess { triggers } => {
            let triggers = triggers.iter().map(|path| clean(&update.base.join(path))).collect();
            update.restart_process = Some(RestartProcess { triggers, ..RestartProcess::default() });
        }
    }
    Ok(())
}
