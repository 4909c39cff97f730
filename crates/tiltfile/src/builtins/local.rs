//! `local_resource`, `test`, `local`, `link`, `trigger_mode`.

use lilt_model::command::Command;
use lilt_model::files::IgnoreRule;
use lilt_model::{Failure, Unreachable};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;

use super::docker::git_dir_rules;
use super::probes::probe_of;
use crate::arguments::{self, Argument, Function, command};
use crate::declarations::LocalDeclaration;
use crate::failure::{SourceSpan, cancelled, raise, raise_without_excerpt};
use crate::load_state::{LoadState, load_state};
use crate::paths::clean;
use crate::values::{Blob, LinkValue};

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// A resource of commands on this machine: one that brings it up to date, one that serves, or both.
    ///
    /// # Arguments
    /// * `name`: of the resource
    /// * `cmd`: brings it up to date and ends: a shell line or a list of words
    /// * `deps`: files and directories whose change runs `cmd` again and restarts `serve_cmd`
    /// * `trigger_mode`: `TRIGGER_MODE_AUTO` or `TRIGGER_MODE_MANUAL`
    /// * `resource_deps`: resources that must have been ready once before it starts
    /// * `ignore`: patterns of files below this Tiltfile's directory that trigger nothing
    /// * `auto_init`: whether it starts by itself, true unless given
    /// * `serve_cmd`: runs as long as the session does
    /// * `cmd_bat`: in place of `cmd` on Windows
    /// * `serve_cmd_bat`: in place of `serve_cmd` on Windows
    /// * `allow_parallel`: whether `cmd` may run beside other local updates
    /// * `links`: strings or `link()`s shown with the resource
    /// * `labels`: groups that it is shown in
    /// * `env`: variables for `cmd`, on top of the environment
    /// * `serve_env`: variables for `serve_cmd`
    /// * `readiness_probe`: a `probe()` that tells whether `serve_cmd` is ready
    /// * `dir`: where `cmd` runs, relative to this file
    /// * `serve_dir`: where `serve_cmd` runs
    /// * `restart`: whether `serve_cmd` is restarted when it exits, after 1, 2, 4 … at most 60 seconds; not in Tilt
    /// * `cascade`: whether an update of one of `resource_deps` also runs `cmd` again and restarts `serve_cmd`; without it,
    ///   what `update_settings()` says; not in Tilt
    fn local_resource<'v>(
        name: Value<'v>,
        cmd: Option<Value<'v>>,
        deps: Option<Value<'v>>,
        trigger_mode: Option<Value<'v>>,
        resource_deps: Option<Value<'v>>,
        ignore: Option<Value<'v>>,
        auto_init: Option<Value<'v>>,
        serve_cmd: Option<Value<'v>>,
        cmd_bat: Option<Value<'v>>,
        serve_cmd_bat: Option<Value<'v>>,
        allow_parallel: Option<Value<'v>>,
        links: Option<Value<'v>>,
        labels: Option<Value<'v>>,
        env: Option<Value<'v>>,
        serve_env: Option<Value<'v>>,
        readiness_probe: Option<Value<'v>>,
        dir: Option<Value<'v>>,
        serve_dir: Option<Value<'v>>,
        restart: Option<Value<'v>>,
        cascade: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let state = load_state(eval);
        let arguments = LocalArguments {
            name: Some(name),
            cmd,
            deps,
            trigger_mode,
            resource_deps,
            ignore,
            auto_init,
            serve_cmd,
            cmd_bat,
            serve_cmd_bat,
            allow_parallel,
            links,
            labels,
            env,
            serve_env,
            readiness_probe,
            dir,
            serve_dir,
            restart,
            cascade,
        };
        declare(Function("local_resource"), arguments, false, state.span(eval)?, state)
    }

    /// The old name of `local_resource`, for tests: `allow_parallel` is true unless given. Warns.
    ///
    /// # Arguments
    /// * `name`: of the resource
    /// * `cmd`: brings it up to date and ends: a shell line or a list of words
    /// * `deps`: files and directories whose change runs `cmd` again and restarts `serve_cmd`
    /// * `trigger_mode`: `TRIGGER_MODE_AUTO` or `TRIGGER_MODE_MANUAL`
    /// * `resource_deps`: resources that must have been ready once before it starts
    /// * `ignore`: patterns of files below this Tiltfile's directory that trigger nothing
    /// * `auto_init`: whether it starts by itself, true unless given
    /// * `serve_cmd`: runs as long as the session does
    /// * `cmd_bat`: in place of `cmd` on Windows
    /// * `serve_cmd_bat`: in place of `serve_cmd` on Windows
    /// * `allow_parallel`: whether `cmd` may run beside other local updates
    /// * `links`: strings or `link()`s shown with the resource
    /// * `labels`: groups that it is shown in
    /// * `env`: variables for `cmd`, on top of the environment
    /// * `serve_env`: variables for `serve_cmd`
    /// * `readiness_probe`: a `probe()` that tells whether `serve_cmd` is ready
    /// * `dir`: where `cmd` runs, relative to this file
    /// * `serve_dir`: where `serve_cmd` runs
    fn test<'v>(
        name: Value<'v>,
        cmd: Option<Value<'v>>,
        deps: Option<Value<'v>>,
        trigger_mode: Option<Value<'v>>,
        resource_deps: Option<Value<'v>>,
        ignore: Option<Value<'v>>,
        auto_init: Option<Value<'v>>,
        serve_cmd: Option<Value<'v>>,
        cmd_bat: Option<Value<'v>>,
        serve_cmd_bat: Option<Value<'v>>,
        allow_parallel: Option<Value<'v>>,
        links: Option<Value<'v>>,
        labels: Option<Value<'v>>,
        env: Option<Value<'v>>,
        serve_env: Option<Value<'v>>,
        readiness_probe: Option<Value<'v>>,
        dir: Option<Value<'v>>,
        serve_dir: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let state = load_state(eval);
        let warning = "test() is deprecated and will be removed: use local_resource(…, allow_parallel=True)";
        state.declared.borrow_mut().warnings.push(warning.to_owned());
        let arguments = LocalArguments {
            name: Some(name),
            cmd,
            deps,
            trigger_mode,
            resource_deps,
            ignore,
            auto_init,
            serve_cmd,
            cmd_bat,
            serve_cmd_bat,
            allow_parallel,
            links,
            labels,
            env,
            serve_env,
            readiness_probe,
            dir,
            serve_dir,
            restart: None,
            cascade: None,
        };
        declare(Function("test"), arguments, true, state.span(eval)?, state)
    }

    /// Runs a command while the Tiltfile loads and returns what it prints on its stdout. Fails if the command does.
    ///
    /// # Arguments
    /// * `command`: a shell line or a list of words
    /// * `quiet`: do not show its output
    /// * `command_bat`: in place of `command` on Windows
    /// * `echo_off`: do not show the command
    /// * `env`: variables, on top of the environment
    /// * `dir`: where it runs, relative to this file
    /// * `stdin`: a text that it gets to read
    fn local<'v>(
        command: Value<'v>,
        quiet: Option<Value<'v>>,
        command_bat: Option<Value<'v>>,
        echo_off: Option<Value<'v>>,
        env: Option<Value<'v>>,
        dir: Option<Value<'v>>,
        stdin: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Blob> {
        let function = Function("local");
        let state = load_state(eval);
        let words = function.argument("command", command);
        let command = arguments::command(
            state,
            words,
            function.argument("command_bat", command_bat),
            function.argument("dir", dir),
            function.argument("env", env),
        )?
        .ok_or_else(|| words.refuse("a command is needed"))?;
        let quiet = function.argument("quiet", quiet).boolean()?.unwrap_or(false);
        let echo_off = function.argument("echo_off", echo_off).boolean()?.unwrap_or(false);
        let stdin = function.argument("stdin", stdin).text()?;
        let text = execute(state, &command, stdin.as_deref(), quiet, echo_off)?;
        let source = if echo_off { "local".to_owned() } else { format!("local: {}", command.display()) };
        Ok(Blob { text, source })
    }

    /// A link with a name, for `links`.
    ///
    /// # Arguments
    /// * `url`: `http://` is put before it if it has no scheme
    /// * `name`: shown in its place
    fn link<'v>(url: Value<'v>, name: Option<Value<'v>>) -> starlark::Result<LinkValue> {
        let function = Function("link");
        let argument = function.argument("url", url);
        let name = function.argument("name", name).string()?;
        let given = argument.string()?;
        let link = arguments::link(&given, &name).map_err(|message| argument.refuse(message))?;
        let url = if arguments::has_scheme(&given) { given } else { link.url.clone() };
        Ok(LinkValue { link, url })
    }

    /// The trigger mode of all resources that do not say. Can be called once.
    ///
    /// # Arguments
    /// * `trigger_mode`: `TRIGGER_MODE_AUTO` or `TRIGGER_MODE_MANUAL`
    fn trigger_mode<'v>(
        trigger_mode: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("trigger_mode");
        let argument = function.argument("trigger_mode", trigger_mode);
        let mode = argument.trigger_mode()?.ok_or_else(|| argument.refuse("a mode is needed"))?;
        let state = load_state(eval);
        let span = state.span(eval)?;
        let mut declared = state.declared.borrow_mut();
        if let Some((_, first)) = &declared.trigger_mode {
            return Err(function.refuse(format!("it was already called at {}", first.location())));
        }
        declared.trigger_mode = Some((mode, span));
        Ok(NoneType)
    }
}

