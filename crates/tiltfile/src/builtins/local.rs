//! `local_resource`, `local`, `link`, `trigger_mode`.

use lilt_model::Failure;
use lilt_model::command::Command;
use lilt_model::files::IgnoreRule;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;

use super::docker::repositories;
use crate::arguments::{self, Function, command};
use crate::declare::LocalDeclaration;
use crate::failure::{cancelled, raise};
use crate::session::{Session, session};
use crate::values::{Blob, LinkValue};

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// A resource of commands on this machine: one that brings it up to date, one that serves.
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
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("local_resource");
        let session = session(eval);
        function.argument("readiness_probe", readiness_probe).not_supported_yet()?;
        let argument = |name, value| function.argument(name, value);
        let (dir, serve_dir) = (argument("dir", dir), argument("serve_dir", serve_dir));
        let update =
            command(session, argument("cmd", cmd), argument("cmd_bat", cmd_bat), dir, argument("env", env))?;
        let serve = command(
            session,
            argument("serve_cmd", serve_cmd),
            argument("serve_cmd_bat", serve_cmd_bat),
            serve_dir,
            argument("serve_env", serve_env),
        )?;
        let has_text = |argument: arguments::Argument<'v>| {
            argument.text().is_ok_and(|text| text.is_some_and(|text| !text.is_empty()))
        };
        match (&update, &serve) {
            (None, None) => return Err(function.refuse("a cmd or a serve_cmd is needed")),
            (None, Some(_)) if has_text(dir) => {
                return Err(function.refuse("dir is for cmd; for serve_cmd there is serve_dir"));
            }
            (Some(_), None) if has_text(serve_dir) => {
                return Err(function.refuse("serve_dir is given, but no serve_cmd"));
            }
            _ => {}
        }
        let deps = argument("deps", deps).paths(session)?;
        let patterns = argument("ignore", ignore).patterns()?;
        let mut places = deps.clone();
        places.push(session.directory());
        let mut ignores = repositories(session, &places);
        if !patterns.is_empty() {
            ignores.push(IgnoreRule { base: session.directory(), patterns });
        }
        let allow_parallel = argument("allow_parallel", allow_parallel).boolean()?.unwrap_or(false);
        let name_argument = function.argument("name", name);
        let name = name_argument.resource_name()?;
        if name.is_empty() {
            return Err(name_argument.refuse("a name is needed"));
        }
        let declaration = LocalDeclaration {
            place: session.place(eval)?,
            name,
            // Without a command there is nothing that could get in the way of others.
            allow_parallel: allow_parallel || update.is_none(),
            update,
            serve,
            deps,
            ignores,
            trigger_mode: argument("trigger_mode", trigger_mode).trigger_mode()?,
            auto_init: argument("auto_init", auto_init).boolean()?.unwrap_or(true),
            resource_deps: argument("resource_deps", resource_deps).string_list()?,
            links: argument("links", links).links()?,
            labels: argument("labels", labels).labels()?,
        };
        session.declared.borrow_mut().locals.push(declaration);
        Ok(NoneType)
    }

    /// Runs a command while the Tiltfile loads and returns what it prints.
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
        let session = session(eval);
        let words = function.argument("command", command);
        let command = arguments::command(
            session,
            words,
            function.argument("command_bat", command_bat),
            function.argument("dir", dir),
            function.argument("env", env),
        )?
        .ok_or_else(|| words.refuse("a command is needed"))?;
        let quiet = function.argument("quiet", quiet).boolean()?.unwrap_or(false);
        let echo_off = function.argument("echo_off", echo_off).boolean()?.unwrap_or(false);
        let stdin = function.argument("stdin", stdin).text()?;
        let text = execute(session, &command, stdin.as_deref(), quiet, echo_off)?;
        Ok(Blob { text, source: format!("local: {}", command.display()) })
    }

    /// A link with a name, for `links`.
    fn link<'v>(url: Value<'v>, name: Option<Value<'v>>) -> starlark::Result<LinkValue> {
        let function = Function("link");
        let argument = function.argument("url", url);
        let name = function.argument("name", name).string()?;
        arguments::link(&argument.string()?, &name).map(LinkValue).map_err(|message| argument.refuse(message))
    }

    /// The trigger mode of all resources that do not say.
    fn trigger_mode<'v>(
        trigger_mode: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let function = Function("trigger_mode");
        let argument = function.argument("trigger_mode", trigger_mode);
        let mode = argument.trigger_mode()?.ok_or_else(|| argument.refuse("a mode is needed"))?;
        let session = session(eval);
        let place = session.place(eval)?;
        let mut declared = session.declared.borrow_mut();
        if let Some((_, first)) = &declared.trigger_mode {
            return Err(function.refuse(format!("it was already called at {}", first.location())));
        }
        declared.trigger_mode = Some((mode, place));
        Ok(NoneType)
    }
}

fn execute(
    session: &Session<'_>,
    command: &Command,
    stdin: Option<&str>,
    quiet: bool,
    echo_off: bool,
) -> starlark::Result<String> {
    if !echo_off {
        session.print(&format!("local: {}", command.display()));
    }
    let mut each_line = |line: &str| {
        if !quiet {
            session.print(&format!(" → {line}"));
        }
    };
    let output = session.run(command, stdin.map(str::as_bytes), &mut each_line);
    let shown = command.display();
    let output = output.map_err(|error| match error.kind() {
        std::io::ErrorKind::Interrupted => raise(cancelled()),
        std::io::ErrorKind::NotFound if !session.outside.is_dir(&command.dir) => {
            raise(Failure::user(format!("local: no such directory: {}", command.dir.display())))
        }
        _ => raise(Failure::user(format!("local: cannot run {shown:?}: {error}"))),
    })?;
    if output.exit_code != Some(0) {
        let how = output
            .exit_code
            .map_or("was ended by a signal".into(), |code| format!("exited with code {code}"));
        let failure = Failure::user(format!("local: {shown:?} {how}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(raise(if stderr.trim().is_empty() {
            failure
        } else {
            failure.detail(format!("its stderr:\n{}", stderr.trim_end()))
        }));
    }
    if !quiet && !echo_off && output.stdout.is_empty() && output.stderr.is_empty() {
        session.print(" → [no output]");
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