/// What `local_resource` and `test` take.
struct LocalArguments<'v> {
    name: Option<Value<'v>>,
    cmd: Option<Value<'v>>,
    deps: Option<Value<'v>>,
    trigger_mode: Option<Value<'v>>,
    resource_deps: Option<Value<'v>>,
    ignore: Option<Value<'v>>,
    auto_init: Option<Value<'v>>,
    serve_cmd: Option<Value<'v>>,
    cmd_bat: Option<Value<'v>>,
    serve_cmd_bat: Option<Value<'v>>,
    allow_parallel: Option<Value<'v>>,
    links: Option<Value<'v>>,
    labels: Option<Value<'v>>,
    env: Option<Value<'v>>,
    serve_env: Option<Value<'v>>,
    readiness_probe: Option<Value<'v>>,
    dir: Option<Value<'v>>,
    serve_dir: Option<Value<'v>>,
    restart: Option<Value<'v>>,
    cascade: Option<Value<'v>>,
}

fn declare(
    function: Function,
    given: LocalArguments<'_>,
    parallel_by_default: bool,
    span: SourceSpan,
    state: &LoadState<'_>,
) -> starlark::Result<NoneType> {
    let argument = |name, value| function.argument(name, value);
    let (dir, serve_dir) = (argument("dir", given.dir), argument("serve_dir", given.serve_dir));
    let (cmd, cmd_bat) = (argument("cmd", given.cmd), argument("cmd_bat", given.cmd_bat));
    let update = command(state, cmd, cmd_bat, dir, argument("env", given.env))?;
    let serve_cmd = argument("serve_cmd", given.serve_cmd);
    let serve_bat = argument("serve_cmd_bat", given.serve_cmd_bat);
    let serve = command(state, serve_cmd, serve_bat, serve_dir, argument("serve_env", given.serve_env))?;
    check_commands(function, update.as_ref(), serve.as_ref(), dir, serve_dir)?;
    let deps = argument("deps", given.deps).paths(state)?;
    let patterns = argument("ignore", given.ignore).patterns()?;
    let mut paths = deps.clone();
    paths.push(state.directory());
    let mut ignores = git_dir_rules(state, &paths);
    if !patterns.is_empty() {
        ignores.push(IgnoreRule { base: state.directory(), patterns });
    }
    let allow_parallel = argument("allow_parallel", given.allow_parallel).boolean()?;
    let name_argument = argument("name", given.name);
    let name = name_argument.resource_name()?;
    if name.is_empty() {
        return Err(name_argument.refuse("a name is needed"));
    }
    let restart_argument = argument("restart", given.restart);
    let restart = restart_argument.boolean()?.unwrap_or(false);
    if restart && serve.is_none() {
        return Err(restart_argument.refuse("there is no serve_cmd to restart"));
    }
    let mut readiness_probe = probe_of(argument("readiness_probe", given.readiness_probe))?;
    if serve.is_none() && readiness_probe.take().is_some() {
        let warning =
            format!("Ignoring readiness probe for local resource {name:?} (no serve_cmd was defined)");
        state.declared.borrow_mut().warnings.push(warning);
    }
    let declaration = LocalDeclaration {
        span,
        name,
        // Without a command nothing can conflict with other updates.
        allow_parallel: allow_parallel.unwrap_or(parallel_by_default) || update.is_none(),
        update,
        serve,
        deps,
        ignores,
        trigger_mode: argument("trigger_mode", given.trigger_mode).trigger_mode()?,
        auto_init: argument("auto_init", given.auto_init).boolean()?.unwrap_or(true),
        resource_deps: argument("resource_deps", given.resource_deps).string_list()?,
        readiness_probe,
        restart,
        cascade: argument("cascade", given.cascade).boolean()?,
        links: argument("links", given.links).links()?,
        labels: argument("labels", given.labels).labels()?,
    };
    state.declared.borrow_mut().locals.push(declaration);
    Ok(NoneType)
}

/// Refuses a directory for a command that is not given.
fn check_commands(
    function: Function,
    update: Option<&Command>,
    serve: Option<&Command>,
    dir: Argument<'_>,
    serve_dir: Argument<'_>,
) -> starlark::Result<()> {
    let has_text =
        |argument: Argument<'_>| argument.text().is_ok_and(|text| text.is_some_and(|text| !text.is_empty()));
    match (update, serve) {
        (None, None) => Err(function.refuse("a cmd or a serve_cmd is needed")),
        (None, Some(_)) if has_text(dir) => {
            Err(function.refuse("dir is for cmd; for serve_cmd there is serve_dir"))
        }
        (Some(_), None) if has_text(serve_dir) => {
            Err(function.refuse("serve_dir is given, but no serve_cmd"))
        }
        _ => Ok(()),
    }
}

fn execute(
    state: &LoadState<'_>,
    command: &Command,
    stdin: Option<&str>,
    quiet: bool,
    echo_off: bool,
) -> starlark::Result<String> {
    if !echo_off {
        state.print(&format!("local: {}", command.display()));
    }
    let mut each_line = |line: &str| {
        if !quiet {
            state.print(&format!(" → {line}"));
        }
    };
    // With echo_off the command may contain a secret.
    let shown = if echo_off {
        "the command (hidden by echo_off)".to_owned()
    } else {
        format!("{:?}", command.display())
    };
    let raise = if echo_off { raise_without_excerpt } else { raise };
    let progress = if echo_off { shown.clone() } else { command.display() };
    let output = state.run(&progress, command, stdin.map(str::as_bytes), &mut each_line);
    let output = output.map_err(|error| match error.kind() {
        std::io::ErrorKind::Interrupted => raise(cancelled()),
        std::io::ErrorKind::NotFound if !state.system.is_dir(&command.dir) => {
            state.watch_entry(&clean(&command.dir));
            raise(Failure::user(format!("local: no such directory: {}", command.dir.display())))
        }
        // No more processes are allowed, for now.
        std::io::ErrorKind::WouldBlock => {
            let words = format!("local: cannot run {shown}: too many processes run");
            raise(Failure::environment(words).of_kind(Unreachable::Machine))
        }
        _ => raise(Failure::environment(format!("local: cannot run {shown}: {error}")).caused_by(&error)),
    })?;
    if output.exit_code != Some(0) {
        let how = output
            .exit_code
            .map_or("was ended by a signal".into(), |code| format!("exited with code {code}"));
        let failure = Failure::user(format!("local: {shown} {how}"));
        let mut outputs = Vec::new();
        // Its stdout was shown already, unless it is quiet.
        for (name, stream) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            let text = String::from_utf8_lossy(stream);
            if !text.trim().is_empty() && (quiet || name == "stderr") {
                outputs.push(format!("its {name}:\n{}", text.trim_end()));
            }
        }
        return Err(raise(if outputs.is_empty() { failure } else { failure.detail(outputs.join("\n")) }));
    }
    if !quiet && !echo_off && output.stdout.is_empty() && output.stderr.is_empty() {
        state.print(" → [no output]");
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
